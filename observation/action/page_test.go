package action_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

func site(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	for _, name := range []string{"one", "two", "three"} {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!doctype html><title>"+name+"</title><h1>"+name+"</h1><button>Stay</button>")
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestOpenAndHistory(t *testing.T) {
	t.Parallel()
	a, base := newAgent(t, pagetest.Open(t)), site(t)
	for _, name := range []string{"one", "two", "three#a"} {
		if did := a.ok(protocol.KindOpen, object{"url": base + "/" + name}); did.Verdict != protocol.VerdictNavigated {
			t.Errorf("open: verdict %s", did.Verdict)
		}
	}
	a.ok(protocol.KindOpen, object{"url": base + "/three#b"})
	a.page.Eval(a.ctx, t, "history.pushState(0,'','/pushed')")
	for _, step := range []struct {
		kind protocol.Kind
		url  string
	}{
		{protocol.KindBack, "/three#b"},
		{protocol.KindBack, "/three#a"},
		{protocol.KindBack, "/two"},
		{protocol.KindBack, "/one"},
		{protocol.KindForward, "/two"},
		{protocol.KindReload, "/two"},
	} {
		if did := a.ok(step.kind, object{}); did.Verdict != protocol.VerdictNavigated {
			t.Errorf("%s: verdict %s", step.kind, did.Verdict)
		}
		if url := a.observe().URL; !strings.HasSuffix(url, step.url) {
			t.Errorf("%s led to %s, want %s", step.kind, url, step.url)
		}
	}
	a.ok(protocol.KindBack, object{})
	a.fails(protocol.KindBack, object{}, protocol.CodeNoHistory, protocol.DispatchedNo)
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	a := newAgent(t, pagetest.Open(t))
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	download := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment")
	}))
	t.Cleanup(download.Close)
	a.fails(protocol.KindOpen, object{"url": tls.URL}, protocol.CodeBadTLS, protocol.DispatchedYes)
	if text := a.observe().Text; strings.Contains(text, "404") {
		t.Errorf("the page behind a bad certificate is shown: %q", text)
	}
	a.fails(protocol.KindOpen, object{"url": closed.URL}, protocol.CodeNavigationFailed, protocol.DispatchedYes)
	a.fails(protocol.KindOpen, object{"url": download.URL}, protocol.CodeDownloadRefused, protocol.DispatchedYes)
}

func TestWait(t *testing.T) {
	t.Parallel()
	a := on(t, `<button id=b>Here</button><div id=p></div><script>
		function soon(f){setTimeout(f,200)}</script>`)
	ref := a.ref("Here")
	a.page.Eval(a.ctx, t, "soon(()=>p.textContent='Some text');0")
	a.ok(protocol.KindWait, object{"until": "text", "text": "Some text"})
	a.page.Eval(a.ctx, t, "soon(()=>b.hidden=true);0")
	a.ok(protocol.KindWait, object{"until": "element-hidden", "element_ref": ref})
	a.page.Eval(a.ctx, t, "soon(()=>b.hidden=false);0")
	a.ok(protocol.KindWait, object{"until": "element-visible", "element_ref": ref})
	a.page.Eval(a.ctx, t, "soon(()=>history.pushState(0,'','/else'));0")
	a.ok(protocol.KindWait, object{"until": "url", "url": "/else"})
	a.ok(protocol.KindWait, object{"until": "load"})
	a.ok(protocol.KindWait, object{"until": "network-idle"})
	a.fails(protocol.KindWait, object{"until": "text", "text": "never", "timeout_ms": 150}, protocol.CodeWaitTimeout, protocol.DispatchedNo)
	a.page.Eval(a.ctx, t, "b.remove()")
	a.ok(protocol.KindWait, object{"until": "element-hidden", "element_ref": ref})
	a.fails(protocol.KindWait, object{"until": "element-visible", "element_ref": ref}, protocol.CodeStaleRef, protocol.DispatchedNo)
	if a.begun != 0 {
		t.Error("a wait was dispatched")
	}
}

