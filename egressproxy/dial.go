package egressproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// attemptDelay is when the next address is tried while one is still pending, and
// maxAttempts how many are tried at all (RFC 8305 sections 5 and 8).
const (
	attemptDelay = 250 * time.Millisecond
	maxAttempts  = 8
)

// Dialer opens a TCP connection to one checked address. It must not resolve, and
// must connect to nothing else.
type Dialer func(ctx context.Context, target netip.AddrPort) (net.Conn, error)

func dialTCP(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", target.String())
}

type attempt struct {
	conn net.Conn
	addr netip.Addr
	err  error
}

// dial races the addresses, the families in turn, and returns the first
// connection. All the others are closed when it returns.
func (p *Proxy) dial(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, p.limits.DialTimeout)
	defer cancel()
	queue := interleave(addrs)
	results := make(chan attempt, len(queue))
	pending, failures := 0, []error(nil)
	next := time.NewTimer(0)
	defer next.Stop()
	for len(queue) > 0 || pending > 0 {
		select {
		case <-next.C:
			if len(queue) == 0 {
				continue
			}
			p.runAttempt(ctx, netip.AddrPortFrom(queue[0], port), results)
			queue = queue[1:]
			pending++
			next.Reset(attemptDelay)
		case result := <-results:
			pending--
			if result.err == nil {
				cancel()
				closeLosers(results, pending)
				return result.conn, result.addr, nil
			}
			failures = append(failures, result.err)
			next.Reset(0)
		}
		if ctx.Err() != nil {
			queue = nil
		}
	}
	return nil, netip.Addr{}, fmt.Errorf("dial: %w", errors.Join(append(failures, context.Cause(ctx))...))
}

func (p *Proxy) runAttempt(ctx context.Context, target netip.AddrPort, results chan<- attempt) {
	p.goroutines.Go(func() {
		conn, err := p.dialer(ctx, target)
		results <- attempt{conn: conn, addr: target.Addr(), err: err}
	})
}

// closeLosers waits for attempts whose context has just been cancelled.
func closeLosers(results <-chan attempt, pending int) {
	for range pending {
		if loser := <-results; loser.err == nil {
			_ = loser.conn.Close()
		}
	}
}

// interleave alternates the address families, beginning with the first one's.
func interleave(addrs []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, addr := range addrs {
		if addr.Is4() == addrs[0].Is4() {
			first = append(first, addr)
		} else {
			second = append(second, addr)
		}
	}
	mixed := make([]netip.Addr, 0, len(addrs))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			mixed = append(mixed, first[i])
		}
		if i < len(second) {
			mixed = append(mixed, second[i])
		}
	}
	return mixed[:min(len(mixed), maxAttempts)]
}
