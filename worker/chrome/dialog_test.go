package chrome

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// asker is a site whose pages ask.
func asker() http.Handler {
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, "<!doctype html><title>Asker</title>%s", body)
		})
	}
	page("/{$}", `<p id=p>nothing yet</p>
		<button onclick="p.textContent='said '+confirm('Sure?')">Confirm</button>
		<button onclick="p.textContent='named '+prompt('Name?','nobody')">Prompt</button>
		<button onclick="confirm('Leave?') && (location.href='/gone')">Go</button>
		<button onclick="alert('one');p.textContent='between';alert('two')">Twice</button>
		<button onclick="setTimeout(()=>alert('late'),200)">Late</button>
		<button onclick="document.cookie='k=v;path=/';localStorage.setItem('a','b');alert('saved')">Save</button>
		<button onclick="for(let i=0;i<60;i++)alert('n'+i);p.textContent='done'">Storm</button>
		<button onclick="for(let i=0;i<9;i++)alert('again');p.textContent='done'">Again</button>
		<button onclick="print()">Print</button>
		<button onclick="setInterval(()=>alert('iv'),10)">Forever</button>
		<button onclick="setTimeout(()=>{for(;;)alert('loop')},10)">Loop</button>
		<button onclick="window.open('/load')">Window</button>`)
	page("/load", `<script>alert('early')</script><h1>after</h1>`)
	page("/gone", `<h1>gone</h1>`)
	page("/dirty", `<button onclick="location.href='/gone'">Link</button><button>Touch</button><script>onbeforeunload=e=>e.preventDefault()</script>`)
	return mux
}

// asking is a browser on a page of the asker.
type asking struct {
	*bench
	*Browser
	ctx  context.Context
	last *protocol.Observation
}

func newAsking(t *testing.T, path string, change ...func(*Config)) *asking {
	t.Helper()
	ctx, b := context60(t), newBench(t, asker())
	for _, c := range change {
		c(&b.launcher.cfg)
	}
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 3)
	a := &asking{bench: b, Browser: browser, ctx: ctx}
	a.act(protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + path})
	return a
}

func (a *asking) act(kind protocol.Kind, args protocol.Args) *outcome {
	a.t.Helper()
	out := a.ok(a.do(a.ctx, a.Browser, kind, args))
	if out.Observation != nil {
		a.last = out.Observation
	}
	return &outcome{out.Verdict, out.Observation, out.Transition}
}

type outcome struct {
	verdict protocol.Verdict
	*protocol.Observation
	*protocol.Transition
}

func (a *asking) click(name string) *outcome {
	a.t.Helper()
	return a.act(protocol.KindClick, &protocol.ClickArgs{Target: ref(a.t, a.last, "button", name)})
}

func (a *asking) answer(action protocol.DialogAction, text ...string) *outcome {
	a.t.Helper()
	args := &protocol.DialogArgs{Action: action}
	if len(text) > 0 {
		args.PromptText = &text[0]
	}
	return a.act(protocol.KindDialog, args)
}

func (o *outcome) pending(t *testing.T) protocol.Dialog {
	t.Helper()
	if o.verdict != protocol.VerdictDialogOpened || len(o.PendingDialogs) != 1 || !o.Stale {
		t.Fatalf("%s, pending %+v, stale %v", o.verdict, o.PendingDialogs, o.Stale)
	}
	return o.PendingDialogs[0]
}

