package relay

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Relay forwards connections from the address on which it listens to one target.
// Its methods are safe for concurrent use.
type Relay struct {
	listener net.Listener
	target   string

	mu    sync.Mutex // guards what follows
	moved *sync.Cond
	still int // how many faults hold it
	slow  int
	conns map[net.Conn]struct{}
	done  bool
	work  sync.WaitGroup
}

const (
	// dialTimeout of the far end.
	dialTimeout = 2 * time.Second
	relayBuffer = 32 << 10
	// Bandwidth of a slow relay, bytes a second: a page of text takes a fifth of
	// a second.
	Bandwidth = 64 << 10
)

// Start listens and forwards until Close. Addresses are HOST:PORT.
func Start(listen, target string) (*Relay, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("relay to %s: %w", target, err)
	}
	r := &Relay{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	r.moved = sync.NewCond(&r.mu)
	r.work.Go(r.runAccept)
	return r, nil
}

// Addr is where clients connect.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Hold makes it stand still, or lets it go on. It stands still while it was held
// more often than let go: each of several faults is mended by itself.
func (r *Relay) Hold(on bool) { r.change(&r.still, on) }

// Slow makes it slow, or as fast as it was, counted like Hold.
func (r *Relay) Slow(on bool) { r.change(&r.slow, on) }

func (r *Relay) change(count *int, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on {
		*count++
	} else {
		*count--
	}
	r.moved.Broadcast()
}

// Held is how often it is held.
func (r *Relay) Held() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.still
}

// Close ends all connections and waits for the goroutines.
func (r *Relay) Close() {
	r.mu.Lock()
	r.done = true
	for c := range r.conns {
		_ = c.Close()
	}
	r.moved.Broadcast()
	r.mu.Unlock()
	_ = r.listener.Close()
	r.work.Wait()
}

func (r *Relay) runAccept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.work.Go(func() { r.runConn(in) })
	}
}

// runConn forwards one connection until either end closes.
func (r *Relay) runConn(in net.Conn) {
	defer func() { _ = in.Close() }()
	if _, open := r.wait(); !open {
		return
	}
	out, err := net.DialTimeout("tcp", r.target, dialTimeout)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	if !r.keep(in, out) {
		return
	}
	defer r.forget(in, out)
	var back sync.WaitGroup
	back.Go(func() { r.pipe(out, in) })
	r.pipe(in, out)
	back.Wait()
}

func (r *Relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.conns[c] = struct{}{}
	}
	return !r.done
}

func (r *Relay) forget(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.conns, c)
	}
}

func (r *Relay) pipe(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buf := make([]byte, relayBuffer)
	for {
		n, err := from.Read(buf)
		delay, open := r.wait()
		if !open {
			return
		}
		if n > 0 {
			if delay {
				time.Sleep(time.Duration(n) * time.Second / Bandwidth)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait until it does not stand still; open is false when it is closed.
func (r *Relay) wait() (delay, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.still > 0 && !r.done {
		r.moved.Wait()
	}
	return r.slow > 0, !r.done
}
