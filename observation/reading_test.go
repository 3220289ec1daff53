package observation

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

// readPass is the pass of a page with so many elements, of which so many were read,
// and with text of which the page has more.
func readPass(read, total int, text string, totalText int) *pass {
	p := &pass{Doc: "doc", URL: "https://a.example/", Text: text, TotalText: totalText, Total: total}
	for i := range read {
		p.Elements = append(p.Elements, passElement{ID: int64(i + 1), Tier: 1 + i%5, Order: i, Role: "link", Name: fmt.Sprint(i), Group: int64(1 + i/3), Print: fmt.Sprint(i)})
	}
	for i := range read/3 + 1 {
		p.Groups = append(p.Groups, passGroup{ID: int64(i + 1), Label: fmt.Sprint("record ", i)})
	}
	if err := p.check(passArgs{Elements: read, Text: protocol.MaxRetainedChars}); err != nil {
		panic(err)
	}
	p.locate("", nil)
	p.rank()
	return p
}

// whole is the scope of a look at the whole page.
func whole(budget protocol.ObserveBudget) scope { return scope{Query: Query{ObserveBudget: budget}} }

// seen is what the slices of an observation have shown.
type seen struct {
	text     string
	elements []protocol.Element
	last     *protocol.Observation
}

func (s *seen) add(t rapid.TB, obs *protocol.Observation) {
	t.Helper()
	if obs.TextOffset != utf8.RuneCountInString(s.text) || obs.ElementOffset != len(s.elements) {
		t.Fatalf("a slice at %d and %d, want %d and %d", obs.TextOffset, obs.ElementOffset, utf8.RuneCountInString(s.text), len(s.elements))
	}
	s.text += obs.Text
	s.elements = append(s.elements, obs.Elements...)
	s.last = obs
}

// through shows all slices of an observation.
func through(t rapid.TB, o *Observer, first *protocol.Observation) *seen {
	t.Helper()
	s := &seen{}
	s.add(t, first)
	for s.last.Continuation != "" {
		next, failed := o.Next(State{}, s.last.Continuation)
		if failed != nil {
			t.Fatal(failed)
		}
		if next.ID != first.ID || next.Digest != first.Digest || next.TotalElements != first.TotalElements || next.TotalTextChars != first.TotalTextChars {
			t.Fatalf("slice %+v is not of %s", next, first.ID)
		}
		if next.Text == "" && len(next.Elements) == 0 {
			t.Fatalf("an empty slice after %d elements", len(s.elements))
		}
		s.add(t, next)
	}
	return s
}

// TestSlicesShowEverythingOnce: whatever the page and the budget, the slices are the
// text and the elements that were read, in order, without gap or repetition, and the
// last one says what was not kept.
func TestSlicesShowEverythingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		read := rapid.IntRange(0, 60).Draw(t, "read")
		total := read + rapid.IntRange(0, 40).Draw(t, "beyond")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab 🦊é\n")), 0, 200, -1).Draw(t, "text")
		moreText := rapid.IntRange(0, 100).Draw(t, "more text")
		budget := protocol.ObserveBudget{
			Mode: protocol.ModeSummary, MaxTier: rapid.IntRange(1, 5).Draw(t, "tier"),
			TextChars: rapid.IntRange(1, 50).Draw(t, "chars"), Elements: rapid.IntRange(1, 20).Draw(t, "elements"),
		}
		p, o := readPass(read, total, text, utf8.RuneCountInString(text)+moreText), New(1)
		first := o.build(State{}, p, nil, whole(budget))
		s := through(t, o, first)
		if s.text != text {
			t.Fatalf("text %q, want %q", s.text, text)
		}
		if len(s.elements) != read {
			t.Fatalf("%d elements, want %d", len(s.elements), read)
		}
		refs := map[protocol.Ref]bool{}
		for i, e := range s.elements {
			if e.Name != p.Elements[i].Name || refs[e.Ref] {
				t.Fatalf("element %d is %+v, want %q, once", i, e, p.Elements[i].Name)
			}
			refs[e.Ref] = true
		}
		if s.last.UnkeptElements != total-read || s.last.UnkeptTextChars != moreText {
			t.Fatalf("unkept %d and %d, want %d and %d", s.last.UnkeptElements, s.last.UnkeptTextChars, total-read, moreText)
		}
		if s.last.ElementsTruncated != (total > read) || s.last.TextTruncated != (moreText > 0) {
			t.Fatalf("the last slice says truncated: %v %v", s.last.ElementsTruncated, s.last.TextTruncated)
		}
	})
}

func TestWhatAModeLeavesOutCanBePaged(t *testing.T) {
	t.Parallel()
	o := New(1)
	first := o.build(State{}, readPass(30, 30, "", 0), nil, whole(protocol.ObserveBudget{Mode: protocol.ModeDocument, Elements: 20, MaxTier: 2}))
	for _, e := range first.Elements {
		if e.Tier > 2 {
			t.Errorf("tier %d in the first slice", e.Tier)
		}
	}
	if len(first.Elements) != 12 || first.Continuation != "c-1-1" || !first.ElementsTruncated {
		t.Fatalf("%d elements, %q", len(first.Elements), first.Continuation)
	}
	if s := through(t, o, first); len(s.elements) != 30 || s.last.Continuation != "" {
		t.Errorf("%d elements in all, then %q", len(s.elements), s.last.Continuation)
	}
}

