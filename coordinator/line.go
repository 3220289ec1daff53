package coordinator

import (
	"cmp"
	"slices"

	"github.com/browserfleet/browserfleet/protocol"
)

// line is where owners wait for a worker: each tenant has a queue of its own, in
// the order in which its owners came, and the tenants take turns, so that one
// which floods the fleet delays its own owners only. One goroutine uses it; it
// knows neither workers nor jobs.
//
// Turns are counted (start-time fair queueing with a cost of one): each tenant
// has the number of the round in which its next owner is called, and the lowest
// is called first. A tenant that begins to wait joins the next round, so turns
// cannot be saved up. A turn of which nothing came is given back, by lowering
// the number: the tenant is called once more before it is another's turn.
type line struct {
	tenants map[protocol.Tenant]*waiting
	tickets map[protocol.OwnerKey]*ticket
	// round is that of the last turn; calls counts turns and tenants that joined.
	round, calls int
	numbers      int
	called       int
}

// waiting are the owners of one tenant, by their numbers.
type waiting struct {
	ready  []*ticket                  // TicketWaiting
	parked []*ticket                  // TicketParked
	called map[protocol.OwnerKey]bool // TicketCalled
	// round is that in which the tenant is called next; among equals the one that
	// was called, or joined, before the other.
	round, since int
}

// ticket is an owner that waits, with the reason for placing it.
type ticket struct {
	key    protocol.OwnerKey
	reason string
	// seen are the newest requests that were seen of it when it last joined.
	seen lanes
	// refused certainly did not take the owner in the assignment of epoch, which
	// the record still had; none and 0 where that is not why it is placed.
	refused []protocol.WorkerID
	epoch   protocol.Epoch

	number int // in the order in which they came
	state  TicketState
}

func newLine() *line {
	return &line{tenants: map[protocol.Tenant]*waiting{}, tickets: map[protocol.OwnerKey]*ticket{}, round: -1}
}

// join puts an owner at the end of its tenant's queue. Who is in the line keeps
// its place, and takes the newer reason.
func (l *line) join(t ticket) {
	if old := l.tickets[t.key]; old != nil {
		old.reason, old.seen = t.reason, t.seen
		l.step(old, TicketJoin)
		return
	}
	l.numbers++
	t.number = l.numbers
	l.tickets[t.key] = &t
	l.step(&t, TicketJoin)
	w := l.tenants[t.key.Tenant]
	if w == nil {
		w = &waiting{round: l.round, called: map[protocol.OwnerKey]bool{}}
		l.tenants[t.key.Tenant] = w
	}
	if len(w.ready) == 0 && w.round <= l.round { // it begins to wait
		l.calls++
		w.round, w.since = l.round+1, l.calls
	}
	l.insert(&t)
}

// call takes the next turn: the owner's room is kept until unfit or leave.
func (l *line) call() (ticket, bool) {
	w := l.turn()
	if w == nil {
		return ticket{}, false
	}
	t := w.ready[0]
	w.ready = slices.Delete(w.ready, 0, 1)
	l.step(t, TicketTurn)
	l.calls++
	l.round = max(l.round, w.round)
	w.round, w.since = w.round+1, l.calls
	w.called[t.key] = true
	l.called++
	return *t, true
}

// turn is the tenant that is called next; nil when nobody waits.
func (l *line) turn() (first *waiting) {
	for _, w := range l.tenants {
		if len(w.ready) > 0 && (first == nil || w.before(first)) {
			first = w
		}
	}
	return first
}

func (w *waiting) before(o *waiting) bool {
	return cmp.Or(cmp.Compare(w.round, o.round), cmp.Compare(w.since, o.since)) < 0
}

// back: there was no room left when the owner was tried, for heartbeats count
// some owners twice for a moment. It is the next of its tenant again, which has
// lost nothing.
func (l *line) back(key protocol.OwnerKey) { l.undo(key, TicketBack, 1) }

// unfit: the owner was tried, and nobody could take it. Its turn is spent: a
// tenant whose owners fit nowhere must not keep the others from being tried.
func (l *line) unfit(key protocol.OwnerKey) { l.undo(key, TicketUnfit, 0) }

// untried: it could not be tried at all. It is, when something has changed.
func (l *line) untried(key protocol.OwnerKey) { l.undo(key, TicketUnfit, 1) }

// undo puts an owner that had its turn into a queue again.
func (l *line) undo(key protocol.OwnerKey, ev TicketEvent, rounds int) {
	t := l.tickets[key]
	if t == nil || t.state != TicketCalled {
		return
	}
	l.uncall(key)
	w := l.tenants[key.Tenant]
	w.round -= rounds
	l.step(t, ev)
	l.forfeit(w)
	l.insert(t)
}

