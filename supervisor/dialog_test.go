package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/browser"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func dismissing(c *Config) { c.Dialogs = PolicyDismiss }

func TestEveryDialogStateAndEvent(t *testing.T) {
	t.Parallel()
	states := []DialogState{DialogOpen, DialogAnswering, DialogClosed, DialogOrphaned}
	events := []dialogEvent{dialogClaimed, dialogNotSent, dialogUnanswerable, dialogGone, dialogFrameRemoved, dialogPageGone}
	legal := map[string]DialogState{
		"open claimed":            DialogAnswering,
		"open gone":               DialogClosed,
		"open frame_removed":      DialogOrphaned,
		"open page_gone":          DialogClosed,
		"answering not_sent":      DialogOpen,
		"answering unanswerable":  DialogOrphaned,
		"answering gone":          DialogClosed,
		"answering frame_removed": DialogOrphaned,
		"answering page_gone":     DialogClosed,
		"orphaned not_sent":       DialogOrphaned,
		"orphaned unanswerable":   DialogOrphaned,
		"orphaned gone":           DialogClosed,
		"orphaned frame_removed":  DialogOrphaned,
		"orphaned page_gone":      DialogClosed,
	}
	for _, state := range states {
		for _, event := range events {
			want, ok := legal[fmt.Sprintf("%s %s", state, event)]
			if !ok {
				want = state
			}
			got, err := nextDialog(state, event)
			if got != want || (err == nil) != ok {
				t.Errorf("%s + %s = %s, %v; want %s, legal %v", state, event, got, err, want, ok)
			}
		}
	}
}

func TestAnOrphanedDialogIsNeverClaimedAgain(t *testing.T) {
	t.Parallel()
	events := []dialogEvent{dialogClaimed, dialogNotSent, dialogUnanswerable, dialogGone, dialogFrameRemoved, dialogPageGone}
	rapid.Check(t, func(t *rapid.T) {
		state, orphaned := DialogOpen, false
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			state, _ = nextDialog(state, rapid.SampledFrom(events).Draw(t, "event"))
			orphaned = orphaned || state == DialogOrphaned
			if orphaned && (state == DialogOpen || state == DialogAnswering) {
				t.Fatalf("an orphaned dialog became %s", state)
			}
		}
	})
}

func TestAlertWhileLoadingDoesNotHang(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<script>alert('early')</script><h1>after</h1>"}, dismissing)
	s := r.open(t, "http://a.test/")
	if len(s.RecentDialogs) != 1 {
		t.Fatalf("dialogs: %+v", s.RecentDialogs)
	}
	d := s.RecentDialogs[0]
	got := []string{string(d.ID), string(d.Type), d.Message, string(d.ClosedBy), string(d.State), d.URL, string(d.FrameID)}
	want := []string{"d-0-1", "alert", "early", "auto_policy", "closed", "http://a.test/", string(s.FrameID)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dialog (-want +got):\n%s", diff)
	}
	if got := r.eval(t, "document.querySelector('h1').textContent"); got != "after" {
		t.Errorf("page after the alert: %q", got)
	}
}

func TestAlertInAClickHandlerDoesNotHang(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/": `<body style="margin:0"><button style="width:200px;height:100px" onclick="alert('clicked');window.after=1">b</button>`,
	}, dismissing)
	r.open(t, "http://a.test/")
	watch := r.Page().Watch()
	defer watch.Close()
	clickAt(t, r.Page(), 50, 50)
	r.await(t, func(s *Snapshot) bool { return len(s.RecentDialogs) == 1 })
	if got := r.eval(t, "String(window.after)"); got != "1" {
		t.Errorf("the handler did not go on: %q", got)
	}
	h := watch.Take()
	if len(h.Dialogs) != 1 || len(h.DialogsClosed) != 1 || h.Dialogs[0].Message != "clicked" {
		t.Errorf("watch: %+v", h)
	}
}

