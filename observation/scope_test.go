package observation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// look looks at a part of a page.
func look(ctx context.Context, page *pagetest.Page, observer *observation.Observer, args protocol.ObserveArgs) (*protocol.Observation, error) {
	return observer.Look(ctx, page, observation.Query{ObserveBudget: (*protocol.ObserveOptions)(nil).Budget(), Args: args})
}

func refOf(t *testing.T, obs *protocol.Observation, name string) protocol.Element {
	t.Helper()
	for _, e := range obs.Elements {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no %q among %q", name, lines(obs))
	return protocol.Element{}
}

func TestARegionIsShownAlone(t *testing.T) {
	t.Parallel()
	ctx, page, observer := within(t), pagetest.Open(t), observation.New(1)
	page.Load(ctx, t, `<title>Shop</title><p>before<ul><li><h3>One</h3><a href=/1>one</a> <button>Buy</button><p>first</p></li>
		<li><h3>Two</h3><a href=/2>two</a> <button>Buy</button><p>second</p></li><li>third <a href=/3>three</a></li></ul>
		<div tabindex=0 aria-label=card>in the card <button>Inner</button></div><button>After</button>
		<dl><dt><a href=/a>A</a><dd>about A<dt><a href=/b>B</a><dd>about B <button>b</button><dt><a href=/c>C</a></dl>`)
	whole := observe(ctx, t, page, observer, budget(protocol.ModeInteractive))
	two := refOf(t, whole, "two")
	for name, tc := range map[string]struct {
		args  protocol.ObserveArgs
		lines []string
		text  string
	}{
		"a record":                  {protocol.ObserveArgs{GroupRef: two.Group}, []string{"button Buy", "link two"}, "Two\ntwo Buy\n\nsecond"},
		"a term and its definition": {protocol.ObserveArgs{GroupRef: refOf(t, whole, "B").Group}, []string{"button b", "link B"}, "B\nabout B b"},
		"an element":                {protocol.ObserveArgs{Target: protocol.Target{ElementRef: refOf(t, whole, "card").Ref}}, []string{"button Inner", "generic card"}, "in the card Inner"},
		"a role":                    {protocol.ObserveArgs{Role: "link", GroupRef: two.Group}, []string{"link two"}, "Two\ntwo Buy\n\nsecond"},
	} {
		obs, err := look(ctx, page, observer, tc.args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.lines, lines(obs)); diff != "" || obs.Text != tc.text || obs.TotalElements != len(tc.lines) {
			t.Errorf("%s: text %q, total %d, elements (-want +got):\n%s", name, obs.Text, obs.TotalElements, diff)
		}
		if obs.Scope == nil || obs.Scope.GroupRef != tc.args.GroupRef || obs.Title != "Shop" {
			t.Errorf("%s: scope %+v, title %q", name, obs.Scope, obs.Title)
		}
		for _, e := range obs.Elements {
			if known := refOf(t, whole, e.Name); e.Name != "Buy" && known.Ref != e.Ref {
				t.Errorf("%s: %s is %s in the whole page", name, e.Ref, known.Ref)
			}
		}
	}
}

func TestARegionThatIsGoneIsStale(t *testing.T) {
	t.Parallel()
	ctx, page, observer := within(t), pagetest.Open(t), observation.New(1)
	page.Load(ctx, t, `<button id=b>Go</button>`)
	ref := observe(ctx, t, page, observer, budget(protocol.ModeInteractive)).Elements[0].Ref
	page.Eval(ctx, t, `b.remove();0`)
	for _, args := range []protocol.ObserveArgs{
		{Target: protocol.Target{ElementRef: ref}}, {Target: protocol.Target{ElementRef: "e99"}}, {GroupRef: "g7"}, {FrameID: "ABC"},
	} {
		_, err := look(ctx, page, observer, args)
		if refused := (*protocol.Error)(nil); !errors.As(err, &refused) || refused.Code != protocol.CodeStaleRef {
			t.Errorf("%+v: %v", args, err)
		}
	}
}

// TestARegionBehindAModalDialogShowsNothing: a user cannot act on it.
func TestARegionBehindAModalDialogShowsNothing(t *testing.T) {
	t.Parallel()
	ctx, page, observer := within(t), pagetest.Open(t), observation.New(1)
	page.Load(ctx, t, `<div tabindex=0 aria-label=card><button>Go</button></div><dialog id=d><button>OK</button></dialog>`)
	ref := refOf(t, observe(ctx, t, page, observer, budget(protocol.ModeInteractive)), "card").Ref
	page.Eval(ctx, t, `d.showModal();0`)
	obs, err := look(ctx, page, observer, protocol.ObserveArgs{Target: protocol.Target{ElementRef: ref}})
	if err != nil || len(obs.Elements) != 0 {
		t.Errorf("%q %v", lines(obs), err)
	}
}

// TestASearchIsExact: on a page with more than is kept, every find is counted, and
// the elements are those that have the text in their names.
func TestASearchIsExact(t *testing.T) {
	t.Parallel()
	ctx, page, observer := within(t), pagetest.Open(t), observation.New(1)
	var html strings.Builder
	for i := range 900 {
		fmt.Fprintf(&html, `<li><a href="/%d">Item %d</a> costs %d EUR, and much is to be said about it that is not short<button>Buy %d</button></li>`, i, i, i, i)
	}
	page.Load(ctx, t, `<ul>`+html.String()+`</ul>`)
	for _, tc := range []struct {
		args     protocol.ObserveArgs
		elements int
		finds    int
	}{
		{protocol.ObserveArgs{Search: "ITEM 89"}, 11, 11},
		{protocol.ObserveArgs{Search: "costs 899\u00a0 eur"}, 0, 1},
		{protocol.ObserveArgs{Search: "buy 7", Role: "button"}, 111, 111},
		{protocol.ObserveArgs{Search: "costs", Role: "link"}, 0, 900},
		{protocol.ObserveArgs{Search: "nowhere"}, 0, 0},
	} {
		obs, err := look(ctx, page, observer, tc.args)
		if err != nil {
			t.Fatal(err)
		}
		if obs.TotalElements != tc.elements || *obs.TotalMatches != tc.finds || obs.Text != "" || obs.Partial {
			t.Errorf("%+v: %d elements, %d finds, want %d and %d; partial %v", tc.args, obs.TotalElements, *obs.TotalMatches, tc.elements, tc.finds, obs.Partial)
		}
		if len(obs.Elements) > 40 || len(obs.Elements) < min(tc.elements, 40) || (tc.finds > 0) != (len(obs.Matches) > 0) {
			t.Errorf("%+v: %d elements and %d matches are shown", tc.args, len(obs.Elements), len(obs.Matches))
		}
	}
	if obs, err := look(ctx, page, observer, protocol.ObserveArgs{Role: "button"}); err != nil || obs.TotalElements != 900 || obs.TotalMatches != nil || obs.Text == "" {
		t.Errorf("by role: %d elements, matches %v, %v", obs.TotalElements, obs.TotalMatches, err)
	}
}

func TestAFrameIsShownAlone(t *testing.T) {
	t.Parallel()
	ctx, observer := patiently(t), observation.New(1)
	page := pagetest.OpenSites(t, map[string]string{
		"/":      `<title>top</title><button>Top</button><p>top text<iframe height=300 src="http://alt.test/cross"></iframe><iframe srcdoc="<button>Other</button>"></iframe>`,
		"/cross": `<button>Cross</button><p>cross text<iframe srcdoc="<button>Inner</button><p>inner text"></iframe>`,
	})
	page.Navigate(ctx, t, "http://main.test/")
	whole := observed(ctx, t, page, observer, lists("button Top", "button Cross", "button Inner", "button Other"))
	cross := refOf(t, whole, "Cross")
	for _, args := range []protocol.ObserveArgs{{FrameID: cross.FrameID}, {FrameID: cross.FrameID, Search: "inner"}, {Target: protocol.Target{ElementRef: cross.Ref}}} {
		obs, err := look(ctx, page, observer, args)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"button Cross", "button Inner"}
		switch {
		case args.Search != "":
			want = want[1:]
		case args.ElementRef != "":
			want = want[:1]
		}
		if diff := cmp.Diff(want, lines(obs)); diff != "" || strings.Contains(obs.Text, "top text") || obs.URL != "http://main.test/" {
			t.Errorf("%+v: text %q of %s (-want +got):\n%s", args, obs.Text, obs.URL, diff)
		}
		if refOf(t, whole, obs.Elements[0].Name).Ref != obs.Elements[0].Ref {
			t.Errorf("%+v: another ref", args)
		}
	}
}

func observe(ctx context.Context, t *testing.T, page *pagetest.Page, observer *observation.Observer, b protocol.ObserveBudget) *protocol.Observation {
	t.Helper()
	obs, err := observer.Observe(ctx, page, b)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}
