package weburl

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of DNS (RFC 1035 section 2.3.4), in octets, and of the text that is
// parsed at all: percent-encoding and full-width spelling may multiply a legal
// name's length by nine.
const (
	maxLabel = 63
	maxName  = 253
	maxText  = 9 * maxName
)

// ErrHost is wrapped by every error of ParseHost.
var ErrHost = errors.New("bad host")

// Host is a host in canonical form: a lower-case ASCII name or an address.
// The zero Host is not valid. Hosts compare with ==.
type Host struct {
	text string
	addr netip.Addr
}

// ParseHost reads a host as it may stand in a URL or in a CONNECT authority,
// IPv6 in brackets, without port.
func ParseHost(raw string) (Host, error) {
	if raw == "" {
		return Host{}, fmt.Errorf("%w: empty", ErrHost)
	}
	if len(raw) > maxText {
		return Host{}, fmt.Errorf("%w: %d octets", ErrHost, len(raw))
	}
	text, err := percentDecode(raw)
	if err != nil {
		return Host{}, err
	}
	if strings.HasPrefix(text, "[") {
		return parseBracketed(text)
	}
	if !isASCII(text) {
		if text, err = mapUnicode(text); err != nil {
			return Host{}, err
		}
	}
	return parseASCII(strings.ToLower(text))
}

// FromAddr is the host that a URL with this address names.
func FromAddr(addr netip.Addr) Host {
	addr = addr.WithZone("")
	return Host{text: addrText(addr), addr: addr}
}

// String is the host as Chromium serialises it: IPv6 in brackets and in
// hexadecimal groups throughout, a trailing dot kept.
func (h Host) String() string { return h.text }

// Name is the name without trailing dot, or "" for an address. Policies match
// on it, so that "shop.example." and "shop.example" are one host.
func (h Host) Name() string {
	if h.addr.IsValid() {
		return ""
	}
	return strings.TrimSuffix(h.text, ".")
}

// Addr is the address that the host spells, the zero Addr for a name.
func (h Host) Addr() netip.Addr { return h.addr }

// IsAddr says whether the host is an address literal.
func (h Host) IsAddr() bool { return h.addr.IsValid() }

// IsLocalhost says whether RFC 6761 section 6.3 makes the name loopback:
// localhost and everything below it.
func (h Host) IsLocalhost() bool {
	name := h.Name()
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// parseASCII takes lower-case ASCII after all mappings.
func parseASCII(text string) (Host, error) {
	if i := strings.IndexFunc(text, func(r rune) bool { return !isHostRune(r) }); i >= 0 {
		return Host{}, fmt.Errorf("%w: character %q", ErrHost, text[i])
	}
	if endsInNumber(text) {
		addr, err := parseIPv4(text)
		if err != nil {
			return Host{}, err
		}
		return FromAddr(addr), nil
	}
	if err := checkLabels(strings.TrimSuffix(text, ".")); err != nil {
		return Host{}, err
	}
	return Host{text: text}, nil
}

func checkLabels(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("%w: name of %d octets", ErrHost, len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return fmt.Errorf("%w: label of %d octets", ErrHost, len(label))
		}
	}
	return nil
}

func isHostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_'
}

// lookup is UTS #46 with the flags that Chromium gives to ICU: browsers accept
// hyphens anywhere and underscores, and check lengths only when they resolve.
var lookup = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
	idna.CheckJoiners(true),
	idna.BidiRule(),
	idna.VerifyDNSLength(false),
)

// capitalSharpS maps to sharp s since Unicode 15.1 (Chromium 156), to "ss" in
// the tables of Unicode 15.0 that idna has: two different host names.
var capitalSharpS = strings.NewReplacer("\u1e9e", "\u00df")

// mapUnicode applies UTS #46. The mapping may itself yield a percent sign (from
// its full-width form); Chromium decodes once more then, and so does this.
func mapUnicode(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("%w: not UTF-8", ErrHost)
	}
	if i := strings.IndexFunc(text, hidesDot); i >= 0 {
		return "", fmt.Errorf("%w: a character that contains a dot", ErrHost)
	}
	ascii, err := lookup.ToASCII(capitalSharpS.Replace(text))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrHost, err)
	}
	if !strings.Contains(ascii, "%") {
		return ascii, nil
	}
	if ascii, err = percentDecode(ascii); err != nil {
		return "", err
	}
	if !isASCII(ascii) {
		return "", fmt.Errorf("%w: encoded twice", ErrHost)
	}
	return ascii, nil
}

// hidesDot lists the characters whose compatibility mapping contains a full
// stop without being one of the four label separators of UTS #46. Without STD3
// rules idna maps them to dots; Chromium refuses them.
func hidesDot(r rune) bool {
	switch {
	case r >= 0x2024 && r <= 0x2026, r >= 0x2488 && r <= 0x249B:
		return true
	}
	switch r {
	case 0x33C2, 0x33C7, 0x33D8, 0xFE19, 0xFE30, 0xFE52, 0x1F100:
		return true
	}
	return false
}

func percentDecode(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out = append(out, text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", fmt.Errorf("%w: broken percent-encoding", ErrHost)
		}
		high, low := unhex(text[i+1]), unhex(text[i+2])
		if high < 0 || low < 0 {
			return "", fmt.Errorf("%w: broken percent-encoding", ErrHost)
		}
		out = append(out, byte(high<<4|low))
		i += 2
	}
	return string(out), nil
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
