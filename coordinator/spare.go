package coordinator

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// comesBack is how long after its last word a lost worker is expected to be
	// started again by whoever supervises it, and how long after its first one a
	// worker may still not be ready: a death is noticed 1.5 s after it, and workers
	// with Chromium were measured to take owners two and three seconds after it.
	comesBack = 5 * time.Second
	// manyLost workers at once leave few: what is placed before they are back goes to
	// those, and stays there.
	manyLost = 2
)

// spare reports whether a lost worker's owner is not placed yet: nobody waits for
// it, and it would go where all the others go, since much of the fleet is about to
// come back. It is looked at again every second, and as soon as a worker has
// room; a request, or an acquire, places it at once.
func (l *loop) spare(key protocol.OwnerKey, reason string) bool {
	e := l.view[key]
	if reason != decide.WorkerLost || !e.idle || l.unanswered(key) || time.Now().Before(e.wanted) ||
		l.line.state(key) != TicketNone || !l.s.c.registry.lonely(time.Now()) {
		delete(l.spared, key)
		return false
	}
	l.spared[key] = true
	return true
}

// unspare looks at all spared owners again.
func (l *loop) unspare(ctx context.Context) {
	for _, key := range slices.Collect(maps.Keys(l.spared)) { // looking may spare it again
		delete(l.spared, key)
		l.look(ctx, key)
	}
}

// lonely reports whether several workers were lost a moment ago, no more than they
// take owners, and not all of them do so again under their names.
func (r *registry) lonely(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	taking, lost := map[string]bool{}, map[string]bool{}
	for id, e := range r.workers {
		switch {
		case e.ineligible() == "":
			taking[nameOf(id)] = true
		case e.beat.Draining:
		case e.state == WorkerUp && now.Sub(e.first) < comesBack, e.state != WorkerUp && now.Sub(e.seen) < comesBack:
			lost[nameOf(id)] = true
		}
	}
	back := 0
	for name := range lost {
		back += b2i(taking[name])
	}
	return len(lost) >= manyLost && len(taking) <= len(lost) && back < len(lost)
}

// nameOf is the worker's id without its boot nonce.
func nameOf(id protocol.WorkerID) string {
	name := string(id)
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		return name[:i]
	}
	return name
}
