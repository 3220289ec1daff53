package compact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is s on one line, without anything that a terminal obeys, at most n
// characters.
func Line(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(clean(s, false), func(r rune) bool { return r == ' ' }), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// Text is s with its lines, without anything that a terminal obeys.
func Text(s string) string { return clean(s, true) }

func clean(s string, lines bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == 0x2028 || r == 0x2029:
			if lines {
				return '\n'
			}
			return ' '
		case r == '\t' || (r != ' ' && unicode.IsSpace(r)):
			return ' '
		case obeyed(r) || Invisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// obeyed are C0 and C1 controls and DEL: ESC and CSI begin commands.
func obeyed(r rune) bool { return r < 0x20 || (r >= 0x7f && r <= 0x9f) }

// Invisible characters change how other text reads.
func Invisible(r rune) bool {
	switch {
	case r >= 0x200b && r <= 0x200f, // zero width, directional marks
		r >= 0x202a && r <= 0x202e, // directional embeddings and overrides
		r >= 0x2060 && r <= 0x206f, // word joiner, isolates
		r == 0xfeff, r == 0x00ad, r == 0x061c,
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // fillers of Hangul
		r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, // variation selectors: they can spell hidden text
		r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}