func TestAClickRacesTheDialogThatItOpens(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/": `<body style="margin:0"><button style="width:200px;height:100px" onclick="window.answer=prompt('name?','nobody')">b</button>`,
	}, func(c *Config) { c.Dialogs, c.Generation = PolicyAsk, 7 })
	r.open(t, "http://a.test/")
	watch := r.Page().Watch()
	defer watch.Close()
	release := pressAt(t, r.Page(), 50, 50)
	dialog := awaitDialog(t, watch)
	select {
	case <-release.Done():
		t.Error("the release was acknowledged with the dialog open")
	default:
	}
	if diff := cmp.Diff(DialogID("d-7-1"), dialog.ID); diff != "" {
		t.Error(diff)
	}
	if _, err := r.Page().World(t.Context()); err != nil {
		t.Errorf("the world of a loaded document with a dialog open: %v", err)
	}
	mustErr(t, r.Page().AnswerDialog(t.Context(), "d-6-1", Answer{}), ErrDialogUnknown)
	results := make(chan error, 2)
	for range 2 {
		runAnswerTest(t, r.Page(), dialog.ID, results)
	}
	first, second := <-results, <-results
	if first != nil {
		first, second = second, first
	}
	if first != nil || (!errors.Is(second, ErrDialogBusy) && !errors.Is(second, ErrDialogClosed)) {
		t.Errorf("two answers: %v and %v", first, second)
	}
	if err := release.Wait(t.Context(), nil); err != nil {
		t.Errorf("release: %v", err)
	}
	if got := r.eval(t, "window.answer"); got != "nobody" {
		t.Errorf("prompt returned %q, want its default", got)
	}
	if d := r.Page().Snapshot().RecentDialogs[0]; d.ClosedBy != ClosedByAgent || !d.Accepted {
		t.Errorf("record: %+v", d)
	}
	mustErr(t, r.Page().AnswerDialog(t.Context(), dialog.ID, Answer{}), ErrDialogClosed)
}

func runAnswerTest(t *testing.T, p *Page, id DialogID, results chan<- error) {
	ctx := t.Context()
	go func() { results <- p.AnswerDialog(ctx, id, Answer{Accept: true}) }()
}

func TestADialogStormIsDismissedAndTheRingStaysBounded(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"}, dismissing)
	r.open(t, "http://a.test/")
	got := r.eval(t, "let n=0; for (let i=0;i<50;i++) { if (!confirm('c'+i)) n++ } String(n)")
	if got != "50" {
		t.Errorf("dismissed %s of 50", got)
	}
	s := r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) == 0 })
	if len(s.RecentDialogs) != recentDialogs || s.RecentDialogs[recentDialogs-1].ID != "d-0-50" {
		t.Errorf("ring: %+v", s.RecentDialogs)
	}
}

func TestBeforeunloadIsAccepted(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/":  `<body style="margin:0"><button style="width:200px;height:100px">b</button><script>onbeforeunload=e=>{e.preventDefault();return 'no'}</script>`,
		"/b": "<title>b</title>",
	})
	r.open(t, "http://a.test/")
	clickAt(t, r.Page(), 50, 50)
	s := r.open(t, "http://a.test/b")
	if len(s.RecentDialogs) != 1 || s.RecentDialogs[0].Type != page.DialogTypeBeforeunload || !s.RecentDialogs[0].Accepted ||
		s.RecentDialogs[0].ClosedBy != ClosedByNavigation {
		t.Errorf("dialogs: %+v", s.RecentDialogs)
	}
}

func TestADialogOfACrossSiteFrameIsAnsweredOnThePage(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/":      `<iframe src="http://b.test/child"></iframe>`,
		"/child": `<script>parent.postMessage(String(confirm('from child')), '*')</script>`,
	}, func(c *Config) { c.Dialogs = PolicyAccept })
	s := r.open(t, "http://a.test/")
	if len(s.RecentDialogs) != 1 || s.RecentDialogs[0].FrameID == s.FrameID || s.RecentDialogs[0].Message != "from child" {
		t.Errorf("dialogs: %+v", s.RecentDialogs)
	}
}

