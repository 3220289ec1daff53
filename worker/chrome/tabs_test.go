package chrome

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// mall is a site whose pages open windows.
func mall() http.Handler {
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		"/{$}":   `<title>Mall</title><a target=_blank href="/shop">Shop</a> <button onclick="window.open('/shop')">Window</button> <button onclick="this.textContent='Bought'">Buy</button>`,
		"/shop":  `<title>Shop</title><h1>Shop</h1><button onclick="window.close()">Leave</button><button onclick="console.error('no stock')">Order</button>`,
		"/other": `<title>Other</title><h1>Other</h1>`,
		"/asks":  `<title>Asks</title><script>onbeforeunload=e=>{e.preventDefault()}</script><button onclick="1">Stay</button>`,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, "<!doctype html>"+body)
		})
	}
	return mux
}

func adopting(t *testing.T) (*bench, *Browser, *environment.Outcome) {
	t.Helper()
	b := newBench(t, mall())
	b.launcher.cfg.Popups = supervisor.PopupsAdopt
	browser, _ := b.open(context60(t), &checkpoints.Loaded{}, 1)
	out := b.ok(b.do(context60(t), browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	return b, browser, out
}

// in runs a kind in a tab.
func (b *bench) in(browser *Browser, tab protocol.PageID, kind protocol.Kind, args protocol.Args) *environment.Outcome {
	b.t.Helper()
	info, _ := kind.Lookup()
	return browser.Run(context60(b.t), &protocol.Action{Request: protocol.Request{V: 1, Kind: kind, Tab: tab}, Info: info, Args: args}, func() error { return nil })
}

// strip is the tabs of an observation, the current one marked.
func strip(o *protocol.Observation) string {
	var all []string
	for _, t := range o.Tabs {
		line := string(t.ID) + " " + t.Title
		if t.Current {
			line += "*"
		}
		all = append(all, line)
	}
	return strings.Join(all, ", ")
}

func TestAWindowBecomesTheTabThatIsShown(t *testing.T) {
	t.Parallel()
	b, browser, first := adopting(t)
	for _, element := range []struct{ role, name string }{{"link", "Shop"}, {"button", "Window"}} {
		out := b.ok(b.do(context60(t), browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, first.Observation, element.role, element.name)}))
		if out.Verdict != protocol.VerdictPopup || out.Observation.Title != "Shop" || len(out.Transition.TabsOpened) != 1 || len(out.Transition.Popups) != 0 {
			t.Errorf("%s: %s, shown %q, transition %+v", element.name, out.Verdict, out.Observation.Title, out.Transition)
		}
		if out.Observation.PageID != out.Transition.TabsOpened[0] {
			t.Errorf("%s: shown is %s, opened were %v", element.name, out.Observation.PageID, out.Transition.TabsOpened)
		}
	}
	out := b.ok(b.do(context60(t), browser, protocol.KindObserve, &protocol.ObserveArgs{}))
	if got, want := strip(out.Observation), "t1 Mall, t2 Shop, t3 Shop*"; got != want {
		t.Errorf("tabs: %q, want %q", got, want)
	}
	// A ref of another tab leads there.
	out = b.ok(b.do(context60(t), browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, first.Observation, "button", "Buy")}))
	if out.Verdict != protocol.VerdictDOMChanged || strip(out.Observation) != "t1 Mall*, t2 Shop, t3 Shop" {
		t.Errorf("%s, %q", out.Verdict, strip(out.Observation))
	}
	ref(t, out.Observation, "button", "Bought")
}

func TestARefusedWindowIsToldAndNothingElse(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, mall())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	first := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	out := b.ok(b.do(ctx, browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, first.Observation, "link", "Shop")}))
	if out.Verdict != protocol.VerdictPopup || !cmp.Equal(out.Transition.Popups, []string{b.site.URL + "/shop"}) || strip(out.Observation) != "t1 Mall*" {
		t.Errorf("%s, %v, %q", out.Verdict, out.Transition.Popups, strip(out.Observation))
	}
}

