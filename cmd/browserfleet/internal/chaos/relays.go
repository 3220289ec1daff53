package chaos

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/browserfleet/browserfleet/internal/relay"
)

// relays is a network where namespaces cannot be made: everything is on
// loopback, and each host reaches each other one through relays.
type relays struct {
	listeners map[place]string
	links     map[link]*relay.Relay
}

// place is a service of a host.
type place struct {
	host string
	port port
}

// link is how one host reaches a service of another.
type link struct {
	from string
	to   place
}

func newRelays() *relays {
	return &relays{listeners: map[place]string{}, links: map[link]*relay.Relay{}}
}

// Listeners are below the range that kernels give to outgoing connections, so
// that nothing takes a port between its choice and its use.
const (
	freeFrom, freeTo = 20000, 32000
	freeTries        = 100
)

func (n *relays) listen(host string, p port) (string, error) {
	at := place{host, p}
	if n.listeners[at] != "" {
		return n.listeners[at], nil
	}
	for range freeTries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(freeFrom+rand.IntN(freeTo-freeFrom)))
		l, err := net.Listen("tcp", address)
		if err == nil {
			n.listeners[at] = address
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("no free port for %s on %s", p, host)
}

func (n *relays) reach(from, to string, p port) (string, error) {
	target, err := n.listen(to, p)
	if err != nil || from == to {
		return target, err
	}
	via := link{from, place{to, p}}
	if n.links[via] == nil {
		r, err := relay.Start("127.0.0.1:0", target)
		if err != nil {
			return "", err
		}
		n.links[via] = r
	}
	return n.links[via].Addr(), nil
}

func (n *relays) command(_ string, program []string) []string { return program }

func (n *relays) cut(host string, on bool) error {
	for l, r := range n.links {
		if l.from == host || l.to.host == host {
			r.Hold(on)
		}
	}
	return nil
}

func (n *relays) part(a, b string, on bool) error {
	for l, r := range n.links {
		if (l.from == a && l.to.host == b) || (l.from == b && l.to.host == a) {
			r.Hold(on)
		}
	}
	return nil
}

func (n *relays) slow(host string, on bool) error {
	for l, r := range n.links {
		if l.from == host {
			r.Slow(on)
		}
	}
	return nil
}

func (n *relays) close() error {
	for _, r := range n.links {
		r.Close()
	}
	return nil
}