func TestTheAgentAnswersADialogAndSeesWhatFollows(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/")
	d := a.click("Confirm").pending(t)
	if d.ID != "d-3-1" || d.Type != protocol.DialogConfirm || d.Message != "Sure?" || d.State != "open" || d.URL != a.site.URL+"/" || d.FrameID == "" {
		t.Errorf("pending: %+v", d)
	}
	blocked := a.do(a.ctx, a.Browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, a.last, "button", "Prompt")})
	if blocked.Err == nil || blocked.Err.Code != protocol.CodeDialogOpen || blocked.Err.Dispatched != protocol.DispatchedNo {
		t.Errorf("an action behind a dialog: %v", blocked.Err)
	}
	out := a.answer(protocol.DialogAccept)
	if out.verdict != protocol.VerdictDOMChanged || !strings.Contains(out.Text, "said true") || len(out.PendingDialogs) != 0 {
		t.Errorf("%s %q %+v", out.verdict, out.Text, out.PendingDialogs)
	}
	if len(out.DialogsClosed) != 1 || out.DialogsClosed[0].ClosedBy != "agent" || out.DialogsClosed[0].Accepted == nil || !*out.DialogsClosed[0].Accepted {
		t.Errorf("closed: %+v", out.DialogsClosed)
	}
	if len(out.RecentDialogs) != 1 || out.RecentDialogs[0].ID != d.ID || out.RecentDialogs[0].ClosedAt.Before(out.RecentDialogs[0].OpenedAt.Time) {
		t.Errorf("recent: %+v", out.RecentDialogs)
	}
	a.click("Prompt").pending(t)
	if out := a.answer(protocol.DialogAccept); !strings.Contains(out.Text, "named nobody") {
		t.Errorf("a prompt accepted without text: %q", out.Text)
	}
	a.click("Prompt").pending(t)
	if out := a.answer(protocol.DialogAccept, ""); !strings.Contains(out.Text, "named") || strings.Contains(out.Text, "nobody") {
		t.Errorf("a prompt accepted with an empty text: %q", out.Text)
	}
	a.click("Prompt").pending(t)
	if out := a.answer(protocol.DialogDismiss); !strings.Contains(out.Text, "named null") {
		t.Errorf("a prompt dismissed: %q", out.Text)
	}
}

func TestWhatAnAnswerLeadsToIsInItsResult(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/")
	a.click("Twice").pending(t)
	second := a.answer(protocol.DialogAccept).pending(t)
	if second.Message != "two" {
		t.Errorf("second: %+v", second)
	}
	a.answer(protocol.DialogAccept)
	a.click("Go").pending(t)
	if out := a.answer(protocol.DialogAccept); out.verdict != protocol.VerdictNavigated || !strings.Contains(out.Text, "gone") {
		t.Errorf("%s %q", out.verdict, out.Text)
	}
	if out := a.act(protocol.KindOpen, &protocol.OpenArgs{URL: a.site.URL + "/load"}); out.pending(t).Message != "early" {
		t.Errorf("a dialog while loading: %+v", out.PendingDialogs)
	}
	if out := a.answer(protocol.DialogDismiss); !strings.Contains(out.Text, "after") {
		t.Errorf("the page after its alert: %q", out.Text)
	}
}

func TestADialogIsAnsweredOnceAndOnlyByName(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/")
	refused := func(what string, code protocol.Code, args *protocol.DialogArgs) {
		t.Helper()
		out := a.do(a.ctx, a.Browser, protocol.KindDialog, args)
		if out.Err == nil || out.Err.Code != code || out.Err.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s: %v", what, out.Err)
		}
	}
	refused("none open", protocol.CodeNoDialog, &protocol.DialogArgs{Action: protocol.DialogAccept})
	refused("another generation", protocol.CodeStaleControl, &protocol.DialogArgs{DialogID: "d-2-1", Action: protocol.DialogAccept})
	a.click("Late")
	if _, err := a.page.Await(a.ctx, func(s *supervisor.Snapshot) bool { return len(s.Dialogs) == 1 }); err != nil {
		t.Fatal(err)
	}
	if len(a.last.PendingDialogs) == 0 { // else the click saw it, which is as well
		refused("not shown yet", protocol.CodeNoDialog, &protocol.DialogArgs{Action: protocol.DialogAccept})
	}
	id := a.act(protocol.KindObserve, &protocol.ObserveArgs{}).PendingDialogs[0].ID
	refused("unknown", protocol.CodeStaleControl, &protocol.DialogArgs{DialogID: "d-3-9", Action: protocol.DialogAccept})
	// Beside each other, as from both lanes.
	var both sync.WaitGroup
	errs := make([]*protocol.Error, 2)
	for i := range errs {
		both.Go(func() {
			errs[i] = a.Answer(a.ctx, &protocol.DialogArgs{DialogID: id, Action: protocol.DialogAccept})
		})
	}
	both.Wait()
	if errs[0] != nil {
		errs[0], errs[1] = errs[1], errs[0]
	}
	if errs[0] != nil || errs[1] == nil || errs[1].Code != protocol.CodeDialogClosed || !strings.Contains(errs[1].Message, "agent") {
		t.Errorf("two answers: %v and %v", errs[0], errs[1])
	}
	refused("closed", protocol.CodeDialogClosed, &protocol.DialogArgs{DialogID: id, Action: protocol.DialogAccept})
}

