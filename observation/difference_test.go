package observation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

// shop is the pass of a page with these names and this text.
func shop(names []string, text string) *pass {
	p := &pass{Doc: "doc", URL: "https://a.example/", Text: text, TotalText: chars(text), Total: len(names)}
	for i, name := range names {
		id, label, _ := strings.Cut(name, " ")
		var n int64
		if _, err := fmt.Sscan(id, &n); err != nil {
			panic(err)
		}
		p.Elements = append(p.Elements, passElement{ID: n, Tier: 1, Order: i, Role: "button", Name: label, Print: label})
	}
	if err := p.check(passArgs{Elements: len(names), Text: protocol.MaxRetainedChars}); err != nil {
		panic(err)
	}
	p.locate("", nil)
	p.rank()
	return p
}

func (o *Observer) lookAt(p *pass, budget protocol.ObserveBudget) *protocol.Observation {
	return o.answer(o.build(State{ID: "t1", URL: p.URL}, p, nil, whole(budget)), p.Doc, budget.Since)
}

// apply is what an agent makes of a difference.
func apply(t rapid.TB, text string, elements map[protocol.Ref]protocol.Element, d *protocol.Difference) (string, map[protocol.Ref]protocol.Element) {
	t.Helper()
	if c := d.Text; c != nil {
		runes := []rune(text)
		text = string(runes[:c.Offset]) + c.Added + string(runes[c.Offset+c.Removed:])
	}
	for _, ref := range d.Removed {
		delete(elements, ref)
	}
	for _, e := range d.Changed {
		if _, ok := elements[e.Ref]; !ok {
			t.Fatalf("%s changed and was not shown", e.Ref)
		}
		elements[e.Ref] = e
	}
	for _, e := range d.Added {
		if _, ok := elements[e.Ref]; ok {
			t.Fatalf("%s was added and was there", e.Ref)
		}
		elements[e.Ref] = e
	}
	return text, elements
}

func byRef(all []protocol.Element) map[protocol.Ref]protocol.Element {
	m := make(map[protocol.Ref]protocol.Element)
	for _, e := range all {
		m[e.Ref] = e
	}
	return m
}

// TestADifferenceLeadsFromOneObservationToTheOther whatever changes in between.
func TestADifferenceLeadsFromOneObservationToTheOther(t *testing.T) {
	t.Parallel()
	name := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%d name %s", rapid.IntRange(1, 12).Draw(t, "id"), rapid.StringMatching("[a-zé]{0,3}").Draw(t, "name"))
	})
	names := rapid.SliceOfNDistinct(name, 0, 12, func(s string) string { return strings.Fields(s)[0] })
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab é🦊")), 0, 60, -1)
	rapid.Check(t, func(t *rapid.T) {
		o := New(1)
		budget := protocol.ObserveBudget{TextChars: rapid.IntRange(1, 80).Draw(t, "chars"), Elements: 100, MaxTier: 5}
		first := o.lookAt(shop(names.Draw(t, "before"), text.Draw(t, "text before")), budget)
		budget.Since = first.ID
		second := o.lookAt(shop(names.Draw(t, "after"), text.Draw(t, "text after")), budget)
		if second.Difference == nil || second.Difference.Since != first.ID {
			t.Fatalf("no difference: %+v", second)
		}
		if second.Difference.Whole != "" {
			return
		}
		gotText, got := apply(t, first.Text, byRef(first.Elements), second.Difference)
		if !strings.HasPrefix(o.reading.text, gotText) || !first.TextTruncated && gotText != o.last.Text {
			t.Fatalf("text %q, want %q of %q", gotText, o.last.Text, o.reading.text)
		}
		if diff := cmp.Diff(byRef(o.last.Elements), got); diff != "" {
			t.Fatal(diff)
		}
		if size(second) >= size(o.last) {
			t.Fatalf("%d bytes, the whole has %d", size(second), size(o.last))
		}
	})
}

func manyNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%d Button %d", i+1, i+1))
	}
	return names
}

func TestADifferenceIsSmallWhereLittleChanged(t *testing.T) {
	t.Parallel()
	o, budget := New(1), protocol.ObserveBudget{TextChars: 4000, Elements: 40, MaxTier: 5}
	names, text := manyNames(60), strings.Repeat("some text ", 900)
	first := o.lookAt(shop(names, text), budget)
	budget.Since = first.ID
	if same := o.lookAt(shop(names, text), budget); !cmp.Equal(same.Difference, &protocol.Difference{Since: first.ID}) || same.Elements != nil || same.Text != "" ||
		same.TotalElements != 60 || same.Digest != first.Digest || same.Continuation == "" {
		t.Errorf("nothing changed: %+v", same)
	}
	// One is new at the start; the last that was shown is pushed out of sight, not removed.
	changed := append([]string{"99 New"}, names...)
	changed[5] = "5 Was five"
	changed = append(changed[:10], changed[11:]...)
	obs := o.lookAt(shop(changed, strings.Replace(text, "some", "any", 1)), budget)
	d := obs.Difference
	if d.Whole != "" || len(d.Added) != 1 || d.Added[0].Name != "New" || len(d.Changed) != 1 || d.Changed[0].Ref != "e5" || d.Changed[0].Name != "Was five" ||
		!cmp.Equal(d.Removed, []protocol.Ref{"e10"}) || !cmp.Equal(d.Text, &protocol.TextChange{Removed: 4, Added: "any"}) {
		t.Errorf("%+v, text %+v", d, d.Text)
	}
}

