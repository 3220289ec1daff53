package egressproxy

import (
	"sync"
	"time"
)

// gate is what every write of forwarded octets passes. Shut, it lets nothing
// through; a write that the kernel had already taken is not called back.
type gate struct {
	mu   sync.Mutex // protects the fields
	shut bool
	open chan struct{} // closed when the gate opens; nil while it is open
	// live is asked before each write, too: a process that was stopped is late to
	// shut its gates.
	live func() bool
}

// liveAgain spaces questions whether there is contact again.
const liveAgain = 50 * time.Millisecond

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut, g.open = true, make(chan struct{})
	}
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		g.shut = false
		close(g.open)
	}
}

func (g *gate) ask(live func() bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live = live
}

// state is whether it is shut, and what is closed when it opens: nil when only
// contact is missing.
func (g *gate) state() (shut bool, open <-chan struct{}) {
	g.mu.Lock()
	shut, open, live := g.shut, g.open, g.live
	g.mu.Unlock()
	if shut {
		return true, open
	}
	return live != nil && !live(), nil
}

func (g *gate) isShut() bool {
	shut, _ := g.state()
	return shut
}

// pass waits until the gate is open; false when done came first. The wait ends
// with its tunnel, so it has no deadline of its own.
func (g *gate) pass(done <-chan struct{}) bool {
	for {
		shut, open := g.state()
		if !shut {
			return true
		}
		again := time.NewTimer(liveAgain)
		select {
		case <-open:
		case <-again.C:
		case <-done:
			again.Stop()
			return false
		}
		again.Stop()
	}
}