func TestNothingHangsBehindADialog(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/")
	a.click("Save").pending(t)
	state, err := a.Capture(a.ctx)
	if err != nil || len(state.Cookies) != 1 {
		t.Errorf("a checkpoint behind a dialog: %+v, %v", state, err)
	}
	if out := a.do(a.ctx, a.Browser, protocol.KindScreenshot, &protocol.ScreenshotArgs{}); out.Err == nil || out.Err.Code != protocol.CodeDialogOpen {
		t.Errorf("screenshot: %v", out.Err)
	}
	// The agent's own navigation answers what is in its way.
	out := a.act(protocol.KindOpen, &protocol.OpenArgs{URL: a.site.URL + "/gone"})
	if out.verdict != protocol.VerdictNavigated || len(out.DialogsClosed) != 1 || out.DialogsClosed[0].ClosedBy != "agent_navigation" {
		t.Errorf("%s %+v", out.verdict, out.DialogsClosed)
	}
	a.act(protocol.KindOpen, &protocol.OpenArgs{URL: a.site.URL + "/"})
	a.click("Confirm").pending(t)
	// Close, of the cleanup, has a dialog before it.
}

func TestBeforeunloadIsThePolicysUnlessTheAgentLeaves(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/dirty")
	a.click("Touch")
	d := a.click("Link").pending(t)
	if d.Type != protocol.DialogBeforeUnload {
		t.Fatalf("%+v", d)
	}
	if out := a.answer(protocol.DialogDismiss); !strings.HasSuffix(out.Observation.URL, "/dirty") {
		t.Errorf("after staying: %s", out.Observation.URL)
	}
	a.click("Link").pending(t)
	if out := a.answer(protocol.DialogAccept); out.verdict != protocol.VerdictNavigated || !strings.HasSuffix(out.Observation.URL, "/gone") {
		t.Errorf("after leaving: %s %s", out.verdict, out.Observation.URL)
	}
	a.act(protocol.KindOpen, &protocol.OpenArgs{URL: a.site.URL + "/dirty"})
	a.click("Touch")
	out := a.act(protocol.KindOpen, &protocol.OpenArgs{URL: a.site.URL + "/"})
	if out.verdict != protocol.VerdictNavigated || len(out.DialogsClosed) != 1 || out.DialogsClosed[0].ClosedBy != "agent_navigation" {
		t.Errorf("the agent's own navigation: %s %+v", out.verdict, out.DialogsClosed)
	}
}