func TestTabsAreListedOpenedChosenAndClosed(t *testing.T) {
	t.Parallel()
	b, browser, _ := adopting(t)
	one := 1
	for _, step := range []struct {
		tab  protocol.PageID
		args protocol.TabsArgs
		want string
		code protocol.Code
	}{
		{"", protocol.TabsArgs{Action: protocol.TabsList}, "t1 Mall*", ""},
		{"", protocol.TabsArgs{Action: protocol.TabsClose}, "", protocol.CodePolicyDenied},
		{"", protocol.TabsArgs{Action: protocol.TabsNew, URL: b.site.URL + "/asks"}, "t1 Mall, t2 Asks*", ""},
		{"", protocol.TabsArgs{Action: protocol.TabsNew}, "t1 Mall, t2 Asks, t3 *", ""},
		{"", protocol.TabsArgs{Action: protocol.TabsNew, URL: "file:///etc/passwd"}, "", protocol.CodeInvalidURL},
		{"", protocol.TabsArgs{Action: protocol.TabsSelect, Index: &one}, "t1 Mall, t2 Asks*, t3 ", ""},
		{"t1", protocol.TabsArgs{Action: protocol.TabsSelect}, "t1 Mall*, t2 Asks, t3 ", ""},
		{"t9", protocol.TabsArgs{Action: protocol.TabsSelect}, "", protocol.CodeTabClosed},
		{"", protocol.TabsArgs{Action: protocol.TabsClose, Index: &one}, "t1 Mall*, t3 ", ""},
		{"t2", protocol.TabsArgs{Action: protocol.TabsClose}, "", protocol.CodeTabClosed},
		{"t3", protocol.TabsArgs{Action: protocol.TabsClose}, "t1 Mall*", ""},
		{"", protocol.TabsArgs{Action: protocol.TabsNew, URL: b.site.URL + "/other"}, "t1 Mall, t4 Other*", ""},
	} {
		out := b.in(browser, step.tab, protocol.KindTabs, &step.args)
		name := fmt.Sprintf("%s %+v", step.tab, step.args)
		switch {
		case step.code != "":
			if out.Err == nil || out.Err.Code != step.code || out.Err.Dispatched != protocol.DispatchedNo {
				t.Errorf("%s: %v", name, out.Err)
			}
		case out.Err != nil:
			t.Fatalf("%s: %v", name, out.Err)
		case strings.ReplaceAll(strip(out.Observation), "about:blank", "") != step.want:
			t.Errorf("%s: %q, want %q", name, strip(out.Observation), step.want)
		}
	}
	out := b.in(browser, "t1", protocol.KindObserve, &protocol.ObserveArgs{})
	if b.ok(out); out.Observation.PageID != "t1" || out.Observation.Title != "Mall" {
		t.Errorf("an observation of t1 shows %s, %q", out.Observation.PageID, out.Observation.Title)
	}
}

func TestATabThatClosesItselfIsNoLostBrowser(t *testing.T) {
	t.Parallel()
	b, browser, first := adopting(t)
	out := b.ok(b.do(context60(t), browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, first.Observation, "button", "Window")}))
	leave := ref(t, out.Observation, "button", "Leave")
	out = b.ok(b.do(context60(t), browser, protocol.KindClick, &protocol.ClickArgs{Target: leave}))
	if out.Observation == nil || strip(out.Observation) != "t1 Mall*" || !slices.Contains(out.Transition.TabsClosed, "t2") {
		t.Errorf("%s: %+v, %+v", out.Verdict, out.Observation, out.Transition)
	}
	out = b.do(context60(t), browser, protocol.KindClick, &protocol.ClickArgs{Target: leave})
	if out.Err == nil || out.Err.Code != protocol.CodeStaleRef {
		t.Errorf("a ref of the closed tab: %v", out.Err)
	}
	select {
	case <-browser.Lost():
		t.Error("the browser counts as lost")
	default:
	}
}

func TestTheConsoleOfAnActionIsInItsResult(t *testing.T) {
	t.Parallel()
	b, browser, _ := adopting(t)
	out := b.ok(b.do(context60(t), browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/shop"}))
	order := ref(t, out.Observation, "button", "Order")
	for range 2 {
		out = b.ok(b.do(context60(t), browser, protocol.KindClick, &protocol.ClickArgs{Target: order}))
		if c := out.Transition.Console; len(c) != 1 || c[0].Level != "error" || c[0].Text != "no stock" || c[0].Count != 1 || c[0].URL != b.site.URL+"/shop" || c[0].FrameID != out.Observation.FrameTree.Top.FrameID {
			t.Errorf("console: %+v", c)
		}
	}
}

func TestTheWorstOfTheConsoleIsKept(t *testing.T) {
	t.Parallel()
	var all []protocol.LogEntry
	for i := range 60 {
		all = append(all, protocol.LogEntry{Level: []string{"log", "warning", "error", "exception"}[min(i%8, 3)], Text: fmt.Sprint(i), Count: 2})
	}
	kept, omitted := cutConsole(all)
	if len(kept) != consoleEntries || omitted != 2*(60-consoleEntries) {
		t.Fatalf("%d kept, %d omitted", len(kept), omitted)
	}
	for _, e := range kept {
		if e.Level != "exception" {
			t.Errorf("kept %+v", e)
		}
	}
	if kept[len(kept)-1].Text != "59" {
		t.Errorf("the newest is %+v", kept[len(kept)-1])
	}
}
