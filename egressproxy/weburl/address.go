package weburl

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// endsInNumber is the URL standard's "ends in a number" check: the last label,
// after one trailing dot is dropped, is all digits or a hexadecimal number.
// Such a host is an IPv4 address or an error, never a name.
func endsInNumber(text string) bool {
	text = strings.TrimSuffix(text, ".")
	last := text[strings.LastIndexByte(text, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	digits, hex := strings.CutPrefix(last, "0x")
	return hex && strings.Trim(digits, "0123456789abcdef") == ""
}

// parseIPv4 reads one to four numbers; the last one fills the octets that are
// left ("127.1", "2130706433", "0x7f.1").
func parseIPv4(text string) (netip.Addr, error) {
	parts := strings.Split(strings.TrimSuffix(text, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, fmt.Errorf("%w: %d address parts", ErrHost, len(parts))
	}
	var sum uint64
	for i, part := range parts {
		number, err := parseIPv4Number(part)
		if err != nil {
			return netip.Addr{}, err
		}
		limit, shift := uint64(1)<<8, 8*(3-i)
		if i == len(parts)-1 {
			limit, shift = uint64(1)<<(8*(5-len(parts))), 0
		}
		if number >= limit {
			return netip.Addr{}, fmt.Errorf("%w: address part out of range", ErrHost)
		}
		sum |= number << shift
	}
	var octets [4]byte
	binary.BigEndian.PutUint32(octets[:], uint32(sum))
	return netip.AddrFrom4(octets), nil
}

// parseIPv4Number reads C notation; "0x" alone is zero, as in every browser.
func parseIPv4Number(part string) (uint64, error) {
	base := 10
	if digits, ok := strings.CutPrefix(part, "0x"); ok {
		if digits == "" {
			return 0, nil
		}
		part, base = digits, 16
	} else if len(part) > 1 && part[0] == '0' {
		part, base = part[1:], 8
	}
	if part == "" || strings.ContainsAny(part, "+-_") {
		return 0, fmt.Errorf("%w: address part", ErrHost)
	}
	number, err := strconv.ParseUint(part, base, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: address part", ErrHost)
	}
	return number, nil
}

// parseBracketed reads an IPv6 literal. Zone ids are refused, as in browsers.
func parseBracketed(text string) (Host, error) {
	inner, ok := strings.CutSuffix(text[1:], "]")
	if !ok || strings.ContainsAny(inner, "[]%") || !isASCII(inner) {
		return Host{}, fmt.Errorf("%w: address literal", ErrHost)
	}
	inner, err := embedIPv4(strings.ToLower(inner))
	if err != nil {
		return Host{}, err
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return Host{}, fmt.Errorf("%w: address literal", ErrHost)
	}
	return FromAddr(addr), nil
}

// embedIPv4 turns a dotted tail into two groups. Chromium takes the tail's four
// parts in any base (measured: [::ffff:0127.0.0.1] is 87.0.0.1), netip only
// decimal ones.
func embedIPv4(inner string) (string, error) {
	cut := strings.LastIndexByte(inner, ':')
	tail := inner[cut+1:]
	if cut < 0 || !strings.Contains(tail, ".") {
		return inner, nil
	}
	if strings.Count(tail, ".") != 3 || strings.HasSuffix(tail, ".") {
		return "", fmt.Errorf("%w: address literal", ErrHost)
	}
	addr, err := parseIPv4(tail)
	if err != nil {
		return "", err
	}
	o := addr.As4()
	return fmt.Sprintf("%s:%x:%x", inner[:cut], uint16(o[0])<<8|uint16(o[1]), uint16(o[2])<<8|uint16(o[3])), nil
}

func addrText(addr netip.Addr) string {
	if addr.Is4() {
		return addr.String()
	}
	if addr.Is4In6() { // netip writes the dotted form, browsers do not
		b := addr.As16()
		return fmt.Sprintf("[::ffff:%x:%x]", binary.BigEndian.Uint16(b[12:]), binary.BigEndian.Uint16(b[14:]))
	}
	return "[" + addr.String() + "]"
}
