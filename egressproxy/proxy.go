package egressproxy

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// PrimeURL is answered by the proxy itself, 200 and empty, once the credentials
// are right. Chromium does not answer the challenge to a first WebSocket
// connection, so a page opens this address before anything else and the browser
// context then sends the credentials by itself (measured on Chromium 156: one
// challenge a context, cached for http and WebSocket).
const PrimeURL = "http://" + primeHost + "/prime"

const primeHost = "browserfleet.invalid"

// Options configure one environment's proxy. Policy may be nil: everything is
// denied then, until SetPolicy.
type Options struct {
	Policy    *Compiled
	Resolver  Resolver     // nil: the system's
	Dialer    Dialer       // nil: TCP
	Listeners *Listeners   // the worker's proxies; nil: only this one is known
	Logger    *slog.Logger // nil: none. It gets host, port and reason, never paths or headers
	Limits    Limits
}

// Proxy is one environment's way out. All methods are safe for concurrent use.
type Proxy struct {
	listener    net.Listener
	addr        netip.AddrPort
	credentials credentials
	resolver    Resolver
	dialer      Dialer
	neighbours  *Listeners
	logger      *slog.Logger
	limits      Limits

	stop       context.CancelCauseFunc // ends the parent of every request
	goroutines sync.WaitGroup
	gate       gate
	denials    denialLog
	counters   counters

	mu      sync.Mutex // protects the fields below
	closed  bool
	policy  *Compiled
	clients map[net.Conn]struct{}
	tunnels map[*tunnel]struct{}
}

// counters are totals since Listen.
type counters struct {
	requests, allowed, failed atomic.Uint64
	up, down                  atomic.Uint64 // forwarded octets, client to server and back
}

// Stats are totals since Listen, and what is open now.
type Stats struct {
	Connections int // client connections
	Tunnels     int // CONNECT tunnels and requests being forwarded
	Requests    uint64
	Allowed     uint64
	Failed      uint64            // allowed, but not resolved, reached or understood
	Denied      map[Reason]uint64 // by reason, failures and refusals of the proxy included
	BytesUp     uint64
	BytesDown   uint64
}

// Listen opens a proxy on a free port of 127.0.0.1. ctx bounds the call and gives
// values to the requests; only Close ends the proxy.
func Listen(ctx context.Context, options Options) (*Proxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("egress proxy: %w", err)
	}
	p := &Proxy{
		listener:    listener,
		addr:        listener.Addr().(*net.TCPAddr).AddrPort(),
		credentials: newCredentials(),
		resolver:    options.Resolver,
		dialer:      options.Dialer,
		neighbours:  options.Listeners,
		logger:      options.Logger,
		limits:      options.Limits.withDefaults(),
		policy:      options.Policy,
		clients:     map[net.Conn]struct{}{},
		tunnels:     map[*tunnel]struct{}{},
	}
	if p.resolver == nil {
		p.resolver = systemResolver
	}
	if p.dialer == nil {
		p.dialer = dialTCP
	}
	if p.neighbours == nil {
		p.neighbours = &Listeners{}
	}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	life, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	p.stop = stop
	p.neighbours.add(p.addr)
	p.runAccept(life)
	return p, nil
}

// Addr is the listener as "127.0.0.1:PORT".
func (p *Proxy) Addr() string { return p.addr.String() }

// Credentials are what the browser answers the proxy's challenge with.
func (p *Proxy) Credentials() (user, password string) {
	return p.credentials.user, p.credentials.password.reveal()
}

// SetPolicy replaces the policy and closes what the new one no longer allows.
// nil denies everything.
func (p *Proxy) SetPolicy(policy *Compiled) {
	p.mu.Lock()
	p.policy = policy
	revoked := map[*tunnel]Reason{}
	for t := range p.tunnels {
		if d := p.judge(policy, t.target, []netip.Addr{t.addr}); !d.Allow {
			revoked[t] = d.Reason
		}
	}
	p.mu.Unlock()
	for t, reason := range revoked {
		t.revoke(reason)
	}
}

// Suspend refuses every new request and lets no forwarded octet through. Open
// connections stay. It does not wait: an octet that the kernel has taken is out.
func (p *Proxy) Suspend() { p.gate.close() }

// SetLive has live asked before each write of forwarded octets and for each new
// request: while it is false, they fare as under Suspend. It must not wait. nil is
// always true.
func (p *Proxy) SetLive(live func() bool) { p.gate.ask(live) }

// Resume undoes Suspend; what tunnels had read goes on its way.
func (p *Proxy) Resume() { p.gate.reopen() }

// CloseTunnels ends every tunnel and every request that is being forwarded.
func (p *Proxy) CloseTunnels() {
	p.mu.Lock()
	open := make([]*tunnel, 0, len(p.tunnels))
	for t := range p.tunnels {
		open = append(open, t)
	}
	p.mu.Unlock()
	for _, t := range open {
		t.close()
	}
}

// Denials reports what was refused since a mark: 0 at first, then Next of the
// report before.
func (p *Proxy) Denials(since uint64) DenialReport { return p.denials.since(since) }

// DenialMark is the mark from which Denials reports only what happens later.
func (p *Proxy) DenialMark() uint64 { return p.denials.since(^uint64(0)).Next }

// Stats are the totals for metrics.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	connections, tunnels := len(p.clients), len(p.tunnels)
	p.mu.Unlock()
	return Stats{
		Connections: connections,
		Tunnels:     tunnels,
		Requests:    p.counters.requests.Load(),
		Allowed:     p.counters.allowed.Load(),
		Failed:      p.counters.failed.Load(),
		Denied:      p.denials.counts(),
		BytesUp:     p.counters.up.Load(),
		BytesDown:   p.counters.down.Load(),
	}
}

// Close ends the listener and every connection and waits for all goroutines. A
// resolver's answer that comes later opens nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	clients := make([]net.Conn, 0, len(p.clients))
	for client := range p.clients {
		clients = append(clients, client)
	}
	p.mu.Unlock()
	p.stop(errClosed)
	err := p.listener.Close()
	for _, client := range clients {
		_ = client.Close()
	}
	p.CloseTunnels()
	p.goroutines.Wait()
	p.neighbours.remove(p.addr)
	return ignoreClosed(err)
}

// judge asks the policy, after the proxy's own rule that it never connects to
// itself or to another environment's proxy, in whatever disguise.
func (p *Proxy) judge(policy *Compiled, target destination, addrs []netip.Addr) Decision {
	for _, addr := range addrs {
		if reason := p.ownListener(addr, target.port); reason != "" {
			return deny(reason)
		}
		for _, inner := range embedded(plain(addr)) {
			if reason := p.ownListener(inner, target.port); reason != "" {
				return deny(reason)
			}
		}
	}
	return policy.decideHost(target.scheme, target.host, target.port, addrs)
}

func (p *Proxy) ownListener(addr netip.Addr, port uint16) Reason {
	listener := netip.AddrPortFrom(reached(addr), port)
	switch {
	case listener == p.addr:
		return ReasonSelf
	case p.neighbours.has(listener):
		return ReasonFleet
	}
	return ""
}

// deny counts, logs and keeps a refusal.
func (p *Proxy) deny(host weburl.Host, port uint16, reason Reason) {
	p.denials.add(host.String(), port, reason)
	p.logger.Info("egress denied", "host", host.String(), "port", port, "reason", string(reason))
}

func (p *Proxy) currentPolicy() *Compiled {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.policy
}
