package egressproxy

import (
	"net/netip"
	"sync"
)

// Listeners are the proxies that are alive on one worker. Proxies that share it
// refuse each other's ports, whichever was started first. The zero value is
// ready for use.
type Listeners struct {
	mu  sync.RWMutex // protects set
	set map[netip.AddrPort]struct{}
}

func (l *Listeners) add(listener netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil {
		l.set = map[netip.AddrPort]struct{}{}
	}
	l.set[listener] = struct{}{}
}

func (l *Listeners) remove(listener netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.set, listener)
}

func (l *Listeners) has(listener netip.AddrPort) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, found := l.set[listener]
	return found
}
