package chrome

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// looper is a site one page of which, "?loop", stops for ever.
func looper() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		http.SetCookie(w, &http.Cookie{Name: "kept", Value: "1"})
		title := strings.TrimPrefix(r.URL.Path, "/")
		_, _ = fmt.Fprintf(w, `<!doctype html><title>%s</title><p>x<button onclick="this.textContent='Bought'">Buy</button>
			<script>if (location.search) setTimeout(()=>{for(;;);},200)</script>`, title)
	})
}

func loops(t *testing.T) (*bench, *Browser) {
	t.Helper()
	ctx, b := context60(t), newBench(t, looper())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/a?loop"})
	return b, browser
}

// awaitSilence waits until the current page counts as unresponsive.
func awaitSilence(t *testing.T, browser *Browser) {
	t.Helper()
	if _, err := browser.page.Await(context60(t), func(s *supervisor.Snapshot) bool { return s.Unresponsive }); err != nil {
		t.Fatal(err)
	}
}

func stays(t *testing.T, browser *Browser) {
	t.Helper()
	select {
	case <-browser.Lost():
		t.Error("the browser is lost")
	case <-browser.Doomed():
		t.Error("the browser is doomed")
	default:
	}
}

// A page that is known to be silent is not waited for again: what needs it is
// refused before anything is dispatched; the list of tabs, and leaving, work.
func TestASilentPageIsRememberedAndLeft(t *testing.T) {
	t.Parallel()
	b, browser := loops(t)
	out := b.do(context60(t), browser, protocol.KindObserve, &protocol.ObserveArgs{})
	for out.Err == nil { // the loop had not begun
		out = b.do(context60(t), browser, protocol.KindObserve, &protocol.ObserveArgs{})
	}
	if out.Err.Code != protocol.CodeRendererUnresponsive {
		t.Fatalf("an observation: %v", out.Err)
	}
	for kind, args := range map[protocol.Kind]protocol.Args{
		protocol.KindObserve: &protocol.ObserveArgs{}, protocol.KindBack: &protocol.NoArgs{}, protocol.KindScreenshot: &protocol.ScreenshotArgs{},
	} {
		info, _ := kind.Lookup()
		awaitSilence(t, browser)
		out := browser.Run(context60(t), &protocol.Action{Request: protocol.Request{V: 1, Kind: kind}, Info: info, Args: args},
			func() error { return errors.New("it was dispatched") })
		if out.Err == nil || out.Err.Code != protocol.CodeRendererUnresponsive || out.Err.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s: %v", kind, out.Err)
		}
		if browser.page.Snapshot().Crashed {
			break // it was silent for long on this machine
		}
	}
	listed := b.ok(b.do(context60(t), browser, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsList}))
	if listed.Observation == nil || !listed.Observation.Stale || len(listed.Observation.Tabs) != 1 {
		t.Errorf("tabs: %+v", listed.Observation)
	}
	left := b.ok(b.do(context60(t), browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/b"}))
	state, err := browser.Capture(context60(t))
	if left.Observation.Title != "b" || err != nil || len(state.Cookies) != 1 {
		t.Errorf("%q, %+v, %v", left.Observation.Title, state.Cookies, err)
	}
	stays(t, browser)
}

// What ends a page that loops does not cost the tab beside it, of the same site, its
// document; and the action says which tabs crashed.
func TestAWedgedTabCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, looper())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	first := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/kept"}))
	b.ok(b.do(ctx, browser, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, first.Observation, "button", "Buy")}))
	b.ok(b.do(ctx, browser, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsNew}))
	b.do(context60(t), browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/a?loop"})
	awaitSilence(t, browser)
	out := b.ok(b.do(context60(t), browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/b"}))
	if out.Observation.Title != "b" || !slices.Equal(out.Transition.TabsCrashed, []protocol.PageID{"t2"}) {
		t.Errorf("%q, crashed %v", out.Observation.Title, out.Transition.TabsCrashed)
	}
	kept := b.in(browser, "t1", protocol.KindObserve, &protocol.ObserveArgs{})
	ref(t, b.ok(kept).Observation, "button", "Bought")
	stays(t, browser)
}

// The tabs are listed whatever became of the current one.
func TestTheTabsAreListedWhenTheCurrentOneCrashed(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, looper())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/a"}))
	b.ok(b.do(ctx, browser, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsNew, URL: b.site.URL + "/b"}))
	if err := browser.page.EndRenderer(ctx); err != nil {
		t.Fatal(err)
	}
	out := b.ok(b.do(ctx, browser, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsList}))
	if out.Observation == nil || !out.Observation.Stale || len(out.Observation.Tabs) != 2 || len(out.Warnings) == 0 {
		t.Fatalf("%+v, %+v", out.Observation, out.Warnings)
	}
	for i, want := range []bool{false, true} {
		if got := out.Observation.Tabs[i]; got.Crashed != want || got.Current != want {
			t.Errorf("%+v", got)
		}
	}
}

// Whatever follows an action takes place within its time.
func TestTheLookIsPartOfTheActionsTime(t *testing.T) {
	t.Parallel()
	for _, budget := range []time.Duration{time.Second, 4 * time.Second, time.Minute} {
		ctx, cancel := context.WithTimeout(t.Context(), budget)
		defer cancel()
		deadline, _ := ctx.Deadline()
		act, cancel := acting(ctx)
		defer cancel()
		ends, ok := act.Deadline()
		if rest := deadline.Sub(ends); !ok || rest <= 0 || rest > lookLimit || rest > budget/lookPart {
			t.Errorf("%v: %v are left for the look", budget, rest)
		}
		for _, limit := range []time.Duration{time.Millisecond, time.Hour} {
			look, cancel := within(ctx, limit)
			defer cancel()
			if ends, ok := look.Deadline(); !ok || ends.After(deadline) {
				t.Errorf("%v: a look of %v may end %v too late", budget, limit, ends.Sub(deadline))
			}
		}
		cancel()
	}
}