// TestWaitForWhatIsNotThereYet: by role and name, also in a frame; and until it is gone.
func TestWaitForWhatIsNotThereYet(t *testing.T) {
	t.Parallel()
	a := on(t, `<button hidden>Save</button><button>Other</button><div id=p></div><script>function soon(f){setTimeout(f,200)}</script>`)
	for add, args := range map[string]object{
		`p.innerHTML='<button>Save all</button>'`:                           {"role": "button", "name": "save"},
		`p.innerHTML='<h2>Your order</h2>'`:                                 {"role": "heading", "name": "Your order"},
		`p.innerHTML='<dialog open aria-label=Sure>x</dialog>'`:             {"role": "dialog"},
		`p.innerHTML='<iframe srcdoc="<a href=/x>Inside</a>"></iframe>'`:    {"role": "link", "name": "inside"},
		`p.attachShadow({mode:"open"}).innerHTML='<input aria-label=Deep>'`: {"role": "textbox", "name": "Deep"},
	} {
		args["until"], args["timeout_ms"] = "element-visible", 150
		a.page.Eval(a.ctx, t, "if(!p.shadowRoot)p.textContent='';0")
		if !strings.Contains(add, "attachShadow") {
			a.fails(protocol.KindWait, args, protocol.CodeWaitTimeout, protocol.DispatchedNo)
		}
		a.page.Eval(a.ctx, t, "q=document.createElement('div');p.replaceWith(q);q.id='p';p=q;soon(()=>{"+add+"});0")
		args["timeout_ms"] = 20_000
		a.ok(protocol.KindWait, args)
		a.page.Eval(a.ctx, t, "soon(()=>{p.style.display='none'});0")
		args["until"] = "element-hidden"
		a.ok(protocol.KindWait, args)
		a.page.Eval(a.ctx, t, "p.style.display='';0")
	}
}

// TestWaitUntilQuiet: until neither the network nor the page does anything.
func TestWaitUntilQuiet(t *testing.T) {
	t.Parallel()
	a := on(t, `<p id=p></p>`)
	a.page.Eval(a.ctx, t, `n=0;(function tick(){p.textContent=++n;if(n<20)setTimeout(tick,60)})();0`)
	a.ok(protocol.KindWait, object{"until": "quiet"})
	a.probe("n", 20.0)
	a.page.Eval(a.ctx, t, `setInterval(()=>p.textContent=n++,60);0`)
	a.fails(protocol.KindWait, object{"until": "quiet", "timeout_ms": 900}, protocol.CodeWaitTimeout, protocol.DispatchedNo)
}

func TestOpenDialogStopsActions(t *testing.T) {
	t.Parallel()
	a := newAgent(t, pagetest.OpenAsking(t))
	a.page.Load(a.ctx, t, `<button onclick="n=confirm('Sure?')">Ask</button><input aria-label=Field><p>text`)
	ask, field := a.ref("Ask"), a.ref("Field")
	did := a.ok(protocol.KindClick, object{"element_ref": ask})
	if did.Verdict != protocol.VerdictDialogOpened {
		t.Errorf("verdict %s", did.Verdict)
	}
	obs := a.observe()
	if !obs.Stale || len(obs.PendingDialogs) != 1 || obs.PendingDialogs[0].Message != "Sure?" || !strings.Contains(obs.Text, "text") {
		t.Errorf("observation behind a dialog: %+v", obs)
	}
	a.fails(protocol.KindFill, object{"element_ref": field, "value": "x"}, protocol.CodeDialogOpen, protocol.DispatchedNo)
	if _, failed := a.observer.Screenshot(a.ctx, a.page, protocol.ScreenshotArgs{}); failed == nil || failed.Code != protocol.CodeDialogOpen {
		t.Errorf("screenshot: %v", failed)
	}
	id := supervisor.DialogID(obs.PendingDialogs[0].ID)
	if err := a.page.Supervised.Page().AnswerDialog(a.ctx, id, supervisor.Answer{Accept: true}); err != nil {
		t.Fatal(err)
	}
	a.ok(protocol.KindFill, object{"element_ref": field, "value": "x"})
	a.probe("n", true)
	if obs := a.observe(); obs.Stale || len(obs.RecentDialogs) != 1 || obs.RecentDialogs[0].ClosedBy != "agent" {
		t.Errorf("observation after the dialog: %+v", obs)
	}
	a.ok(protocol.KindClick, object{"element_ref": ask})
	a.ok(protocol.KindOpen, object{"url": site(t) + "/one"}) // a navigation closes the dialog
}

