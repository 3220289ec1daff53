package chrome

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/worker/environment"
)

func TestAProxysRefusalIsNoPage(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><title>Start</title><a href="http://no-such-host.invalid/">Out</a>`)
	})
	mux.HandleFunc("GET /to-metadata", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	})
	mux.HandleFunc("GET /cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	ctx, b := context60(t), newBench(t, mux)
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	for _, tc := range []struct {
		url  string
		code protocol.Code
	}{
		{"http://no-such-host.invalid/", protocol.CodeNavigationFailed},
		{"https://no-such-host.invalid/", protocol.CodeNavigationFailed},
		{b.site.URL + "/to-metadata", protocol.CodePolicyDenied},
		{b.site.URL + "/cut", protocol.CodeNavigationFailed},
	} {
		out := b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: tc.url})
		if out.Err == nil || out.Err.Code != tc.code {
			t.Errorf("%s: %v", tc.url, out.Err)
		}
	}
	out := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	out = b.ok(b.do(ctx, browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, out.Observation, "link", "Out")}))
	if len(out.Warnings) != 1 || out.Warnings[0].Code != protocol.CodeNavigationFailed {
		t.Errorf("a click into nowhere: %+v", out.Warnings)
	}
}

// runFor runs an action that has so much time, and measures nothing.
func (b *bench) runFor(browser *Browser, d time.Duration, kind protocol.Kind, args protocol.Args) *environment.Outcome {
	b.t.Helper()
	ctx, cancel := context.WithTimeoutCause(context60(b.t), d, errors.New("its time is over"))
	defer cancel()
	return b.do(ctx, browser, kind, args)
}

func TestASlowServerCostsNoBrowser(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><title>Start</title><button>Here</button>`)
	})
	mux.HandleFunc("GET /hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, b := context60(t), newBench(t, mux)
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	out := b.runFor(browser, 2*time.Second, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/hang"})
	if out.Err == nil || out.Err.Code == protocol.CodeRendererUnresponsive || out.Observation == nil || out.Observation.Title != "Start" {
		t.Fatalf("%v, %+v", out.Err, out.Observation)
	}
	select {
	case <-browser.Lost():
		t.Fatal("the browser is lost")
	default:
	}
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
}

// The time of a click is over on a page that loops: its process is ended, the browser
// stays.
func TestAPageThatNeverAnswersIsEndedAndItsBrowserStays(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, looper())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	out := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/a"}))
	target := ref(t, out.Observation, "button", "Buy")
	pending, err := browser.page.Send("Runtime.evaluate", map[string]any{"expression": "setTimeout(()=>{for(;;);},0)"})
	if err == nil {
		err = pending.Wait(ctx, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for out.Err == nil || out.Err.Code != protocol.CodeRendererUnresponsive {
		if ctx.Err() != nil {
			t.Fatalf("%v", out.Err)
		}
		out = b.runFor(browser, 8*time.Second, protocol.KindClick, &protocol.ClickArgs{Target: target})
	}
	if _, err := browser.page.Await(ctx, func(s *supervisor.Snapshot) bool { return s.Crashed }); err != nil {
		t.Fatal(err)
	}
	out = b.do(ctx, browser, protocol.KindObserve, &protocol.ObserveArgs{})
	if out.Err == nil || out.Err.Code != protocol.CodePageCrashed {
		t.Errorf("an observation of what is left: %v", out.Err)
	}
	out = b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/b"}))
	state, err := browser.Capture(ctx)
	if out.Observation.Title != "b" || err != nil || len(state.Cookies) != 1 {
		t.Errorf("%q, cookies %v, %v", out.Observation.Title, state.Cookies, err)
	}
	stays(t, browser)
}

func TestAWaitTellsNothingOfASecret(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, echo())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	fillSecret(t, b, browser)
	for _, text := range []string{secret, secret[:3], secret[4:9], "saved " + secret[:1]} {
		out := b.do(ctx, browser, protocol.KindWait, &protocol.WaitArgs{Until: "text", Text: text, TimeoutMS: 300})
		if out.Err == nil || out.Err.Code != protocol.CodeWaitTimeout {
			t.Errorf("%q: %v", text, out.Err)
		}
	}
	b.ok(b.do(ctx, browser, protocol.KindWait, &protocol.WaitArgs{Until: "text", Text: "saved", TimeoutMS: 5000}))
}
