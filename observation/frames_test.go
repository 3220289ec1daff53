package observation_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// observed looks again and again until the page is as wanted: frames load when they
// do.
func observed(ctx context.Context, t *testing.T, page *pagetest.Page, observer *observation.Observer, holds func(*protocol.Observation) bool) *protocol.Observation {
	t.Helper()
	for {
		obs, err := observer.Observe(ctx, page, budget(protocol.ModeDocument))
		if err != nil {
			t.Fatalf("observe: %v", err)
		}
		if holds(obs) {
			return obs
		}
		look, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		_ = page.Next(look, page.State())
		cancel()
		if ctx.Err() != nil {
			t.Fatalf("never as wanted: %q, unread %+v", lines(obs), obs.UnreadFrames)
		}
	}
}

// patiently is within for several processes, each slower than one alone.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func lists(want ...string) func(*protocol.Observation) bool {
	return func(obs *protocol.Observation) bool { return slices.Equal(lines(obs), want) }
}

func TestFramesOfAllKindsAreObserved(t *testing.T) {
	t.Parallel()
	ctx := patiently(t)
	observer := observation.New(1)
	page := pagetest.OpenSites(t, map[string]string{
		"/": `<title>top</title><button>First</button><iframe srcdoc="<button>Doc</button><p>doc text"></iframe><iframe id=empty></iframe>
			<iframe src="/same"></iframe><iframe sandbox srcdoc="<button>Boxed</button>"></iframe><iframe height=600 src="http://alt.test/cross"></iframe><button>Last</button><p>top text
			<script>empty.contentDocument.body.innerHTML="<button>Written</button>"</script>`,
		"/same":  `<button>Same</button>`,
		"/cross": `<button>Cross</button><p>cross text<iframe src="http://third.test/inner"></iframe><button>After</button>`,
		"/inner": `<button>Inner</button><iframe src="http://main.test/same"></iframe>`,
	})
	page.Navigate(ctx, t, "http://main.test/")
	want := []string{"First", "Doc", "Written", "Same", "Boxed", "Cross", "Inner", "Same", "After", "Last"}
	for i, name := range want {
		want[i] = "button " + name
	}
	obs := observed(ctx, t, page, observer, lists(want...))
	if obs.TotalElements != len(want) || obs.Partial || len(obs.UnreadFrames) > 0 || obs.Title != "top" {
		t.Errorf("%d elements, partial %v, unread %v, title %q", obs.TotalElements, obs.Partial, obs.UnreadFrames, obs.Title)
	}
	for _, text := range []string{"top text", "doc text", "cross text"} {
		if !strings.Contains(obs.Text, text) {
			t.Errorf("no %q in the text %q", text, obs.Text)
		}
	}
	frames := map[protocol.FrameID]bool{}
	for i, e := range obs.Elements {
		if (e.FrameID == "") != (i == 0 || i == len(want)-1) {
			t.Errorf("%s is in frame %q", e.Name, e.FrameID)
		}
		frames[e.FrameID] = true
	}
	if len(frames) != 8 {
		t.Errorf("elements are of %d frames, want 8", len(frames))
	}
	again := observed(ctx, t, page, observer, lists(want...))
	if again.Digest != obs.Digest || cmp.Diff(again.Elements, obs.Elements) != "" {
		t.Errorf("the same page looks otherwise: %s", cmp.Diff(obs.Elements, again.Elements))
	}
}

func TestHiddenFramesAreNotListed(t *testing.T) {
	t.Parallel()
	ctx := patiently(t)
	observer := observation.New(1)
	page := pagetest.OpenSites(t, map[string]string{
		"/": `<iframe style="display:none" src="http://alt.test/b"></iframe><iframe style="visibility:hidden" src="/b"></iframe><div inert><iframe src="/b"></iframe></div>
			<iframe width=1 height=1 src="http://alt.test/b"></iframe><iframe id=f src="/c"></iframe><div id=h></div><script>const g=document.createElement("iframe");
			g.src="http://alt.test/d";h.attachShadow({mode:"closed"}).append(g)</script>`,
		"/b": `<button>Hidden</button>`, "/c": `<button>Shown</button>`, "/d": `<button>Within</button>`,
	})
	page.Navigate(ctx, t, "http://main.test/")
	observed(ctx, t, page, observer, lists("button Shown", "button Within"))
	page.Eval(ctx, t, `d=document.createElement("dialog");d.innerHTML="<button>Modal</button>";document.body.append(d);d.showModal();0`)
	observed(ctx, t, page, observer, lists("button Modal [focused]"))
	page.Eval(ctx, t, `d.remove();f.hidden=true;0`)
	observed(ctx, t, page, observer, lists("button Within"))
}

func TestOnlyTheFrameWithTheFocusHasIt(t *testing.T) {
	t.Parallel()
	ctx := patiently(t)
	observer := observation.New(1)
	page := pagetest.OpenSites(t, map[string]string{
		"/":    `<button id=b>Top</button><iframe id=f srcdoc="<button>Doc</button>"></iframe><div style="height:3000px"></div><iframe src="http://alt.test/far"></iframe>`,
		"/far": `<button>Far</button>`,
	})
	page.Navigate(ctx, t, "http://main.test/")
	observed(ctx, t, page, observer, lists("button Top", "button Doc", "button Far [offscreen]"))
	page.Eval(ctx, t, `f.contentDocument.querySelector("button").focus();0`)
	observed(ctx, t, page, observer, lists("button Top", "button Doc [focused]", "button Far [offscreen]"))
	page.Eval(ctx, t, `b.focus();0`)
	observed(ctx, t, page, observer, lists("button Top [focused]", "button Doc", "button Far [offscreen]"))
}