// forfeit: the turns that a tenant did not use while it had nobody to call are
// lost. It is called before somebody of it waits again.
func (l *line) forfeit(w *waiting) {
	if len(w.ready) == 0 {
		w.round = max(w.round, l.round)
	}
}

// retry makes all parked owners wait again, each in its place.
func (l *line) retry() {
	for _, w := range l.tenants {
		parked := w.parked
		w.parked = nil
		l.forfeit(w)
		for _, t := range parked {
			l.step(t, TicketRetry)
			l.insert(t)
		}
	}
}

// leave takes an owner out: it is placed, or wants no worker any more. unused: a
// turn that it had is given back to its tenant.
func (l *line) leave(key protocol.OwnerKey, unused bool) {
	t := l.tickets[key]
	if t == nil {
		return
	}
	w := l.tenants[key.Tenant]
	switch t.state {
	case TicketCalled:
		l.uncall(key)
		if unused { // not those of rounds in which the others did not wait yet
			w.round = max(w.round-1, min(w.round, l.round))
		}
	case TicketWaiting:
		w.ready = without(w.ready, t)
	case TicketParked:
		w.parked = without(w.parked, t)
	}
	l.step(t, TicketLeave)
	delete(l.tickets, key)
	l.tidy()
}

func (l *line) uncall(key protocol.OwnerKey) {
	l.called--
	delete(l.tenants[key.Tenant].called, key)
}

// state is where the owner stands.
func (l *line) state(key protocol.OwnerKey) TicketState {
	if t := l.tickets[key]; t != nil {
		return t.state
	}
	return TicketNone
}

// isCalled is the owner's ticket, if it had its turn.
func (l *line) isCalled(key protocol.OwnerKey) (ticket, bool) {
	if t := l.tickets[key]; t != nil && t.state == TicketCalled {
		return *t, true
	}
	return ticket{}, false
}

// underWay are the owners of a tenant that had their turn.
func (l *line) underWay(t protocol.Tenant) map[protocol.OwnerKey]bool {
	if w := l.tenants[t]; w != nil {
		return w.called
	}
	return nil
}

// has reports whether the owner is in a queue: it had no turn yet, or one that
// led nowhere.
func (l *line) has(key protocol.OwnerKey) bool {
	s := l.state(key)
	return s == TicketWaiting || s == TicketParked
}

// len is how many are in the queues; of is how many of one tenant.
func (l *line) len() int { return len(l.tickets) - l.called }

func (l *line) of(t protocol.Tenant) int {
	if w := l.tenants[t]; w != nil {
		return w.len()
	}
	return 0
}

func (w *waiting) len() int { return len(w.ready) + len(w.parked) }

// position is the owner's place in the line when the tenants take turns and
// everybody fits; 1 is next, 0 is not in it.
func (l *line) position(key protocol.OwnerKey) int {
	if !l.has(key) {
		return 0
	}
	t, w := l.tickets[key], l.tenants[key.Tenant]
	before := rank(w.ready, t) + rank(w.parked, t)
	place := before + 1
	for _, o := range l.tenants {
		if o == w {
			continue
		}
		// The rounds up to the owner's. Who is behind in rounds is called later in
		// the one that both have, since its last call is the newer one.
		turns := w.round + before - o.round
		if o.round > w.round || o.round == w.round && o.since < w.since {
			turns++
		}
		place += min(max(turns, 0), o.len())
	}
	return place
}

// insert puts a ticket into its queue, by its number.
func (l *line) insert(t *ticket) {
	w := l.tenants[t.key.Tenant]
	if t.state == TicketParked {
		w.parked = slices.Insert(w.parked, rank(w.parked, t), t)
		return
	}
	w.ready = slices.Insert(w.ready, rank(w.ready, t), t)
}

// rank is how many of a queue came before the ticket.
func rank(queue []*ticket, t *ticket) int {
	n, _ := slices.BinarySearchFunc(queue, t, func(a, b *ticket) int { return cmp.Compare(a.number, b.number) })
	return n
}

func without(queue []*ticket, t *ticket) []*ticket {
	if i := rank(queue, t); i < len(queue) && queue[i] == t {
		return slices.Delete(queue, i, i+1)
	}
	return queue
}

// step moves a ticket. What is illegal is not done by the methods above.
func (l *line) step(t *ticket, ev TicketEvent) {
	if next, err := nextTicketState(t.state, ev); err == nil {
		t.state = next
	}
}

// tidy forgets tenants that have nobody here and are owed nothing.
func (l *line) tidy() {
	for tenant, w := range l.tenants {
		if w.len() == 0 && len(w.called) == 0 {
			delete(l.tenants, tenant)
		}
	}
}
