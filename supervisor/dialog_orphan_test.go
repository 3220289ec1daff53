package supervisor

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// framed are pages whose frames ask: /child confirms a moment after its load.
var framed = pages{
	"/top":   `<iframe id=f src="http://b.test/child"></iframe>`,
	"/nest":  `<iframe id=f src="http://b.test/mid"></iframe>`,
	"/mid":   `<iframe src="http://c.test/child"></iframe>`,
	"/loop":  `<iframe src="http://b.test/back"></iframe>`,
	"/back":  `<iframe id=g src="http://a.test/child"></iframe>`,
	"/child": `<script>setTimeout(()=>{parent.postMessage('asking','*');const a=confirm('x');parent.postMessage(String(a),'*')},100)</script>`,
	"/main":  `<script>setTimeout(()=>confirm('x'),100)</script>`,
	"/other": "<title>other</title>other",
}

// asks opens a page and waits for its dialog, which is left open.
func (r *rig) asks(t *testing.T, url string) Dialog {
	t.Helper()
	if _, err := r.Page().Send(page.CommandNavigate, page.NavigateParams{URL: url}); err != nil {
		t.Fatal(err)
	}
	return r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) == 1 }).Dialogs[0]
}

// poke evaluates in the main frame, or where the frame "g" is, which may have no
// time to answer.
func (r *rig) poke(t *testing.T, expression string) {
	t.Helper()
	session := r.Page().session
	for _, f := range r.Page().Snapshot().Frames {
		if strings.HasSuffix(f.URL, "/back") {
			session = r.Page().Session(f.Session)
		}
	}
	yes := true // or the full browser refuses windows
	pending, err := session.Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: expression, UserGesture: &yes})
	if err != nil {
		t.Fatal(err)
	}
	pending.Forget()
}

func TestADialogThatLosesItsFrameIsAnOrphan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ path, script string }{
		"the frame is removed":              {"/top", "f.remove()"},
		"its parent is removed":             {"/nest", "f.remove()"},
		"the frame is moved":                {"/top", "document.body.append(document.createElement('p'), f)"},
		"the document is written anew":      {"/top", "document.open();document.write('x');document.close()"},
		"a frame of the page's own process": {"/loop", "g.remove()"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
				r := startRig(t, framed, browser)
				d := r.asks(t, "http://a.test"+tc.path)
				r.poke(t, tc.script)
				r.await(t, func(s *Snapshot) bool { return s.Orphaned })
				r.leftAlone(t, d)
			})
		})
	}
}

// leftAlone checks that nobody answers an orphan, and that what is to be saved can
// be.
func (r *rig) leftAlone(t *testing.T, d Dialog) {
	t.Helper()
	mustErr(t, r.Page().AnswerDialog(t.Context(), d.ID, Answer{Accept: true}), ErrDialogOrphaned)
	r.Page().runWatchdog(d.OpenedAt.Add(time.Hour))
	for _, method := range []string{page.CommandNavigate, page.CommandReload, page.CommandHandleJavaScriptDialog, runtime.CommandEvaluate} {
		_, err := r.Page().Send(method, nil)
		mustErr(t, err, ErrDialogOrphaned)
		mustErr(t, err, cdp.ErrDetached)
	}
	if err := r.Page().Browser().Call(t.Context(), "Storage.getCookies", map[string]any{"browserContextId": r.Page().Context()}, nil); err != nil {
		t.Errorf("cookies beside an orphan: %v", err)
	}
	if s := r.Page().Snapshot(); len(s.Dialogs) != 1 || s.Dialogs[0].State != DialogOrphaned || len(s.RecentDialogs) != 0 {
		t.Errorf("dialogs: %+v, recent: %+v", s.Dialogs, s.RecentDialogs)
	}
}

