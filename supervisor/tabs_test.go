package supervisor

import (
	"context"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

// bothBrowsers runs a test in the headless shell and in the full browser.
func bothBrowsers(t *testing.T, test func(t *testing.T, change func(*Config))) {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary, err := chromium.Find("/usr/lib/chromium/" + name)
			if err != nil {
				t.Fatal(err)
			}
			test(t, func(c *Config) { c.Chromium.Binary = binary })
		})
	}
}

func adopting(c *Config) { c.Popups = PopupsAdopt }

// awaitTabs waits for so many open tabs and returns them.
func (r *rig) awaitTabs(t *testing.T, n int) []*Page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.AwaitTabs(ctx, func(all []*Snapshot) bool { return len(all) == n }); err != nil {
		t.Fatalf("%d tabs, want %d: %v", len(r.Tabs()), n, err)
	}
	return r.Tabs()
}

func awaitPage(t *testing.T, p *Page, cond func(*Snapshot) bool) *Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := p.Await(ctx, cond)
	if err != nil {
		t.Fatalf("%v\nlast: %+v", err, p.Snapshot())
	}
	return s
}

func loadedAt(url string) func(*Snapshot) bool {
	return func(s *Snapshot) bool { return s.URL == url && s.Lifecycle.Load }
}

func TestWindowsOfAllKindsBecomeTabs(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, pages{
			"/":  `<title>main</title><body style="margin:0"><a target=_blank rel=noopener href="/n" style="display:block;width:200px;height:100px">x</a>`,
			"/w": "<title>opened</title><iframe src='http://c.test/f'></iframe>", "/n": "<title>noopener</title>", "/f": "<p>f</p>",
		}, adopting, browser)
		r.open(t, "http://a.test/")
		yes := true
		watch := r.Page().Watch()
		defer watch.Close()
		r.eval(t, "window.w = window.open('http://b.test/w'); 0")
		all := r.awaitTabs(t, 2)
		s := awaitPage(t, all[1], func(s *Snapshot) bool { return s.URL == "http://b.test/w" && s.Lifecycle.Load && len(s.Frames) == 2 })
		if s.Tab != "t2" || s.Commits == 0 {
			t.Errorf("the opened tab: %+v", s)
		}
		clickAt(t, r.Page(), 50, 50)
		all = r.awaitTabs(t, 3)
		awaitPage(t, all[2], loadedAt("http://a.test/n"))
		// A window without a document of its own is its opener's to write.
		r.eval(t, "window.b = window.open(); b.document.title = 'written'; 0")
		all = r.awaitTabs(t, 4)
		if got := evalIn(t, all[3], runtime.EvaluateParams{Expression: "document.title"}); got != "written" {
			t.Errorf("blank window: %q", got)
		}
		if _, err := all[3].World(t.Context()); err != nil {
			t.Error(err)
		}
		s = awaitPage(t, r.Page(), func(s *Snapshot) bool {
			return len(s.Tabs) == 4 && s.Tabs[1].URL == "http://b.test/w" && s.Tabs[2].URL == "http://a.test/n"
		})
		titles, err := r.Titles(t.Context())
		want := map[TabID]string{"t1": "main", "t2": "opened", "t3": "noopener", "t4": "written"}
		if err != nil || !cmp.Equal(titles, want) {
			t.Errorf("titles: %v, %v", titles, err)
		}
		// None is hidden by another.
		frame := runtime.EvaluateParams{AwaitPromise: &yes, Expression: "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(document.visibilityState))))"}
		for _, p := range all {
			if got := evalIn(t, p, frame); got != "visible" {
				t.Errorf("%s: %q", p.ID(), got)
			}
		}
		var openers []TabID
		for _, tab := range s.Tabs {
			openers = append(openers, tab.Opener)
		}
		if diff := cmp.Diff([]TabID{"", "t1", "t1", "t1"}, openers); diff != "" {
			t.Errorf("openers (-want +got):\n%s", diff)
		}
		if h := watch.Take(); !cmp.Equal(h.TabsOpened, []TabID{"t2", "t3", "t4"}) || len(h.Popups) != 0 {
			t.Errorf("watch: opened %v, refused %v", h.TabsOpened, h.Popups)
		}
		if got := r.eval(t, "1+1"); got != "2" {
			t.Errorf("the opener: %q", got)
		}
	})
}

func TestTabsAreClosedAndTheirIDsAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	bothBrowsers(t, func(t *testing.T, browser func(*Config)) {
		r := startRig(t, pages{"/": "<title>main</title>", "/ask": "<script>onbeforeunload=e=>e.preventDefault();onclick=()=>alert(1)</script>x"}, adopting, browser, asking)
		r.open(t, "http://a.test/")
		mustErr(t, r.CloseTab(t.Context(), r.Page()), ErrLastTab)
		second, err := r.OpenTab(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := protocol.Call(t.Context(), second, page.Navigate, page.NavigateParams{URL: "http://b.test/ask"}); err != nil {
			t.Fatal(err)
		}
		awaitPage(t, second, loadedAt("http://b.test/ask"))
		yes := true
		if _, err := second.Send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: "alert('stuck')", UserGesture: &yes}); err != nil {
			t.Fatal(err)
		}
		awaitPage(t, second, func(s *Snapshot) bool { return len(s.Dialogs) == 1 })
		if s := r.Page().Snapshot(); len(s.Dialogs) != 0 {
			t.Errorf("the other tab's dialog: %+v", s.Dialogs)
		}
		// Neither its dialog nor its beforeunload holds it.
		if err := r.CloseTab(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if got := second.Snapshot(); !got.Gone || len(got.Dialogs) != 0 {
			t.Errorf("the closed tab: %+v", got)
		}
		third, err := r.OpenTab(t.Context())
		if err != nil || third.ID() != "t3" || r.Tab("t2") != nil || r.Tab("t3") != third {
			t.Errorf("the next tab is %v, %v", third, err)
		}
		if err := r.CloseTab(t.Context(), r.Page()); err != nil {
			t.Fatal(err)
		}
		if got := evalIn(t, third, runtime.EvaluateParams{Expression: "6*7"}); got != "42" {
			t.Errorf("the tab that is left: %q", got)
		}
	})
}

func asking(c *Config) { c.Dialogs = PolicyAsk }

func TestAWindowThatClosesItselfLeavesTheOthers(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "x", "/w": "<script>setTimeout(close,50)</script>"}, adopting)
	r.open(t, "http://a.test/")
	watch := r.Page().Watch()
	defer watch.Close()
	r.eval(t, "open('/w'); 0")
	awaitPage(t, r.Page(), func(s *Snapshot) bool {
		return s.Tabs[len(s.Tabs)-1].ID == "t1" && len(s.Tabs) == 1 && r.tabs.opened == 2
	})
	if h := watch.Take(); !cmp.Equal(h.TabsOpened, []TabID{"t2"}) || !cmp.Equal(h.TabsClosed, []TabID{"t2"}) {
		t.Errorf("opened %v, closed %v", h.TabsOpened, h.TabsClosed)
	}
}

func TestTabsAreBounded(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "x", "/p": "p"}, adopting)
	r.open(t, "http://a.test/")
	r.eval(t, "for (let i=0;i<20;i++) open('/p','_blank','noopener'); 0")
	r.awaitTabs(t, maxTabs)
	s := awaitPage(t, r.Page(), func(s *Snapshot) bool { return len(s.Popups) == 20+1-maxTabs })
	if len(s.Tabs) != maxTabs {
		t.Errorf("%d tabs", len(s.Tabs))
	}
	_, err := r.OpenTab(t.Context())
	mustErr(t, err, ErrTooManyTabs)
}

func TestThePopupPolicyCanBeSetLater(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "x", "/p": "p"})
	r.open(t, "http://a.test/")
	r.eval(t, "open('/p'); 0")
	r.await(t, func(s *Snapshot) bool { return len(s.Popups) == 1 })
	r.SetPopups(PopupsAdopt)
	r.eval(t, "open('/p'); 0")
	r.awaitTabs(t, 2)
}
