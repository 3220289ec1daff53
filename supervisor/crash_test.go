package supervisor

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// kill ends the browser's processes of a kind and says how many.
func (r *rig) kill(t *testing.T, kind string) int {
	t.Helper()
	pids := r.Process().Children(kind)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	return len(pids)
}

func TestAFramesCrashIsNotThePages(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, nest, browser)
		r.open(t, "http://a.test/nest")
		s := r.settled(t, nestFrames, "http://a.test/nest")
		cross := frameNamed(t, s, "cross")
		w, err := r.Page().WorldIn(t.Context(), cross.ID)
		if err != nil {
			t.Fatal(err)
		}
		yes := true
		pending, err := w.Session.Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: forever, AwaitPromise: &yes})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Session.Send(page.CommandCrash, nil); err != nil {
			t.Fatal(err)
		}
		mustErr(t, pending.Wait(t.Context(), nil), cdp.ErrCrashed)
		s = r.await(t, func(s *Snapshot) bool { return frameOf(s, "cross").Crashed })
		if s.Crashed || len(s.Frames) != nestFrames-2 {
			t.Errorf("page crashed %v, frames %v", s.Crashed, seen(s))
		}
		if _, err := r.Page().WorldIn(t.Context(), cross.ID); err == nil {
			t.Error("a crashed frame has a world")
		}
		if got := r.eval(t, "6*7"); got != "42" {
			t.Errorf("the page says %q", got)
		}
		// Its parent may load it again.
		r.eval(t, "document.querySelector('[name=cross]').src += '?again'; 0")
		s = r.settled(t, nestFrames, "http://a.test/nest")
		if f := frameOf(s, "cross"); f.Crashed || f.URL != "http://c.test/branch?again" {
			t.Errorf("%+v", f)
		}
	})
}

func frameOf(s *Snapshot, name string) Frame {
	for _, f := range s.Frames {
		if f.Name == name {
			return f
		}
	}
	return Frame{}
}

func frameNamed(t *testing.T, s *Snapshot, name string) Frame {
	t.Helper()
	f := frameOf(s, name)
	if f.ID == "" {
		t.Fatalf("no frame %s in %v", name, seen(s))
	}
	return f
}

func TestTheDeathOfTheGPUProcessIsNotNoticed(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, pages{"/": "<h1>x</h1>", "/b": "<h1>b</h1>"}, browser)
		r.open(t, "http://a.test/")
		if n := r.kill(t, chromium.GPU); n != 1 {
			t.Fatalf("%d GPU processes", n)
		}
		if err := r.Page().Call(t.Context(), page.CommandCaptureScreenshot, page.CaptureScreenshotParams{}, nil); err != nil {
			t.Errorf("a picture: %v", err)
		}
		r.open(t, "http://b.test/b")
		if got := r.eval(t, "document.body.innerText"); got != "b" {
			t.Errorf("the page says %q", got)
		}
	})
}

// The context's proxy is forgotten with the network process. The environment must
// not go on with what looks like a browser and reaches nothing.
func TestABrowserWithoutItsNetworkProcessIsLost(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, pages{"/": "<h1>x</h1>"}, browser)
		r.open(t, "http://a.test/")
		pending := r.sendForever(t)
		if n := r.kill(t, chromium.Network); n != 1 {
			t.Fatalf("%d network processes", n)
		}
		<-r.Done()
		mustErr(t, r.Err(), ErrNetwork)
		mustErr(t, pending.Wait(t.Context(), nil), cdp.ErrClosed)
	})
}