func TestADialogWhoseFrameIsSentElsewhereCanBeAnswered(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"same site":       "f.src='http://b.test/other'",
		"another site":    "f.src='http://c.test/other'",
		"the page's site": "f.src='http://a.test/other'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
				r := startRig(t, framed, browser)
				d := r.asks(t, "http://a.test/top")
				r.poke(t, script)
				if err := r.Page().AnswerDialog(t.Context(), d.ID, Answer{Accept: true}); err != nil {
					t.Fatal(err)
				}
				r.await(t, func(s *Snapshot) bool {
					return len(s.Frames) == 2 && strings.HasSuffix(s.Frames[1].URL, "/other")
				})
			})
		})
	}
}

func TestTheAgentsNavigationAnswersWhatIsInItsWay(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/main", "/top", "/nest"} {
		for name, leave := range map[string]struct {
			method string
			params any
		}{
			"the same site": {page.CommandNavigate, page.NavigateParams{URL: "http://a.test/other"}},
			"another site":  {page.CommandNavigate, page.NavigateParams{URL: "http://d.test/other"}},
			"a reload":      {page.CommandReload, nil},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
					r := startRig(t, framed, browser)
					d := r.asks(t, "http://a.test"+path)
					commits := r.Page().Snapshot().Commits
					if err := r.Page().Call(t.Context(), leave.method, leave.params, nil); err != nil {
						t.Fatal(err)
					}
					s := r.await(t, func(s *Snapshot) bool { return s.Commits > commits && len(s.RecentDialogs) > 0 })
					if got := s.RecentDialogs[0]; got.ID != d.ID || got.ClosedBy != ClosedByNavigation || got.Accepted || s.Orphaned {
						t.Errorf("dialog: %+v, orphaned %v", got, s.Orphaned)
					}
					if leave.method == page.CommandReload {
						again := r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) == 1 }).Dialogs[0]
						if err := r.Page().AnswerDialog(t.Context(), again.ID, Answer{}); err != nil {
							t.Fatal(err)
						}
					}
					if got := r.eval(t, "String(1+1)"); got != "2" {
						t.Errorf("the page that followed: %q", got)
					}
				})
			})
		}
	}
}

// The frame's process dies while it asks: its dialog stays, and answering it is
// harmless.
func TestADialogOutlivesItsFramesProcess(t *testing.T) {
	t.Parallel()
	content := pages{
		"/top":   `<iframe src="http://b.test/child"></iframe>`,
		"/child": `<script>setTimeout(()=>{const end=performance.now()+1500;while(performance.now()<end);confirm('x')},100)</script>`,
	}
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, content, browser)
		d := r.asks(t, "http://a.test/top")
		killBusiest(t, r)
		r.await(t, func(s *Snapshot) bool {
			for _, f := range s.Frames {
				if f.Crashed {
					return true
				}
			}
			return len(s.Dialogs) == 0
		})
		err := r.Page().AnswerDialog(t.Context(), d.ID, Answer{})
		if claimed := (*ClaimedError)(nil); err != nil && !errors.As(err, &claimed) {
			t.Fatal(err)
		}
		if s := r.await(t, func(s *Snapshot) bool { return len(s.Dialogs) == 0 }); s.Orphaned || s.Crashed {
			t.Errorf("orphaned %v, crashed %v", s.Orphaned, s.Crashed)
		}
		if got := r.eval(t, "String(1+1)"); got != "2" {
			t.Errorf("the page: %q", got)
		}
	})
}

// killBusiest kills the renderer that has used the most CPU.
func killBusiest(t *testing.T, r *rig) {
	t.Helper()
	var reply struct {
		ProcessInfo []struct {
			Type    string  `json:"type"`
			ID      int     `json:"id"`
			CPUTime float64 `json:"cpuTime"`
		} `json:"processInfo"`
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.Page().Browser().Call(ctx, "SystemInfo.getProcessInfo", nil, &reply); err != nil {
		t.Fatal(err)
	}
	busiest, most := 0, 0.0
	for _, p := range reply.ProcessInfo {
		if p.Type == "renderer" && p.CPUTime > most {
			busiest, most = p.ID, p.CPUTime
		}
	}
	process, err := os.FindProcess(busiest)
	if err != nil || busiest == 0 {
		t.Fatalf("no renderer in %+v: %v", reply.ProcessInfo, err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
}
