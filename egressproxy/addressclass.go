package egressproxy

import (
	"encoding/binary"
	"net/netip"
)

// addressClass is one block that is not public unicast.
type addressClass struct {
	prefix netip.Prefix
	reason Reason
}

// The blocks of the IANA IPv4 and IPv6 Special-Purpose Address Registries, both
// as updated on 2025-10-09
// (https://www.iana.org/assignments/iana-ipv4-special-registry,
// https://www.iana.org/assignments/iana-ipv6-special-registry), plus multicast
// (RFC 5771, RFC 4291) and the deprecated site-local block (RFC 3879). A block
// that the registry calls globally reachable but that never serves web pages
// (AS112, AMT, 6to4 relays, PCP anycast) is refused too. First match wins, so
// narrow blocks stand before the wide ones that hold them.
var ipv4Classes = classes(
	"0.0.0.0/32", ReasonUnspecified,
	"0.0.0.0/8", ReasonReserved, // this network
	"10.0.0.0/8", ReasonPrivate,
	"100.64.0.0/10", ReasonCGNAT,
	"127.0.0.0/8", ReasonLoopback,
	"169.254.0.0/16", ReasonLinkLocal,
	"172.16.0.0/12", ReasonPrivate,
	"192.0.0.0/24", ReasonReserved, // IETF protocol assignments
	"192.0.2.0/24", ReasonDocumentation,
	"192.31.196.0/24", ReasonReserved, // AS112
	"192.52.193.0/24", ReasonReserved, // AMT
	"192.88.99.0/24", Reason6to4, // relay anycast
	"192.168.0.0/16", ReasonPrivate,
	"192.175.48.0/24", ReasonReserved, // AS112
	"198.18.0.0/15", ReasonBenchmarking,
	"198.51.100.0/24", ReasonDocumentation,
	"203.0.113.0/24", ReasonDocumentation,
	"224.0.0.0/4", ReasonMulticast,
	"240.0.0.0/4", ReasonReserved, // with limited broadcast
)

// ipv6Classes ends with everything outside 2000::/3, the only block from which
// global unicast addresses are given out (RFC 4291 section 4 and IANA).
var ipv6Classes = classes(
	"::/128", ReasonUnspecified,
	"::1/128", ReasonLoopback,
	"::/96", ReasonIPv4Compatible,
	"64:ff9b::/96", ReasonNAT64,
	"64:ff9b:1::/48", ReasonNAT64, // local use, RFC 8215
	"100::/64", ReasonReserved, // discard only
	"100:0:0:1::/64", ReasonReserved, // dummy prefix
	"2001::/32", ReasonTeredo,
	"2001:2::/48", ReasonBenchmarking,
	"2001::/23", ReasonReserved, // IETF protocol assignments: ORCHID, AMT, drone ids
	"2001:db8::/32", ReasonDocumentation,
	"2002::/16", Reason6to4,
	"2620:4f:8000::/48", ReasonReserved, // AS112
	"3fff::/20", ReasonDocumentation,
	"5f00::/16", ReasonReserved, // SRv6 segment ids
	"fc00::/7", ReasonUniqueLocal,
	"fe80::/10", ReasonLinkLocal,
	"fec0::/10", ReasonPrivate, // site-local
	"ff00::/8", ReasonMulticast,
	"::/3", ReasonReserved,
	"4000::/2", ReasonReserved,
	"8000::/1", ReasonReserved,
)

// classes pairs a prefix with the reason that follows it.
func classes(pairs ...any) []addressClass {
	list := make([]addressClass, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, addressClass{netip.MustParsePrefix(pairs[i].(string)), pairs[i+1].(Reason)})
	}
	return list
}

// classify names the class of an address, "" for public unicast. The address
// has no zone and is not IPv4-mapped: see plain.
func classify(addr netip.Addr) Reason {
	list := ipv6Classes
	if addr.Is4() {
		list = ipv4Classes
	}
	for _, class := range list {
		if class.prefix.Contains(addr) {
			return class.reason
		}
	}
	if isISATAP(addr) {
		return ReasonISATAP
	}
	return ""
}

// plain is the address that a socket would really reach: the kernel takes an
// IPv4-mapped address for the IPv4 one, and the unspecified address for loopback.
func plain(addr netip.Addr) netip.Addr { return addr.WithZone("").Unmap() }

// reached follows plain and replaces the unspecified address by what Linux
// connects to. Deny rules and listeners are compared with it.
func reached(addr netip.Addr) netip.Addr {
	addr = plain(addr)
	if !addr.IsUnspecified() {
		return addr
	}
	if addr.Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

// embedded lists the IPv4 addresses that a translator, tunnel or relay would
// deliver an IPv6 address to. What is denied as IPv4 is denied in these too.
func embedded(addr netip.Addr) []netip.Addr {
	if !addr.Is6() {
		return nil
	}
	b := addr.As16()
	switch classify(addr) {
	case ReasonIPv4Compatible:
		return []netip.Addr{ipv4At(b, 12)}
	case ReasonNAT64:
		if binary.BigEndian.Uint16(b[4:]) == 0 { // 64:ff9b::/96
			return []netip.Addr{ipv4At(b, 12)}
		}
		// RFC 6052 section 2.2: the operator may use /96, or /48 with a zero
		// octet in the middle. Either reading counts.
		return []netip.Addr{ipv4At(b, 12), netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]})}
	case Reason6to4:
		return []netip.Addr{ipv4At(b, 2)}
	case ReasonTeredo: // RFC 4380 section 4: server, and client with all bits inverted
		return []netip.Addr{ipv4At(b, 4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	}
	if isISATAP(addr) || ipv4Translated.Contains(addr) {
		return []netip.Addr{ipv4At(b, 12)}
	}
	return nil
}

// ipv4Translated is the block of stateless translators (RFC 2765); its class is
// reserved.
var ipv4Translated = netip.MustParsePrefix("::ffff:0:0:0/96")

// isISATAP matches the interface identifier of RFC 5214 section 6.1, with the
// universal bit set or not, under any prefix.
func isISATAP(addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	b := addr.As16()
	return binary.BigEndian.Uint32(b[8:])&^0x0200_0000 == 0x0000_5efe
}

func ipv4At(b [16]byte, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{b[i], b[i+1], b[i+2], b[i+3]})
}