// TestAFrozenFrameTakesNothingFromThePage: a frame whose script never ends is named,
// and so is one whose process died.
func TestAFrozenFrameTakesNothingFromThePage(t *testing.T) {
	t.Parallel()
	ctx := patiently(t)
	observer := observation.New(1)
	page := pagetest.OpenSites(t, map[string]string{
		"/":     `<button>Top</button><iframe id=f src="http://alt.test/busy"></iframe><iframe src="http://third.test/well"></iframe>`,
		"/busy": `<button>Busy</button><script>onmessage=()=>{for(;;);}</script>`,
		"/well": `<button>Well</button>`,
	})
	page.Navigate(ctx, t, "http://main.test/")
	obs := observed(ctx, t, page, observer, lists("button Top", "button Busy", "button Well"))
	busy := obs.Elements[1].FrameID
	page.Eval(ctx, t, `f.contentWindow.postMessage(1,"*");0`)
	for _, reason := range []string{"unresponsive", "crashed"} {
		obs = observed(ctx, t, page, observer, func(obs *protocol.Observation) bool {
			return lists("button Top", "button Well")(obs) && len(obs.UnreadFrames) == 1 && obs.UnreadFrames[0].Reason == reason
		})
		if u := obs.UnreadFrames[0]; u.FrameID != busy || !strings.HasSuffix(u.URL, "/busy") || !obs.Partial || !obs.ElementsTruncated {
			t.Errorf("%+v, partial %v, truncated %v", u, obs.Partial, obs.ElementsTruncated)
		}
		for _, f := range page.State().Children {
			if f.ID == busy && reason == "unresponsive" {
				if pending, err := page.SendTo(f.World.Session, "Page.crash", nil); err == nil {
					pending.Forget()
				}
			}
		}
	}
	page.Eval(ctx, t, `f.remove();0`)
	obs = observed(ctx, t, page, observer, lists("button Top", "button Well"))
	if obs.Partial || len(obs.UnreadFrames) > 0 {
		t.Errorf("after its removal: partial %v, unread %v", obs.Partial, obs.UnreadFrames)
	}
}

// TestFramesComeGoAndMove: what is shown is of the documents that are there, and a
// node that stays keeps its ref.
func TestFramesComeGoAndMove(t *testing.T) {
	t.Parallel()
	ctx := patiently(t)
	observer := observation.New(1)
	page := pagetest.OpenSites(t, map[string]string{
		"/":  `<button>Top</button><iframe id=f src="http://alt.test/a"></iframe><p id=alt data-x="http://alt.test" data-y="http://third.test">`,
		"/a": `<button>A</button>`, "/b": `<button>B</button>`,
	})
	page.Navigate(ctx, t, "http://main.test/")
	first := observed(ctx, t, page, observer, lists("button Top", "button A"))
	for _, step := range []struct{ do, want string }{
		{`f.src="/b"`, "button B"},
		{`f.src=alt.dataset.y+"/a"`, "button A"},
		{`f.src=alt.dataset.x+"/b"`, "button B"},
		{`f.removeAttribute("src");f.srcdoc="<button>C</button>"`, "button C"},
	} {
		page.Eval(ctx, t, step.do+";0")
		obs := observed(ctx, t, page, observer, lists("button Top", step.want))
		if obs.Elements[0].Ref != first.Elements[0].Ref || obs.Elements[1].Ref == first.Elements[1].Ref {
			t.Errorf("%s: refs %s %s, at first %s %s", step.do, obs.Elements[0].Ref, obs.Elements[1].Ref, first.Elements[0].Ref, first.Elements[1].Ref)
		}
		first = obs
	}
	page.Eval(ctx, t, `f.remove();0`)
	observed(ctx, t, page, observer, lists("button Top"))
}

// counting counts what is sent to the browser.
type counting struct {
	*pagetest.Page
	sent []string
}

func (c *counting) Send(method string, params any) (*cdp.Pending, error) {
	return c.SendTo("", method, params)
}

func (c *counting) SendTo(session cdp.SessionID, method string, params any) (*cdp.Pending, error) {
	c.sent = append(c.sent, method)
	return c.Page.SendTo(session, method, params)
}

// TestAnObservationIsOneCallForEachDocument: without frames, and with frames that are
// known, nothing is asked before.
func TestAnObservationIsOneCallForEachDocument(t *testing.T) {
	t.Parallel()
	ctx := patiently(t)
	observer := observation.New(1)
	page := pagetest.OpenSites(t, map[string]string{
		"/":     `<button>Top</button><iframe srcdoc="<button>Doc</button>"></iframe><iframe src="http://alt.test/a"></iframe>`,
		"/none": `<button>Alone</button>`, "/a": `<button>A</button>`,
	})
	for _, tc := range []struct {
		url  string
		want []string
	}{
		{"http://main.test/none", []string{"button Alone"}},
		{"http://main.test/", []string{"button Top", "button Doc", "button A"}},
	} {
		page.Navigate(ctx, t, tc.url)
		observed(ctx, t, page, observer, lists(tc.want...))
		c := &counting{Page: page}
		if _, err := observer.Observe(ctx, c, budget(protocol.ModeDocument)); err != nil {
			t.Fatal(err)
		}
		if want := slices.Repeat([]string{"Runtime.callFunctionOn"}, len(tc.want)); !slices.Equal(c.sent, want) {
			t.Errorf("%s: %d documents, sent %v", tc.url, len(want), c.sent)
		}
	}
}
