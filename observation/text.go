package observation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut shortens s to limit code points. What is not valid UTF-8 (a page can hold
// lone surrogates) becomes the replacement character, so that the cut result is
// always well-formed.
func Cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// clean drops what is no text: control characters, which could drive a terminal,
// and the marks that make text run backwards. Lines and tabs stay.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, s)
}

// chars counts code points.
func chars(s string) int { return utf8.RuneCountInString(s) }
