package egressproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// Resolver is the part of net.Resolver that the proxy asks, once a request.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// systemResolver reads the hosts file and asks the configured servers, without
// the C library, whose lookups cannot be cancelled.
var systemResolver Resolver = &net.Resolver{PreferGo: true}

// loopbackAddrs is what RFC 6761 section 6.3 makes of localhost. Browsers know
// it by themselves, Go's resolver does not; here the name never reaches a server.
var loopbackAddrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// resolve gives every address of a host, without duplicates, IPv4-mapped ones as
// IPv4. A name of several labels is asked as a full name, so that no search list
// turns shop.example into shop.example.cluster.local.
func (p *Proxy) resolve(ctx context.Context, host weburl.Host) ([]netip.Addr, error) {
	if host.IsAddr() {
		return []netip.Addr{plain(host.Addr())}, nil
	}
	if host.IsLocalhost() {
		return loopbackAddrs, nil
	}
	name := host.Name()
	if strings.Contains(name, ".") {
		name += "."
	}
	ctx, cancel := context.WithTimeout(ctx, p.limits.DNSTimeout)
	defer cancel()
	answers, err := p.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, fmt.Errorf("resolve: %w", err)
	}
	if len(answers) == 0 {
		return nil, errors.New("resolve: no address")
	}
	addrs := make([]netip.Addr, 0, len(answers))
	for _, addr := range answers {
		if addr = addr.Unmap(); !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}
