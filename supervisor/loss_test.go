package supervisor

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

const forever = "new Promise(()=>{})"

func (r *rig) sendForever(t *testing.T) *cdp.Pending {
	t.Helper()
	yes := true
	pending, err := r.Page().Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: forever, AwaitPromise: &yes})
	if err != nil {
		t.Fatal(err)
	}
	r.eval(t, "1") // the first has been received by now
	return pending
}

func TestAPageCrashFailsPendingCallsAndANavigationRevives(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	r.open(t, "http://a.test/")
	watch := r.Page().Watch()
	defer watch.Close()
	pending := r.sendForever(t)
	crash, err := r.Page().Send(page.CommandCrash, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*cdp.Pending{pending, crash} {
		err := p.Wait(t.Context(), nil)
		mustErr(t, err, cdp.ErrCrashed)
		if !cdp.MayHaveExecuted(err) {
			t.Errorf("%v: counts as not executed", err)
		}
	}
	r.await(t, func(s *Snapshot) bool { return s.Crashed })
	if !watch.Take().Crashed {
		t.Error("the watch did not see the crash")
	}
	err = r.Page().Call(t.Context(), runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "1"}, nil)
	mustErr(t, err, cdp.ErrCrashed)
	if cdp.MayHaveExecuted(err) {
		t.Errorf("%v: counts as executed", err)
	}
	_, err = r.Page().World(t.Context())
	mustErr(t, err, cdp.ErrCrashed)
	s := r.open(t, "http://a.test/")
	if s.Crashed {
		t.Error("still crashed after a navigation")
	}
	if _, err := r.Page().World(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKillOfTheBrowserFailsPendingCallsAtOnce(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	r.open(t, "http://a.test/")
	pending := r.sendForever(t)
	if err := syscall.Kill(r.Process().PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := pending.Wait(ctx, nil)
	mustErr(t, err, cdp.ErrClosed)
	if !cdp.MayHaveExecuted(err) {
		t.Error("counts as not executed")
	}
	<-r.Done()
	mustErr(t, r.Err(), ErrExited)
	_, err = r.Page().Await(ctx, func(*Snapshot) bool { return false })
	mustErr(t, err, ErrExited)
	err = r.Page().Call(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "1"}, nil)
	mustErr(t, err, cdp.ErrClosed)
	if cdp.MayHaveExecuted(err) {
		t.Error("a call after the loss counts as executed")
	}
}

func TestAWedgedBrowserIsKilled(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{}, func(c *Config) {
		c.Heartbeat = Heartbeat{Interval: 50 * time.Millisecond, Deadline: 2 * time.Second, Misses: 2}
	})
	if err := syscall.Kill(r.Process().PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	mustErr(t, r.Err(), ErrWedged)
	<-r.Process().Done()
}

func TestCloseEndsWhatIsPending(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	r.open(t, "http://a.test/")
	pending := r.sendForever(t)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustErr(t, pending.Wait(t.Context(), nil), cdp.ErrClosed)
	mustErr(t, r.Err(), ErrClosed)
	nothingLeft(t, r.scratch)
}

func TestACallerThatLeavesDoesNotWait(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	r.open(t, "http://a.test/")
	pending := r.sendForever(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("owner moved")
	cancel(cause)
	mustErr(t, pending.Wait(ctx, nil), cause)
	before := r.conn.Stats().Pending
	if before > 1 { // a heartbeat may be under way
		t.Errorf("%d calls stay in the table", before)
	}
}

func TestAPageThatLoopsForEverIsLeftByANavigation(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>", "/b": "<title>b</title>"})
	r.open(t, "http://a.test/")
	if _, err := r.Page().Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "for(;;){}"}); err != nil {
		t.Fatal(err)
	}
	// A document of another site gets another process; one of the same site would
	// wait for the loop.
	r.open(t, "http://b.test/b")
}

func TestAPageThatClosesItselfIsGone(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	_, err := protocol.Call(t.Context(), r.Page().Browser(), protocol.Command[map[string]any, protocol.Empty]{Method: "Target.closeTarget"},
		map[string]any{"targetId": r.Page().Snapshot().Target})
	if err != nil {
		t.Fatal(err)
	}
	r.await(t, func(s *Snapshot) bool { return s.Gone })
	_, err = r.Page().World(t.Context())
	mustErr(t, err, cdp.ErrDetached)
	mustErr(t, r.Page().Call(t.Context(), "Runtime.evaluate", nil, nil), cdp.ErrDetached)
}

func TestAFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Config)
		want   error
	}{
		"wrong credential": {func(c *Config) { c.ProxyAuth = &ProxyAuth{User: "env", Password: "wrong"} }, ErrProxyAuth},
		"dead proxy":       {func(c *Config) { c.ProxyServer = "http://127.0.0.1:1" }, ErrProxyAuth},
		"no browser":       {func(c *Config) { c.Chromium.Binary.Path = "/bin/false" }, ErrExited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scratch := scratchRoot(t)
			config := testConfig(t, scratch)
			site := newSite(t)
			config.ProxyServer = newTestProxy(t, site, "env", "secret").URL
			config.ProxyAuth = &ProxyAuth{User: "env", Password: "secret"}
			c.change(&config)
			s, err := Start(t.Context(), config)
			if err == nil {
				t.Fatal(s.Close(t.Context()))
			}
			mustErr(t, err, c.want)
			nothingLeft(t, scratch)
		})
	}
}

func TestTheFullBrowserWorksToo(t *testing.T) {
	t.Parallel()
	binary, err := chromium.Find("/usr/lib/chromium/chromium")
	if err != nil {
		t.Fatal(err)
	}
	r := startRig(t, pages{"/": "<script>alert(1)</script><title>full</title>"}, dismissing, func(c *Config) { c.Chromium.Binary = binary })
	s := r.open(t, "http://a.test/")
	if got := r.eval(t, "document.title+' '+innerWidth+'x'+innerHeight"); got != "full 1280x800" {
		t.Errorf("page: %q", got)
	}
	if len(s.RecentDialogs) != 1 {
		t.Errorf("dialogs: %+v", s.RecentDialogs)
	}
}