func TestAPageThatLoopsOrWasStoppedIsUnresponsive(t *testing.T) {
	t.Parallel()
	for name, freeze := range map[string]func(*testing.T, *rig){
		"a loop": func(t *testing.T, r *rig) {
			if _, err := r.Page().Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "for(;;){}"}); err != nil {
				t.Fatal(err)
			}
		},
		"a stopped process": func(t *testing.T, r *rig) {
			for _, pid := range r.Process().Children(chromium.Renderers) {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRig(t, pages{"/": "<h1>x</h1>"})
			s := r.open(t, "http://a.test/")
			if s.Unresponsive {
				t.Fatal("unresponsive from the beginning")
			}
			watch := r.Page().Watch()
			defer watch.Close()
			freeze(t, r)
			r.await(t, func(s *Snapshot) bool { return s.Unresponsive })
			if !watch.Take().Unresponsive {
				t.Error("the watch was not told")
			}
			// The way out that keeps the browser.
			pending, err := r.Page().Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "1"})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Page().EndRenderer(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustErr(t, pending.Wait(t.Context(), nil), cdp.ErrCrashed)
			r.await(t, func(s *Snapshot) bool { return s.Crashed && !s.Unresponsive })
			if s := r.open(t, "http://a.test/"); s.Crashed || s.Unresponsive {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestAPageThatRunsAgainIsResponsive(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"})
	r.open(t, "http://a.test/")
	pids := r.Process().Children(chromium.Renderers)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		for _, pid := range pids {
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
		}
		r.await(t, func(s *Snapshot) bool { return s.Unresponsive == (signal == syscall.SIGSTOP) })
	}
}

// A freeze that begins right after an answer is told within five seconds.
func TestAFreezeIsToldWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := Config{ProxyServer: "http://127.0.0.1:1"}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		frozen := time.Now()
		beat := time.NewTicker(c.Heartbeat.Interval)
		defer beat.Stop()
		p := probe{}
		for late := false; !late; late = p.judge(time.Now(), true) {
			now := <-beat.C
			if p.pending == nil {
				p.pending, p.asked = &cdp.Pending{}, now
			}
		}
		if took := time.Since(frozen); took > 5*time.Second {
			t.Errorf("told after %v", took)
		}
	})
}

func TestADialogOrASlowHostIsNoFreeze(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	p := probe{pending: &cdp.Pending{}, asked: begun}
	for i := range 20 {
		if p.judge(begun.Add(time.Duration(i)*time.Second), false) {
			t.Fatalf("late after %d s that do not count", i)
		}
	}
	if p.judge(begun.Add(20*time.Second), true) {
		t.Error("late as soon as time counts again")
	}
	if !p.judge(begun.Add(22*time.Second), true) {
		t.Error("never late")
	}
}

func TestADialogDoesNotMakeAPageUnresponsive(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"}, asking, func(c *Config) { c.Heartbeat.Interval = 50 * time.Millisecond })
	r.open(t, "http://a.test/")
	r.eval(t, "setTimeout(()=>alert(1),0); 0")
	s := r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) == 1 })
	r.tabs.mu.Lock()
	a := r.Page().pageSession
	r.tabs.probe(a, time.Now().Add(time.Hour), true)
	late := a.probe.late
	r.tabs.mu.Unlock()
	if late {
		t.Error("unresponsive behind a dialog")
	}
	if err := r.Page().AnswerDialog(t.Context(), s.Dialogs[0].ID, Answer{}); err != nil {
		t.Fatal(err)
	}
}

func TestAnotherBrowsersDeathIsNotNoticed(t *testing.T) {
	t.Parallel()
	one, two := startRig(t, pages{"/": "<h1>x</h1>"}), startRig(t, pages{"/": "<h1>y</h1>"})
	one.open(t, "http://a.test/")
	two.open(t, "http://a.test/")
	pending := two.sendForever(t)
	if err := syscall.Kill(one.Process().PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-one.Done()
	select {
	case <-pending.Done():
		t.Error("a call of the other browser ended")
	default:
	}
	if got := two.eval(t, "document.body.innerText"); got != "y" {
		t.Errorf("the other browser says %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := protocol.Call(ctx, two.Page(), page.GetNavigationHistory, protocol.Empty{}); err != nil {
		t.Error(err)
	}
}
