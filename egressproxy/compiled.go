package egressproxy

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// rules is a policy in checked form.
type rules struct {
	mode       Mode
	public     bool
	ports      []uint16
	allowHosts hostSet
	denyHosts  hostSet
	allowCIDRs []netip.Prefix
	denyCIDRs  []netip.Prefix
}

// Compiled is a policy that can be asked. It is immutable and safe for
// concurrent use; the zero value and nil deny everything.
type Compiled struct {
	rules  rules
	fleet  listenerSet
	parent *Compiled // set by Narrow: both must allow
}

// Compile checks a policy and joins it with the fleet's own listeners (NATS, the
// object store, control and debugging ports), which no policy can open. A
// listener on the unspecified address counts for every address of this machine.
func Compile(policy Policy, fleetListeners []netip.AddrPort) (*Compiled, error) {
	parsed, err := parseRules(policy)
	if err != nil {
		return nil, err
	}
	fleet, err := newListenerSet(fleetListeners)
	if err != nil {
		return nil, err
	}
	return &Compiled{rules: parsed, fleet: fleet}, nil
}

// Narrow is a policy under which a destination must pass both c and the other
// one. It is how an agent may restrict itself: by construction it cannot widen.
func (c *Compiled) Narrow(policy Policy) (*Compiled, error) {
	parsed, err := parseRules(policy)
	if err != nil {
		return nil, err
	}
	if c == nil {
		c = &Compiled{} // which denies everything, and so will the result
	}
	return &Compiled{rules: parsed, fleet: c.fleet, parent: c}, nil
}

// Mode is the mode of the policy, of the narrowing one if there is one.
func (c *Compiled) Mode() Mode {
	if c == nil {
		return ""
	}
	return c.rules.mode
}

func parseRules(p Policy) (rules, error) {
	r := rules{mode: Mode(strings.TrimSpace(string(p.Mode))), public: true, ports: p.Ports}
	if r.mode == "" {
		r.mode = ModeStrict
	}
	if !slices.Contains([]Mode{ModeStrict, ModeAllowlist, ModeUnrestricted}, r.mode) {
		return rules{}, &FieldError{Field: "mode", Reason: fmt.Sprintf("%q is not strict, allowlist or unrestricted", p.Mode)}
	}
	if err := checkMode(p, r.mode); err != nil {
		return rules{}, err
	}
	if p.Public != nil {
		r.public = *p.Public
	}
	for i, port := range p.Ports {
		if port == 0 {
			return rules{}, &FieldError{Field: fmt.Sprintf("ports[%d]", i), Reason: "0 is not a port"}
		}
	}
	if len(r.ports) == 0 {
		r.ports = DefaultPorts
	}
	return r, r.parseLists(p)
}

// checkMode refuses fields that the mode would ignore: whoever wrote them
// believes that they do something.
func checkMode(p Policy, mode Mode) error {
	if mode != ModeAllowlist {
		switch {
		case len(p.AllowHosts) > 0:
			return &FieldError{Field: "allow_hosts", Reason: "has no effect in mode " + string(mode)}
		case len(p.AllowCIDRs) > 0:
			return &FieldError{Field: "allow_cidrs", Reason: "has no effect in mode " + string(mode)}
		case p.Public != nil && !*p.Public:
			return &FieldError{Field: "public", Reason: "false needs mode allowlist"}
		}
	}
	if mode == ModeUnrestricted && len(p.Ports) > 0 {
		return &FieldError{Field: "ports", Reason: "has no effect in mode unrestricted"}
	}
	return nil
}

func (r *rules) parseLists(p Policy) (err error) {
	if r.allowHosts, err = parseHostSet("allow_hosts", p.AllowHosts); err != nil {
		return err
	}
	if r.allowCIDRs, err = parseCIDRs("allow_cidrs", p.AllowCIDRs); err != nil {
		return err
	}
	if r.denyHosts, err = parseHostSet("deny_hosts", p.DenyHosts); err != nil {
		return err
	}
	r.denyCIDRs, err = parseCIDRs("deny_cidrs", p.DenyCIDRs)
	return err
}

// parseCIDRs refuses a bare address and bits beyond the prefix: both are slips
// whose reader and writer may understand different sets.
func parseCIDRs(field string, items []string) ([]netip.Prefix, error) {
	list := make([]netip.Prefix, 0, len(items))
	for i, item := range items {
		name := fmt.Sprintf("%s[%d]", field, i)
		prefix, err := netip.ParsePrefix(strings.TrimSpace(item))
		switch {
		case err != nil:
			return nil, &FieldError{Field: name, Reason: "not a CIDR prefix such as 10.0.0.0/8"}
		case prefix.Addr().Is4In6():
			return nil, &FieldError{Field: name, Reason: "write an IPv4-mapped prefix as the IPv4 one"}
		case prefix.Masked() != prefix:
			return nil, &FieldError{Field: name, Reason: "bits after the prefix: write " + prefix.Masked().String()}
		}
		list = append(list, prefix)
	}
	return list, nil
}

// listenerSet holds the fleet's own listeners.
type listenerSet struct {
	exact    map[netip.AddrPort]struct{}
	wildcard []uint16 // ports bound on every address
	local    map[netip.Addr]struct{}
}

func newListenerSet(listeners []netip.AddrPort) (listenerSet, error) {
	set := listenerSet{exact: map[netip.AddrPort]struct{}{}}
	for _, listener := range listeners {
		addr := plain(listener.Addr())
		if !listener.IsValid() || listener.Port() == 0 {
			return listenerSet{}, &FieldError{Field: "fleet listeners", Reason: fmt.Sprintf("%q has no address or no port", listener)}
		}
		if addr.IsUnspecified() {
			set.wildcard = append(set.wildcard, listener.Port())
			continue
		}
		set.exact[netip.AddrPortFrom(addr, listener.Port())] = struct{}{}
	}
	if len(set.wildcard) == 0 {
		return set, nil
	}
	local, err := localAddrs()
	set.local = local
	return set, err
}

// localAddrs are the addresses of this machine's interfaces, through which a
// wildcard listener can be reached by the machine's own host name.
func localAddrs() (map[netip.Addr]struct{}, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("egress policy: addresses of this machine: %w", err)
	}
	set := make(map[netip.Addr]struct{}, len(addrs))
	for _, addr := range addrs {
		if prefix, err := netip.ParsePrefix(addr.String()); err == nil {
			set[plain(prefix.Addr())] = struct{}{}
		}
	}
	return set, nil
}

// has takes an address as reached gives it.
func (s listenerSet) has(addr netip.Addr, port uint16) bool {
	if _, found := s.exact[netip.AddrPortFrom(addr, port)]; found {
		return true
	}
	if !slices.Contains(s.wildcard, port) {
		return false
	}
	_, local := s.local[addr]
	return local || addr.IsLoopback()
}
