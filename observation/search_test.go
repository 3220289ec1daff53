package observation

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

// TestEveryFindIsCountedOnce: matches hold all finds, each with the text in it, and
// are short however many there are.
func TestEveryFindIsCountedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("aB é")), 1, 3, -1).Draw(t, "word")
		if fold(word) == "" {
			word = "a"
		}
		text := strings.Join(rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("aAbBéÉ \n\u00a0x🦊")), 0, 300, -1)).Draw(t, "text"), "\n")
		search := fold(word)
		matches, total := find(text, search)
		if want := strings.Count(fold(text), search); total != want {
			t.Fatalf("%d finds of %q, want %d", total, search, want)
		}
		told := 0
		for _, m := range matches {
			told += max(m.Count, 1)
			if n := strings.Count(fold(m.Text), search); n < 1 || utf8.RuneCountInString(m.Text) > maxMatch+2*around+4 {
				t.Fatalf("match %q has %d finds of %q", m.Text, n, search)
			}
		}
		if told != total {
			t.Fatalf("%d finds are told, want %d", told, total)
		}
	})
}

func TestFindsAreShownWithWhatIsAround(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("filler ", 40)
	matches, total := find("Total:\n\t12 EUR "+long+"the total, and TOTAL costs", "total")
	if total != 3 || len(matches) != 2 || matches[1].Count != 2 {
		t.Fatalf("%d finds: %+v", total, matches)
	}
	if m := matches[0].Text; !strings.HasPrefix(m, "Total: 12 EUR filler") || !strings.HasSuffix(m, "…") || matches[0].Count != 0 {
		t.Errorf("first match %q", m)
	}
	if m := matches[1].Text; !strings.HasPrefix(m, "…") || !strings.HasSuffix(m, "the total, and TOTAL costs") {
		t.Errorf("second match %q", m)
	}
}

// TestMatchesArePaged: they come in slices like text, and what was not kept is
// counted.
func TestMatchesArePaged(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("needle "+strings.Repeat("x", 200)+" ", 500)
	p := readPass(0, 0, text[:protocol.MaxRetainedChars], 0)
	p.Text, p.TotalText, p.TextCut = text, len(text), false
	q := scope{Query: Query{ObserveBudget: protocol.ObserveBudget{TextChars: 1000}}, search: "needle"}
	q.Args.Search = "Needle"
	o := New(1)
	obs := o.build(State{}, p, nil, q)
	if obs.Text != "" || obs.TextTruncated || *obs.TotalMatches != 500 || obs.Scope.Search != "Needle" {
		t.Fatalf("%+v", obs)
	}
	finds := 0
	for {
		if obs.MatchOffset != finds {
			t.Fatalf("a slice at %d, want %d", obs.MatchOffset, finds)
		}
		size := 0
		for _, m := range obs.Matches {
			finds += max(m.Count, 1)
			size += chars(m.Text)
		}
		if size > 1000 || size == 0 {
			t.Fatalf("a slice of %d characters", size)
		}
		if obs.Continuation == "" {
			break
		}
		next, failed := o.Next(State{}, obs.Continuation)
		if failed != nil {
			t.Fatal(failed)
		}
		obs = next
	}
	if finds+obs.UnkeptMatches != 500 || finds < 100 {
		t.Errorf("%d finds and %d that were not kept, want 500", finds, obs.UnkeptMatches)
	}
}

// TestASearchDoesNotTellASecret: a part of it finds nothing, in texts and in names.
func TestASearchDoesNotTellASecret(t *testing.T) {
	t.Parallel()
	for search, want := range map[string]int{"hunt": 0, "saved": 2, "hunter2": 0} {
		p := readPass(2, 2, "it is hunter2, saved", 20)
		p.Elements[0].Name, p.Elements[1].Name = "hunter2", "saved"
		p.Elements = p.Elements[:2]
		if search != "saved" {
			p.Elements, p.Total = p.Elements[:1], 1
		} else {
			p.Elements, p.Total = p.Elements[1:], 1
		}
		o := New(1)
		o.Hide(func(s string, _ bool) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") })
		q := scope{Query: Query{ObserveBudget: protocol.ObserveBudget{TextChars: 100, Elements: 5, MaxTier: 5}}, search: search}
		q.Args.Search = search
		obs := o.build(State{}, p, nil, q)
		if got := obs.TotalElements + *obs.TotalMatches; got != want || len(obs.Elements)+len(obs.Matches) != want {
			t.Errorf("%q finds %d: %+v", search, got, obs)
		}
	}
}
