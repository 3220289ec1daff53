package devfleet

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports on 127.0.0.1; 0 is any free one.
type Ports struct{ NATS, Store, Site int }

// DefaultPorts are dev's. NATS has none of its well-known ports, so that a dev
// fleet does not meet a NATS server that is there already.
var DefaultPorts = Ports{NATS: 4322, Store: 4380, Site: 4390}

const loopback = "127.0.0.1"

// Free ports are taken from below the range that kernels give to outgoing
// connections (32768 and up), so that nothing but another fleet takes one between
// its choice and its use.
const (
	freeFrom  = 20000
	freeTo    = 32000
	freeTries = 100
)

// choose finds free ports where none is named, and makes sure that named ones
// are free. A chosen port may still be taken by another fleet before its service
// binds it; that service then fails, and Start chooses again.
func (p Ports) choose() (Ports, error) {
	for _, one := range []struct {
		port *int
		what string
		flag string
	}{{&p.NATS, "NATS", "--nats-port"}, {&p.Store, "the store", "--store-port"}, {&p.Site, "the bundled site", "--site-port"}} {
		l, err := listen(*one.port)
		if err != nil {
			return p, fmt.Errorf("port %d for %s is taken (%w); another fleet may run, or name another port with %s (0: any free one)",
				*one.port, one.what, err, one.flag)
		}
		*one.port = l.Addr().(*net.TCPAddr).Port
		// Held until all are chosen, so that no two get the same.
		defer func() { _ = l.Close() }()
	}
	return p, nil
}

// listen binds the port, or for 0 a free one.
func listen(port int) (l net.Listener, err error) {
	if port != 0 {
		return net.Listen("tcp", address(port))
	}
	for range freeTries {
		if l, err = net.Listen("tcp", address(freeFrom+rand.IntN(freeTo-freeFrom))); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// anyFree reports whether a port is chosen here.
func (p Ports) anyFree() bool { return p.NATS == 0 || p.Store == 0 || p.Site == 0 }

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