// The page that stops a whole browser: a cross-site frame asks, its parent
// removes it, and whoever answers then pulls the trigger.
func TestADialogWhoseFrameWasRemovedIsNeverAnswered(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{
		"/":      `<iframe id=f src="http://b.test/child"></iframe><script>onmessage=()=>setTimeout(()=>f.remove(),300)</script>`,
		"/child": `<script>parent.postMessage('now','*');setTimeout(()=>confirm('x'),50)</script>`,
	}, func(c *Config) { c.Dialogs = PolicyAsk })
	if _, err := r.Page().Send(page.CommandNavigate, page.NavigateParams{URL: "http://a.test/"}); err != nil {
		t.Fatal(err)
	}
	s := r.await(t, func(s *Snapshot) bool { return s.Orphaned })
	if len(s.Dialogs) != 1 || s.Dialogs[0].State != DialogOrphaned {
		t.Fatalf("dialogs: %+v", s.Dialogs)
	}
	mustErr(t, r.Page().AnswerDialog(t.Context(), s.Dialogs[0].ID, Answer{}), ErrDialogOrphaned)
	// The watchdog must not answer either.
	late := s.Dialogs[0].OpenedAt.Add(time.Hour)
	r.Page().runWatchdog(late)
	if _, err := protocol.Call(t.Context(), r.Page().Browser(), browser.GetVersion, protocol.Empty{}); err != nil {
		t.Fatalf("the browser no longer answers: %v", err)
	}
	if d := r.Page().Snapshot().Dialogs; len(d) != 1 || d[0].State != DialogOrphaned {
		t.Errorf("dialogs: %+v", d)
	}
}

func TestTheWatchdogDismissesWhatNobodyAnswers(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<h1>x</h1>"}, func(c *Config) { c.Dialogs = PolicyAsk })
	r.open(t, "http://a.test/")
	pending, err := r.Page().Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "String(confirm('?'))"})
	if err != nil {
		t.Fatal(err)
	}
	s := r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) == 1 })
	r.Page().runWatchdog(s.Dialogs[0].OpenedAt.Add(time.Hour))
	var res runtime.EvaluateResult
	if err := pending.Wait(t.Context(), &res); err != nil || describe(res.Result) != "false" {
		t.Fatalf("confirm: %v %v", describe(res.Result), err)
	}
	s = r.await(t, func(s *Snapshot) bool { return len(s.RecentDialogs) == 1 })
	if s.RecentDialogs[0].ClosedBy != ClosedByWatchdog {
		t.Errorf("record: %+v", s.RecentDialogs[0])
	}
}

func TestClipCutsBetweenRunes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want string
		limit    int
		cut      bool
	}{
		{"abc", "abc", 3, false},
		{"abcd", "abc", 3, true},
		{"aü", "a", 2, true},
		{strings.Repeat("é", 3), "é", 3, true},
		{"\x80\x80\x80", "", 2, true},
	} {
		if got, cut := clip(c.in, c.limit); got != c.want || cut != c.cut {
			t.Errorf("clip(%q, %d) = %q, %v", c.in, c.limit, got, cut)
		}
	}
}

func awaitDialog(t *testing.T, watch *Watch) Dialog {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case <-watch.Wake():
			if h := watch.Take(); len(h.Dialogs) > 0 {
				return h.Dialogs[0]
			}
		case <-ctx.Done():
			t.Fatal("no dialog")
		}
	}
}

// pressAt sends a click pipelined and returns its last command.
func pressAt(t *testing.T, p *Page, x, y float64) *cdp.Pending {
	t.Helper()
	var last *cdp.Pending
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		params := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			params.Button, params.ClickCount = input.MouseButtonLeft, 1
		}
		pending, err := p.Send(input.CommandDispatchMouseEvent, params)
		if err != nil {
			t.Fatal(err)
		}
		last = pending
	}
	return last
}

func clickAt(t *testing.T, p *Page, x, y float64) {
	t.Helper()
	if err := pressAt(t, p, x, y).Wait(t.Context(), nil); err != nil {
		t.Fatalf("click: %v", err)
	}
}