func TestAStormIsBoundedAndSummed(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]protocol.DialogPolicy{"asking": protocol.DialogMustRespond, "accepting": protocol.DialogAutoAccept} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAsking(t, "/", func(c *Config) { c.Dialogs = policy })
			out := a.click("Storm")
			opened, dismissed := 0, 0
			count := func() {
				if s := out.DialogStorm; s != nil {
					opened, dismissed = opened+s.Opened, dismissed+s.Dismissed
				} else {
					opened += len(out.Dialogs)
				}
				if len(out.Dialogs) > 20 || len(out.DialogsClosed) > 20 {
					t.Errorf("%d and %d listed", len(out.Dialogs), len(out.DialogsClosed))
				}
			}
			for count(); len(out.PendingDialogs) > 0 || !strings.Contains(out.Text, "done"); count() {
				if len(out.PendingDialogs) > 0 {
					out = a.answer(protocol.DialogAccept)
				} else { // the page is not done with those that are dismissed
					out = a.act(protocol.KindObserve, &protocol.ObserveArgs{})
				}
			}
			if !strings.Contains(out.Text, "done") || opened != 60 {
				t.Errorf("%q: %d opened, %d dismissed", out.Text, opened, dismissed)
			}
			if policy == protocol.DialogAutoAccept && dismissed != 40 {
				t.Errorf("%d dismissed unseen", dismissed)
			}
		})
	}
}

func TestPrintIsInTheEvidence(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/")
	out := a.click("Print")
	for ctx := a.ctx; len(out.Prints) == 0 && ctx.Err() == nil; {
		if len(a.page.Snapshot().Prints) > 0 {
			return // it came after the click's evidence was closed
		}
		pause(ctx, 10*time.Millisecond)
	}
	if len(out.Prints) != 1 || out.Prints[0].URL != a.site.URL+"/" {
		t.Errorf("prints: %+v", out.Prints)
	}
}

// A window that asks at once stops the page that opened it, which shares its process:
// the click does not wait for it, and the dialog names its tab.
func TestAClickWhoseWindowAsksEnds(t *testing.T) {
	t.Parallel()
	a := newAsking(t, "/", func(c *Config) { c.Popups = supervisor.PopupsAdopt })
	opener := a.page
	out := a.click("Window")
	if len(out.PendingDialogs) == 0 { // it came after the click
		if _, err := opener.Await(a.ctx, func(s *supervisor.Snapshot) bool { return len(s.Dialogs) == 1 }); err != nil {
			t.Fatalf("%v: %+v, %+v", err, opener.Snapshot(), out)
		}
		out = a.act(protocol.KindObserve, &protocol.ObserveArgs{})
	}
	if p := out.PendingDialogs; len(p) != 1 || p[0].Tab != "t2" || p[0].Message != "early" || p[0].State != "open" {
		t.Fatalf("%+v", p)
	}
	if out := a.answer(protocol.DialogAccept); len(out.PendingDialogs) != 0 {
		t.Errorf("%+v", out.PendingDialogs)
	}
}

// An answer to a page that asks for ever does not wait for its rest, which never
// comes: it shows the next dialog, or that dialogs are dismissed unseen.
func TestAnAnswerToAPageThatAsksForEverEnds(t *testing.T) {
	t.Parallel()
	for _, button := range []string{"Forever", "Loop"} {
		t.Run(button, func(t *testing.T) {
			t.Parallel()
			a := newAsking(t, "/")
			a.click(button)
			for storm := false; !storm; {
				out := a.do(a.ctx, a.Browser, protocol.KindDialog, &protocol.DialogArgs{Action: protocol.DialogDismiss})
				switch {
				case out.Err != nil && out.Err.Code == protocol.CodeNoDialog && out.Err.Dispatched == protocol.DispatchedNo:
					// It has not asked yet, or is between two.
					if seen := a.do(a.ctx, a.Browser, protocol.KindObserve, &protocol.ObserveArgs{}); seen.Err != nil {
						t.Fatal(seen.Err)
					}
				case out.Err != nil:
					t.Fatal(out.Err)
				case out.Observation == nil || out.Verdict != protocol.VerdictDialogOpened && len(out.Observation.PendingDialogs) > 0:
					t.Fatalf("%s, %+v", out.Verdict, out.Observation)
				}
				storm = out.Transition.DialogStorm != nil
			}
			out := a.act(protocol.KindOpen, &protocol.OpenArgs{URL: a.site.URL + "/gone"})
			if out.URL != a.site.URL+"/gone" {
				t.Errorf("%+v", out.Observation)
			}
			stays(t, a.Browser)
		})
	}
}
