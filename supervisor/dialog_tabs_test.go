package supervisor

import (
	"strings"
	"testing"

	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// A window that asks stops its opener, too: they share a process. So the opener
// shows the dialog, and its navigation answers it.
func TestADialogOfAWindowStopsItsOpenerAndIsShownThere(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, pages{"/": "opener", "/ask": "<script>alert('early')</script>window", "/other": "other"}, browser, adopting)
		r.open(t, "http://a.test/")
		opener := r.Page()
		alone, err := r.OpenTab(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ask := func() Dialog {
			t.Helper()
			r.poke(t, "open('/ask'); 0")
			return awaitPage(t, opener, func(s *Snapshot) bool { return len(s.Dialogs) == 1 }).Dialogs[0]
		}
		d := ask()
		if d.Message != "early" || d.Tab == opener.ID() || d.Tab == alone.ID() {
			t.Errorf("dialog: %+v", d)
		}
		if s := alone.Snapshot(); len(s.Dialogs) != 0 || len(s.Elsewhere) != 1 {
			t.Errorf("a tab of its own: %+v, elsewhere %+v", s.Dialogs, s.Elsewhere)
		}
		if got := evalIn(t, alone, runtime.EvaluateParams{Expression: "String(1+1)"}); got != "2" {
			t.Errorf("a tab of its own: %q", got)
		}
		if err := r.AnswerDialog(t.Context(), d.ID, Answer{Accept: true}); err != nil {
			t.Fatal(err)
		}
		if got := r.eval(t, "String(1+1)"); got != "2" {
			t.Errorf("the opener: %q", got)
		}
		d = ask()
		if err := opener.Call(t.Context(), page.CommandNavigate, page.NavigateParams{URL: "http://a.test/other"}, nil); err != nil {
			t.Fatal(err)
		}
		awaitPage(t, opener, loadedAt("http://a.test/other"))
		closed := awaitPage(t, r.Tab(d.Tab), func(s *Snapshot) bool { return len(s.Dialogs) == 0 }).RecentDialogs
		if len(closed) != 1 || closed[0].ClosedBy != ClosedByNavigation {
			t.Errorf("closed: %+v", closed)
		}
	})
}

// A page that was attached while it asked: nothing tells of the dialog, and nobody
// can answer it.
func TestADialogThatWasThereBeforeIsEndedByAReload(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, framed, browser)
		r.open(t, "http://a.test/other")
		p, err := r.OpenTab(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Call(t.Context(), page.CommandNavigate, page.NavigateParams{URL: "http://a.test/main"}, nil); err != nil {
			t.Fatal(err)
		}
		awaitPage(t, p, func(s *Snapshot) bool { return len(s.Dialogs) == 1 })
		id := p.Snapshot().Target
		if _, err := protocol.Call(t.Context(), p.Browser(), target.DetachFromTarget, target.DetachFromTargetParams{SessionID: target.SessionID(p.session.ID())}); err != nil {
			t.Fatal(err)
		}
		r.awaitTabs(t, 1)
		yes := true
		if _, err := protocol.Call(t.Context(), p.Browser(), target.AttachToTarget, target.AttachToTargetParams{TargetID: id, Flatten: &yes}); err != nil {
			t.Fatal(err)
		}
		again := r.awaitTabs(t, 2)[1]
		if strings.HasSuffix(t.Name(), "shell") {
			// It dismisses what is open when its client detaches.
			if got := evalIn(t, again, runtime.EvaluateParams{Expression: "document.readyState"}); got != "complete" {
				t.Errorf("the page: %q", got)
			}
			return
		}
		s := awaitPage(t, again, func(s *Snapshot) bool { return len(s.RecentDialogs) == 1 })
		if d := s.RecentDialogs[0]; d.ClosedBy != ClosedByRecovery || d.ID != "d-0-2" || d.Message != recoveredText || s.Orphaned {
			t.Errorf("recovered: %+v", d)
		}
		// The page asks again, and this time it is heard. Chromium was seen to lose
		// the page's process in this reload, which is told as any crash is.
		s = awaitPage(t, again, func(s *Snapshot) bool { return len(s.Dialogs) == 1 || s.Crashed })
		if s.Crashed {
			return
		}
		d := s.Dialogs[0]
		if err := r.AnswerDialog(t.Context(), d.ID, Answer{}); err != nil {
			t.Fatal(err)
		}
	})
}
