package service

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Addresses is a list of ip:port. It trims its items, which envconfig does not:
// an address with a blank before it would be a hole in a deny list.
type Addresses []netip.AddrPort

// UnmarshalText reads a list separated by commas.
func (a *Addresses) UnmarshalText(text []byte) error {
	*a = nil
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		at, err := netip.ParseAddrPort(item)
		if err != nil {
			return fmt.Errorf("%.80q: want ip:port", item)
		}
		*a = append(*a, at)
	}
	return nil
}

// Names is a list in an environment variable.
type Names []string

// UnmarshalText reads a list separated by commas; spaces around a name are not
// part of it.
func (n *Names) UnmarshalText(text []byte) error {
	*n = nil
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item != "" {
			*n = append(*n, item)
		}
	}
	return nil
}

// lookupTimeout bounds finding the addresses of the fleet's own servers.
const lookupTimeout = 10 * time.Second

// fleetListeners are where the fleet's own servers listen. No page may reach
// them, whatever the policy says.
func (c *WorkerConfig) fleetListeners(ctx context.Context) ([]netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var hosts []string
	for one := range strings.SplitSeq(c.NatsURL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("BROWSERFLEET_NATS_URL: want nats://host:port")
		}
		host := u.Host
		if u.Port() == "" {
			host = net.JoinHostPort(u.Hostname(), "4222")
		}
		hosts = append(hosts, host)
	}
	if _, _, err := net.SplitHostPort(c.StoreEndpoint); err == nil {
		hosts = append(hosts, c.StoreEndpoint)
	}
	// The worker's own: a page must neither drain it nor read its figures.
	for _, own := range []string{c.DrainListen, c.MetricsListen} {
		if host, _, err := net.SplitHostPort(own); err == nil && host != "" {
			hosts = append(hosts, own)
		}
	}
	if c.MetricsListen != "" {
		hosts = append(hosts, c.MetricsListen)
	}
	found := append([]netip.AddrPort(nil), c.FleetListeners...)
	for _, hostPort := range hosts {
		at, err := resolve(ctx, hostPort)
		if err != nil {
			return nil, fmt.Errorf("find the fleet's own server %s: %w", hostPort, err)
		}
		found = append(found, at...)
	}
	return found, nil
}

func resolve(ctx context.Context, hostPort string) ([]netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", portText, err)
	}
	if host == "" {
		host = netip.IPv4Unspecified().String() // every address of this machine
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var out []netip.AddrPort
	for _, a := range addrs {
		out = append(out, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	return out, nil
}
