package egressproxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// tunnel is one open way to a server: a CONNECT tunnel or a request that is
// being forwarded.
type tunnel struct {
	proxy    *Proxy
	target   destination
	addr     netip.Addr // the checked address behind server
	client   net.Conn
	server   net.Conn
	done     chan struct{} // closed by close
	once     sync.Once
	lastByte atomic.Int64 // unix nanoseconds, either direction
}

// open judges, resolves once, judges the answers, dials one of them and
// registers the result. Exactly one of its results is set.
func (p *Proxy) open(ctx context.Context, client net.Conn, target destination) (*tunnel, *refusal) {
	if p.gate.isShut() {
		return nil, p.refused(target, 503, ReasonSuspended)
	}
	policy := p.currentPolicy()
	if !target.host.IsAddr() && !target.host.IsLocalhost() { // they are judged below, at no cost
		if d := policy.precheck(target.scheme, target.host, target.port); !d.Allow {
			return nil, p.refused(target, 403, d.Reason)
		}
	}
	addrs, err := p.resolve(ctx, target.host)
	if err != nil {
		return nil, p.failed(target, ReasonDNSFailed, err)
	}
	if d := p.judge(policy, target, addrs); !d.Allow {
		return nil, p.refused(target, 403, d.Reason)
	}
	if p.gate.isShut() {
		return nil, p.refused(target, 503, ReasonSuspended)
	}
	if ctx.Err() != nil {
		return nil, p.failed(target, ReasonDialFailed, context.Cause(ctx))
	}
	server, addr, err := p.dial(ctx, addrs, target.port)
	if err != nil {
		return nil, p.failed(target, ReasonDialFailed, err)
	}
	t := &tunnel{proxy: p, target: target, addr: addr, client: client, server: server, done: make(chan struct{})}
	t.touch()
	return p.register(t, policy)
}

// register makes the tunnel known to SetPolicy and Close. A policy that was set
// while it was being opened is asked here, under the lock that SetPolicy takes.
func (p *Proxy) register(t *tunnel, judgedBy *Compiled) (*tunnel, *refusal) {
	p.mu.Lock()
	current, closed := p.policy, p.closed
	verdict := allow(ReasonPublic)
	if current != judgedBy {
		verdict = p.judge(current, t.target, []netip.Addr{t.addr})
	}
	if verdict.Allow && !closed {
		p.tunnels[t] = struct{}{}
	}
	p.mu.Unlock()
	switch {
	case closed:
		t.end()
		return nil, p.failed(t.target, ReasonDialFailed, errClosed)
	case !verdict.Allow:
		t.end()
		return nil, p.refused(t.target, 403, verdict.Reason)
	}
	p.counters.allowed.Add(1)
	return t, nil
}

func (p *Proxy) refused(target destination, status int, reason Reason) *refusal {
	p.deny(target.host, target.port, reason)
	return &refusal{status: status, reason: reason}
}

func (p *Proxy) failed(target destination, reason Reason, err error) *refusal {
	p.counters.failed.Add(1)
	p.denials.add(target.host.String(), target.port, reason)
	p.logger.Debug("egress failed", "host", target.host.String(), "port", target.port, "reason", string(reason), "error", err)
	return &refusal{status: 502, reason: reason}
}

func (p *Proxy) serveConnect(ctx context.Context, cancel context.CancelCauseFunc, client net.Conn, reader *bufio.Reader, target destination) {
	stop := p.runWatch(client, reader, cancel)
	t, answer := p.open(ctx, client, target)
	stop()
	_ = client.SetWriteDeadline(time.Now().Add(refusalTime))
	if answer != nil {
		refuse(client, *answer, false)
		linger(client)
		return
	}
	defer t.close()
	if !p.gate.pass(t.done) {
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	early := make([]byte, reader.Buffered())
	_, _ = io.ReadFull(reader, early)
	t.runBoth(early)
}

// runBoth copies until both directions have ended; early are the client's octets
// that were read together with the request.
func (t *tunnel) runBoth(early []byte) {
	up := make(chan struct{})
	t.proxy.goroutines.Go(func() {
		defer close(up)
		if t.write(t.server, early, &t.proxy.counters.up) {
			t.copy(t.server, t.client, &t.proxy.counters.up)
		}
	})
	t.copy(t.client, t.server, &t.proxy.counters.down)
	<-up
}

// revoke closes the tunnel because a new policy refuses it.
func (t *tunnel) revoke(reason Reason) {
	t.close()
	t.proxy.logger.Info("egress closed by a new policy", "host", t.target.host.String(), "port", t.target.port, "reason", string(reason))
	t.proxy.denials.add(t.target.host.String(), t.target.port, ReasonRevalidated)
}

// end forgets a tunnel whose client connection lives on.
func (t *tunnel) end() {
	t.once.Do(func() { close(t.done) })
	_ = t.server.Close()
	t.proxy.mu.Lock()
	delete(t.proxy.tunnels, t)
	t.proxy.mu.Unlock()
}

// close ends both connections and wakes everything that waits on them.
func (t *tunnel) close() {
	t.end()
	_ = t.client.Close()
}

func (t *tunnel) touch() { t.lastByte.Store(time.Now().UnixNano()) }
