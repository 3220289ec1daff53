package checkpoints

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a JavaScript string. Pages keep binary data in web storage as
// strings with unpaired surrogates (lz-string's compress does), which Go's JSON
// would replace; Text keeps them, in the generalised UTF-8 called WTF-8, and
// writes them as \ud800 escapes in JSON. Every other string is plain UTF-8.
type Text string

const lowerHex = "0123456789abcdef"

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, len(t)+2)
	out = append(out, '"')
	for i := 0; i < len(t); {
		if s, ok := surrogateAt(string(t[i:])); ok {
			out = append(out, '\\', 'u', lowerHex[s>>12&15], lowerHex[s>>8&15], lowerHex[s>>4&15], lowerHex[s&15])
			i += 3
			continue
		}
		r, n := utf8.DecodeRuneInString(string(t[i:]))
		i += n
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < 0x20:
			out = append(out, '\\', 'u', '0', '0', lowerHex[r>>4], lowerHex[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"'), nil
}

// surrogateAt decodes the three bytes that WTF-8 gives to a lone surrogate.
func surrogateAt(s string) (uint16, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2] < 0x80 || s[2] > 0xbf {
		return 0, false
	}
	return 0xd000 | uint16(s[1]&0x3f)<<6 | uint16(s[2]&0x3f), true
}

var errText = errors.New("not a JSON string")

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return errText
	}
	b = b[1 : len(b)-1]
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] != '\\' {
			r, n := utf8.DecodeRune(b[i:])
			out = utf8.AppendRune(out, r) // invalid UTF-8 becomes U+FFFD, as elsewhere
			i += n
			continue
		}
		var n int
		if out, n = unescape(out, b[i:]); n == 0 {
			return errText
		}
		i += n
	}
	*t = Text(out)
	return nil
}

// unescape appends what the escape at the start of b stands for and says how
// long the escape is (0: it is none).
func unescape(out, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return out, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return append(out, b[1]), 2
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	}
	unit, ok := hexUnit(b)
	if !ok {
		return out, 0
	}
	if !utf16.IsSurrogate(rune(unit)) {
		return utf8.AppendRune(out, rune(unit)), 6
	}
	if low, ok := hexUnit(b[6:]); ok {
		if r := utf16.DecodeRune(rune(unit), rune(low)); r != utf8.RuneError {
			return utf8.AppendRune(out, r), 12
		}
	}
	return append(out, 0xe0|byte(unit>>12), 0x80|byte(unit>>6&0x3f), 0x80|byte(unit&0x3f)), 6
}

// hexUnit reads \uXXXX.
func hexUnit(b []byte) (uint16, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return uint16(v), err == nil
}