func TestCrashedPage(t *testing.T) {
	t.Parallel()
	a := on(t, `<button>Go</button>`)
	ref := a.ref("Go")
	pending, err := a.page.Send("Page.crash", nil)
	if err != nil {
		t.Fatal(err)
	}
	pending.Forget()
	for !a.page.State().Crashed {
		if err := a.page.Next(a.ctx, a.page.State()); err != nil {
			t.Fatal(err)
		}
	}
	a.fails(protocol.KindClick, object{"element_ref": ref}, protocol.CodePageCrashed, protocol.DispatchedNo)
	if _, err := a.observer.Observe(a.ctx, a.page, everything); !errors.Is(err, observation.ErrCrashed) {
		t.Errorf("observe: %v", err)
	}
	a.ok(protocol.KindOpen, object{"url": site(t) + "/one"})
	a.ok(protocol.KindClick, object{"element_ref": a.ref("Stay")})
}

func TestBusyPageEndsInUnknown(t *testing.T) {
	t.Parallel()
	a := newAgent(t, pagetest.OpenAsking(t)) // a browser of its own, which is not used again
	a.page.Load(a.ctx, t, `<button onclick="for(;;);">Hang</button>`)
	ref := a.ref("Hang")
	a.fails(protocol.KindClick, object{"element_ref": ref}, protocol.CodeActionTimeout, protocol.DispatchedUnknown)
}

func TestInterruptedWhileChecking(t *testing.T) {
	t.Parallel()
	a := on(t, `<style>@keyframes m{from{left:0}to{left:300px}}</style><button style="position:absolute;animation:m 60s linear">Go</button>`)
	ref := a.ref("Go")
	ctx, cancel := context.WithCancelCause(a.ctx)
	a.ctx = ctx
	timer := time.AfterFunc(100*time.Millisecond, func() { cancel(context.Canceled) })
	defer timer.Stop()
	a.fails(protocol.KindClick, object{"element_ref": ref}, protocol.CodeInterrupted, protocol.DispatchedNo)
}

func TestLostBrowser(t *testing.T) {
	t.Parallel()
	a := newAgent(t, pagetest.OpenAsking(t))
	a.page.Load(a.ctx, t, `<button>Go</button>`)
	ref := a.ref("Go")
	a.page.Supervised.Process().Kill()
	<-a.page.Supervised.Done()
	a.fails(protocol.KindClick, object{"element_ref": ref}, protocol.CodeBrowserLost, protocol.DispatchedNo)
	if _, err := a.observer.Observe(a.ctx, a.page, everything); !errors.Is(err, observation.ErrLost) {
		t.Errorf("observe: %v", err)
	}
	_, failed := a.do(protocol.KindOpen, object{"url": "http://127.0.0.1:1/"})
	if failed == nil || failed.Code != protocol.CodeBrowserLost {
		t.Errorf("open: %v", failed)
	}
}

// TestRestlessPage: a page that never comes to rest ends the wait at its limit,
// with what it did until then.
func TestRestlessPage(t *testing.T) {
	t.Parallel()
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }))
	t.Cleanup(hang.Close)
	for name, html := range map[string]string{
		"a ticking clock": `<button onclick="(function tick(){p.textContent=n++;setTimeout(tick,20)})()">Go</button><p id=p><script>var n=0</script>`,
		"a long poll":     `<button onclick="p.textContent='x';fetch('` + hang.URL + `',{mode:'no-cors'})">Go</button><p id=p>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := on(t, html)
			ref := a.ref("Go")
			if did := a.ok(protocol.KindClick, object{"element_ref": ref}); did.Verdict != protocol.VerdictDOMChanged {
				t.Errorf("verdict %s", did.Verdict)
			}
			a.page.Eval(a.ctx, t, "document.body.textContent='';0")
		})
	}
}
