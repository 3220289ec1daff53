package egressproxy

import (
	"net/netip"
	"slices"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// SchemeConnect stands for a CONNECT tunnel: the proxy does not see whether TLS
// or a WebSocket runs inside.
const SchemeConnect = "connect"

// Decide judges one destination. It is pure: no clock, no resolver, no lock.
//
// host is a name or an address in any spelling, IPv6 in brackets; addrs are all
// answers of one resolution of it (none for an address literal, which is its own
// answer). Every address must pass. The caller may connect to those only.
func (c *Compiled) Decide(scheme, host string, port uint16, addrs []netip.Addr) Decision {
	parsed, err := weburl.ParseHost(host)
	if err != nil {
		return deny(ReasonBadURL)
	}
	return c.decideHost(scheme, parsed, port, addrs)
}

func (c *Compiled) decideHost(scheme string, host weburl.Host, port uint16, addrs []netip.Addr) Decision {
	if d := c.checkName(scheme, host, port); !d.Allow {
		return d
	}
	if host.IsAddr() {
		addrs = append(slices.Clip(addrs), host.Addr())
	}
	return c.decideAddrs(host, port, addrs)
}

// checkName holds what no mode lifts and needs no address.
func (c *Compiled) checkName(scheme string, host weburl.Host, port uint16) Decision {
	switch {
	case c == nil || c.rules.mode == "":
		return deny(ReasonNotListed)
	case scheme != SchemeConnect && weburl.DefaultPort(scheme) == 0:
		return deny(ReasonScheme)
	case port == 0:
		return deny(ReasonPort)
	case isMetadataName(host.Name()):
		return deny(ReasonMetadata)
	case c.rules.denyHosts.denies(host, port):
		return deny(ReasonDenyHost)
	case c.parent != nil:
		return c.parent.checkName(scheme, host, port)
	}
	return allow(ReasonUnrestricted)
}

// precheck says what is already certain before a name is resolved. Its denials
// are final, though with the addresses known a stronger reason might come first.
func (c *Compiled) precheck(scheme string, host weburl.Host, port uint16) Decision {
	d := c.checkName(scheme, host, port)
	for ; d.Allow && c != nil; c = c.parent {
		d = c.rules.precheck(host, port)
	}
	return d
}

// precheck is the ports rule, and public=false for names that no entry covers
// and whose addresses no allow_cidrs could admit.
func (r *rules) precheck(host weburl.Host, port uint16) Decision {
	listed := slices.Contains(r.ports, port)
	switch {
	case r.mode == ModeUnrestricted:
		return allow(ReasonUnrestricted)
	case r.allowHosts.allows(host, port, listed):
		return allow(ReasonAllowHost)
	case !listed:
		return deny(ReasonPort)
	case !r.public && len(r.allowCIDRs) == 0 && !host.IsAddr():
		return deny(ReasonNotListed)
	}
	return allow(ReasonPublic)
}

func (c *Compiled) decideAddrs(host weburl.Host, port uint16, addrs []netip.Addr) Decision {
	if len(addrs) == 0 {
		return deny(ReasonNoAddress)
	}
	for _, addr := range addrs {
		if reason := c.hardDenial(addr, port); reason != "" {
			return deny(reason)
		}
	}
	if c.parent != nil {
		if d := c.parent.decideAddrs(host, port, addrs); !d.Allow {
			return d
		}
	}
	return c.rules.decideAddrs(host, port, addrs)
}

// hardDenial holds what no mode and no entry lifts, for the address itself and
// for the IPv4 address that a translator or tunnel would reach through it.
func (c *Compiled) hardDenial(addr netip.Addr, port uint16) Reason {
	if addr.Zone() != "" {
		return ReasonZoneID
	}
	if !addr.IsValid() {
		return ReasonNoAddress
	}
	if reason := c.denial(addr, port); reason != "" {
		return reason
	}
	for _, inner := range embedded(plain(addr)) {
		if reason := c.denial(inner, port); reason != "" {
			return reason
		}
	}
	return ""
}

func (c *Compiled) denial(addr netip.Addr, port uint16) Reason {
	target := reached(addr)
	switch {
	case isMetadataAddr(target):
		return ReasonMetadata
	case c.fleet.has(target, port):
		return ReasonFleet
	case contains(c.rules.denyCIDRs, target), contains(c.rules.denyCIDRs, plain(addr)):
		return ReasonDenyCIDR
	}
	return ""
}

func (r *rules) decideAddrs(host weburl.Host, port uint16, addrs []netip.Addr) Decision {
	listed := slices.Contains(r.ports, port)
	if r.mode == ModeUnrestricted {
		return allow(ReasonUnrestricted)
	}
	if r.allowHosts.allows(host, port, listed) {
		return allow(ReasonAllowHost)
	}
	if !listed {
		return deny(ReasonPort)
	}
	granted := allow(ReasonPublic)
	for _, addr := range addrs {
		d := r.judge(plain(addr))
		if !d.Allow {
			return d
		}
		if d.Reason == ReasonAllowCIDR {
			granted = d
		}
	}
	return granted
}

// judge is the address rule of strict and allowlist. A prefix that lifts a
// translation or tunnel class does not lift the class of the IPv4 address in it:
// 64:ff9b::/96 opens the internet behind a NAT64, not the private network.
func (r *rules) judge(addr netip.Addr) Decision {
	class := classify(addr)
	if !contains(r.allowCIDRs, addr) {
		switch {
		case class != "":
			return deny(class)
		case !r.public:
			return deny(ReasonNotListed)
		}
		return allow(ReasonPublic)
	}
	if class == ReasonNAT64 || class == Reason6to4 || class == ReasonIPv4Compatible {
		for _, inner := range embedded(addr)[:1] {
			if d := r.judgeEmbedded(inner); !d.Allow {
				return d
			}
		}
	}
	return allow(ReasonAllowCIDR)
}

func (r *rules) judgeEmbedded(addr netip.Addr) Decision {
	if class := classify(addr); class != "" && !contains(r.allowCIDRs, addr) {
		return deny(class)
	}
	return allow(ReasonAllowCIDR)
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
