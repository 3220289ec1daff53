package observation

import (
	"slices"
	"strings"
	"unicode"

	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// around is how much is shown on each side of a find, in code points.
	around = 80
	// maxMatch is the most that one match shows; finds in it are counted.
	maxMatch = 400
)

// find finds a folded text, with what is around it. Finds that are near each other
// are one match. total is how many finds there are.
func find(text, search string) (matches []protocol.Match, total int) {
	shown := []rune(blanks(text))
	folded := make([]rune, len(shown))
	for i, r := range shown {
		folded[i] = unicode.ToLower(r)
	}
	want := []rune(search)
	end, kept := 0, 0 // of the newest match; characters that are kept
	for at := index(folded, want, 0); at >= 0; at = index(folded, want, at+len(want)) {
		total++
		first, last := max(at-around, 0), min(at+len(want)+around, len(shown))
		if n := len(matches); n > 0 && at+len(want) <= end {
			matches[n-1].Count = max(matches[n-1].Count, 1) + 1
			continue
		}
		if kept > protocol.MaxRetainedChars {
			continue
		}
		first = min(max(first, end), at)
		for next := index(folded, want, at+len(want)); next >= 0 && next <= last && next+len(want)+around-first <= maxMatch; next = index(folded, want, next+len(want)) {
			last = min(next+len(want)+around, len(shown))
		}
		matches = append(matches, protocol.Match{Text: quoted(shown, first, last)})
		end, kept = last, kept+last-first
	}
	return matches, total
}

// fold makes case and blanks alike.
func fold(s string) string { return strings.Map(unicode.ToLower, blanks(s)) }

// quoted is a part of a text, with marks where it was cut.
func quoted(text []rune, first, last int) string {
	s := strings.TrimSpace(string(text[first:last]))
	if first > 0 {
		s = "…" + s
	}
	if last < len(text) {
		s += "…"
	}
	return s
}

// index is where want begins in text, from a place on, or -1.
func index(text, want []rune, from int) int {
	for i := from; i+len(want) <= len(text); i++ {
		if text[i] == want[0] && slices.Equal(text[i:i+len(want)], want) {
			return i
		}
	}
	return -1
}

// reveal drops elements that were found by a part of a secret in their names: that
// they were found would tell it.
func (p *pass) reveal(search string, hide func(string, bool) string) {
	if hide == nil || search == "" {
		return
	}
	before := len(p.Elements)
	p.Elements = slices.DeleteFunc(p.Elements, func(e passElement) bool {
		return !strings.Contains(fold(hide(e.Name, false)), search) && hide(e.Name, false) != e.Name
	})
	p.Total -= before - len(p.Elements)
}