func TestAGroupIsTheSameInEverySlice(t *testing.T) {
	t.Parallel()
	o := New(1)
	first := o.build(State{}, readPass(30, 30, "", 0), nil, whole(protocol.ObserveBudget{Elements: 7, MaxTier: 5}))
	labels := map[protocol.GroupRef]string{}
	for _, e := range through(t, o, first).elements {
		if want := "record " + fmt.Sprint(mustInt(t, e.Name)/3); labels[e.Group] == "" {
			labels[e.Group] = want
		} else if labels[e.Group] != want {
			t.Errorf("%s is %q and %q", e.Group, labels[e.Group], want)
		}
	}
	if len(labels) != 10 {
		t.Errorf("%d groups, want 10", len(labels))
	}
}

func mustInt(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRefsOfLaterSlicesAreOfTheirObservation: each of them can be acted on.
func TestRefsOfLaterSlicesAreOfTheirObservation(t *testing.T) {
	t.Parallel()
	o := New(1)
	first := o.build(State{ID: "t3"}, readPass(30, 30, "", 0), nil, whole(protocol.ObserveBudget{Elements: 7, MaxTier: 5}))
	for _, e := range through(t, o, first).elements {
		target, failed := o.Resolve(e.Ref, first.ID)
		if failed != nil || target.Name != e.Name || target.Page != "t3" {
			t.Errorf("%s %q: %+v %v", e.Ref, e.Name, target, failed)
		}
	}
}

func TestContinuationsThatDoNotHold(t *testing.T) {
	t.Parallel()
	budget := protocol.ObserveBudget{Elements: 10, MaxTier: 5}
	cut, uncut := readPass(25, 25, "", 0), readPass(5, 5, "", 0)
	next := func(o *Observer, token protocol.Continuation) *protocol.Observation {
		obs, failed := o.Next(State{}, token)
		if failed != nil {
			t.Fatal(failed)
		}
		return obs
	}
	for name, tc := range map[string]struct {
		before func(*Observer)
		token  protocol.Continuation
		want   protocol.Code
	}{
		"used already": {func(o *Observer) { o.build(State{}, cut, nil, whole(budget)); next(o, "c-2-1") }, "c-2-1", protocol.CodeContinuationSuperseded},
		"a newer observation": {func(o *Observer) {
			o.build(State{}, cut, nil, whole(budget))
			o.build(State{}, cut, nil, whole(budget))
		}, "c-2-1", protocol.CodeContinuationSuperseded},
		"a newer one, not cut": {func(o *Observer) {
			o.build(State{}, cut, nil, whole(budget))
			o.build(State{}, uncut, nil, whole(budget))
		}, "c-2-1", protocol.CodeContinuationSuperseded},
		"shown to its end":        {func(o *Observer) { o.build(State{}, cut, nil, whole(budget)); next(o, "c-2-1"); next(o, "c-2-2") }, "c-2-2", protocol.CodeContinuationExhausted},
		"never given":             {func(o *Observer) { o.build(State{}, cut, nil, whole(budget)) }, "c-2-9", protocol.CodeContinuationSuperseded},
		"before any":              {func(*Observer) {}, "c-2-1", protocol.CodeContinuationSuperseded},
		"an earlier generation":   {func(o *Observer) { o.build(State{}, cut, nil, whole(budget)) }, "c-1-1", protocol.CodeGenerationChanged},
		"nonsense":                {func(*Observer) {}, "c-2", protocol.CodeInvalidArgument},
		"a dialog, and then none": {func(o *Observer) { o.build(State{}, cut, nil, whole(budget)); o.LastKnown(still{}, budget) }, "c-2-1", protocol.CodeContinuationSuperseded},
	} {
		o := New(2)
		tc.before(o)
		if obs, failed := o.Next(State{}, tc.token); failed == nil || failed.Code != tc.want {
			t.Errorf("%s: %v %v, want %s", name, obs, failed, tc.want)
		}
	}
}

// still is a page that is only looked at.
type still struct{ Page }

func (still) State() State { return State{} }

// TestWhatIsKnownBehindADialogCannotGoOn: its observation is another one.
func TestWhatIsKnownBehindADialogCannotGoOn(t *testing.T) {
	t.Parallel()
	o, budget := New(1), protocol.ObserveBudget{Elements: 10, MaxTier: 5}
	p := readPass(25, 25, "", 0)
	p.URL = ""
	o.build(State{}, p, nil, whole(budget))
	if obs := o.LastKnown(still{}, budget); obs.Continuation != "" || len(obs.Elements) != 10 || !obs.Stale {
		t.Errorf("stale %v, %d elements, continuation %q", obs.Stale, len(obs.Elements), obs.Continuation)
	}
}

// TestASecretIsHiddenBeforeTheTextIsSliced: no slice has a part of it.
func TestASecretIsHiddenBeforeTheTextIsSliced(t *testing.T) {
	t.Parallel()
	o := New(1)
	var told []bool
	o.Hide(func(text string, cut bool) string {
		told = append(told, cut)
		return "the [secret] word"
	})
	s := through(t, o, o.build(State{}, readPass(0, 0, "the hunter2 word", 90), nil, whole(protocol.ObserveBudget{TextChars: 3})))
	if s.text != "the [secret] word" || !cmp.Equal(told, []bool{true}) {
		t.Errorf("text %q, told %v", s.text, told)
	}
}