// TestADifferenceKnowsWhatWasPaged: a button of a later slice changed.
func TestADifferenceKnowsWhatWasPaged(t *testing.T) {
	t.Parallel()
	o, budget := New(1), protocol.ObserveBudget{Elements: 20, TextChars: 100, MaxTier: 5}
	names, text := manyNames(60), strings.Repeat("some text ", 90)
	first := o.lookAt(shop(names, text), budget)
	through(t, o, first)
	names[49] = "50 Fifty"
	budget.Since = first.ID
	obs := o.lookAt(shop(names, text), budget)
	if d := obs.Difference; len(d.Changed) != 1 || d.Changed[0].Name != "Fifty" || d.Added != nil || d.Removed != nil || d.Text != nil {
		t.Fatalf("%+v", d)
	}
	if target, failed := o.Resolve("e50", obs.ID); failed != nil || target.Name != "Fifty" {
		t.Errorf("%+v %v", target, failed)
	}
	next, failed := o.Next(State{}, obs.Continuation)
	if failed != nil || next.Difference != nil || len(next.Elements) != 20 || next.ElementOffset != 20 {
		t.Errorf("the next slice: %+v %v", next, failed)
	}
}

func TestWhyAnObservationIsWhole(t *testing.T) {
	t.Parallel()
	budget := protocol.ObserveBudget{TextChars: 4000, Elements: 40, MaxTier: 5}
	since := budget
	since.Since = "o-1-1"
	names := manyNames(30)
	for name, tc := range map[string]struct {
		look func(*Observer) *protocol.Observation
		want string
	}{
		"another document": {func(o *Observer) *protocol.Observation {
			p := shop(names, "text")
			p.Doc = "other"
			return o.lookAt(p, since)
		}, protocol.WholeNavigated},
		"everything is new": {func(o *Observer) *protocol.Observation {
			other := make([]string, 30)
			for i := range other {
				other[i] = fmt.Sprintf("%d Other %d", i+100, i)
			}
			return o.lookAt(shop(other, "other text"), since)
		}, protocol.WholeNotSmaller},
		"long ago": {func(o *Observer) *protocol.Observation {
			for range maxKept {
				o.lookAt(shop(names, "text"), budget)
			}
			return o.lookAt(shop(names, "text"), since)
		}, protocol.WholeUnknown},
		"another generation": {func(o *Observer) *protocol.Observation {
			other := since
			other.Since = "o-9-1"
			return o.lookAt(shop(names, "text"), other)
		}, protocol.WholeUnknown},
		"a part of the page": {func(o *Observer) *protocol.Observation {
			q := whole(since)
			q.Args.Role = "button"
			return o.answer(o.build(State{ID: "t1"}, shop(names, "text"), nil, q), "doc", since.Since)
		}, protocol.WholeOtherScope},
		"another tab": {func(o *Observer) *protocol.Observation {
			return o.answer(o.build(State{ID: "t2"}, shop(names, "text"), nil, whole(since)), "doc", since.Since)
		}, protocol.WholeOtherTab},
		"behind a dialog": {func(o *Observer) *protocol.Observation { return o.LastKnown(still{}, since) }, protocol.WholeStale},
	} {
		o := New(1)
		o.lookAt(shop(names, "text"), budget)
		obs := tc.look(o)
		if obs.Difference == nil || obs.Difference.Whole != tc.want {
			t.Errorf("%s: %+v, want %s", name, obs.Difference, tc.want)
		}
		if len(obs.Elements) == 0 && tc.want != protocol.WholeStale {
			t.Errorf("%s: nothing is shown", name)
		}
	}
}

func TestARouteOfTheSameDocumentIsADifference(t *testing.T) {
	t.Parallel()
	o, budget := New(1), protocol.ObserveBudget{TextChars: 4000, Elements: 40, MaxTier: 5}
	first := o.lookAt(shop(manyNames(30), "text"), budget)
	p := shop(manyNames(30), "text")
	p.URL += "#/two"
	budget.Since = first.ID
	if obs := o.lookAt(p, budget); !obs.Difference.Navigated || obs.Difference.Whole != "" || obs.URL != "https://a.example/#/two" {
		t.Errorf("%+v at %s", obs.Difference, obs.URL)
	}
}
