package fleetmodel

import (
	"context"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// lives_ is what was promised about an owner's life beyond its requests: leases,
// a person's control, sleep, deletion, failures, and what an agent is told of a
// restore.
type lives_ struct {
	leases int // asked for so far
	// resultsLost: results went before their time, so whether a START has one cannot
	// be told, and nobody is struck.
	resultsLost bool
	// orders are what somebody asked for: what nobody asked for must not happen.
	orders map[string]bool
	// had are leases that the record has, or had.
	had map[protocol.LeaseID]bool
	// control is the write since when a person has had it without a break.
	control int
	// told is up to where requests were stored when an agent was first told of a
	// generation.
	told map[protocol.Generation]place
}

// life_ is what a hold's own past asks of it.
type life_ struct {
	// effects in its browser: finished are those that it had when an action in it
	// ended last (one that is stopped may still have its effect, which nobody waits
	// for), done those of them that were answered; then what was captured, and saved.
	effects, finished, done, captured, saved int
	browser                                  *browser
	// owes: the former holder died at this owner, which is to be counted before
	// anything is run.
	owes bool

	orphan protocol.RequestID // it died at, unless its result was on its way
	// cancels were stored before it took the owner over.
	cancels []*request
}

func newLives() lives_ {
	return lives_{orders: map[string]bool{}, had: map[protocol.LeaseID]bool{}, told: map[protocol.Generation]place{}}
}

func (p *promises) asked(what string) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.orders[what] = true
	p.w.say("somebody asks: %s", what)
}

// begins takes the first record of a hold.
func (p *promises) begins(by *hold, rec *protocol.OwnerRecord) {
	if by.placing || rec.State != protocol.RecordAssigned || p.rec == nil {
		return
	}
	by.owes = p.rec.Opening
	if in := p.rec.InflightQ; in != nil && in.Seq > p.rec.CursorQ && p.results[in.Request] == nil && !p.resultsLost && in.Nonce != p.rec.Struck && p.rec.ActStreamCreated == rec.ActStreamCreated {
		by.owes, by.orphan = true, in.Request
	}
	for _, r := range p.requests {
		if r.target != "" && r.life == p.life && p.results[r.id] == nil {
			by.cancels = append(by.cancels, r)
		}
	}
}

// changes compares a record with the one before it.
func (p *promises) changes(by *hold, old, rec *protocol.OwnerRecord) {
	now := time.Now()
	for _, l := range rec.Leases {
		p.had[l.ID] = true
	}
	if by.owes && (len(rec.Failures) > 0 || rec.State == protocol.RecordFailed) {
		by.owes = false
	}
	if rec.Controlled(now) == nil {
		p.control = 0
	} else if p.control == 0 {
		p.control = p.writes
	}
	if old == nil {
		return
	}
	p.endsRightly(old, rec, now)
	p.keepsLeases(old, rec, now)
	if held := old.Controlled(now); held != nil && !over(rec) {
		switch next := rec.Control; {
		case next == nil && !p.orders["give "+held.Holder]:
			p.broken("control: %s lost it, and did not give it back", held.Holder)
		case next != nil && next.Holder != held.Holder && !p.orders["give "+held.Holder]:
			p.broken("control: %s took it from %s", next.Holder, held.Holder)
		}
	}
	if rec.State == protocol.RecordHibernated && old.State == protocol.RecordAssigned {
		if by.saved != by.captured || by.saved < by.done {
			p.broken("promise 5: %s hibernates with %d effects, and has saved %d", by, by.done, by.saved)
		}
		by.p.slept = p.w.servers.streams[protocol.ActStream(0)].last
		by.p.sleptRound = p.w.round
	}
}

// endsRightly: who is deleted stays so, and who failed until somebody resets it.
func (p *promises) endsRightly(old, rec *protocol.OwnerRecord, now time.Time) {
	from, to := old.State, rec.State
	switch {
	case from == to:
	case from == protocol.RecordDeleted:
		p.broken("a deleted owner is %s", to)
	case to == protocol.RecordDeleted && !p.orders["delete"]:
		p.broken("an owner is deleted that nobody wanted to delete")
	case from == protocol.RecordFailed && to == protocol.RecordUnassigned:
		p.w.saw("owners reset")
		if early := now.Sub(old.Since.Time) < protocol.ResetPause && !p.orders["reset by an operator"]; early || !p.orders["reset"] {
			p.broken("a failed owner is reset that nobody could reset")
		}
	case to == protocol.RecordHibernated && p.livingLease(rec, now):
		p.broken("an environment hibernates under a living lease")
	}
}

func (p *promises) livingLease(rec *protocol.OwnerRecord, now time.Time) bool {
	return slices.ContainsFunc(rec.Leases, func(l protocol.ClientLease) bool { return now.Before(l.Expires.Time) })
}

// keepsLeases: a lease ends when it is given up, when the environment is closed
// or over, or by its time.
func (p *promises) keepsLeases(old, rec *protocol.OwnerRecord, now time.Time) {
	if over(rec) || p.orders["close"] {
		return
	}
	for _, l := range old.Leases {
		gone := !slices.ContainsFunc(rec.Leases, func(k protocol.ClientLease) bool { return k.ID == l.ID })
		if gone && now.Before(l.Expires.Time) && !p.orders["release "+string(l.ID)] {
			p.broken("lease %s vanished", l.ID)
		}
	}
}

func over(rec *protocol.OwnerRecord) bool {
	return rec.State == protocol.RecordFailed || rec.State == protocol.RecordDeleted
}

// mayBegin takes a dispatch: what forbids it although the request was STARTed.
func (p *promises) mayBegin(by *hold, e protocol.DispatchEntry) {
	if p.holder != by {
		return // it cannot know
	}
	switch {
	case p.rec.State != protocol.RecordAssigned:
		p.broken("%s dispatches %s while the owner is %s", by, e.Request, p.rec.State)
	case p.control > 0 && p.rec.Controlled(time.Now()) != nil && by.started[e.Request] > p.control:
		p.broken("control: %s dispatches %s while %s has control", by, e.Request, p.rec.Control.Holder)
	}
	if by.owes {
		p.w.saw("deaths that were not counted again")
	}
	if info, _ := e.Kind.Lookup(); e.Generation > 1 && info.NeedsPage {
		if at, ok := p.told[e.Generation]; !ok || (at.life == p.life && e.Seq <= at.seq && by.life == p.life && !by.misled) {
			p.broken("promise 5: %s dispatches %s, which was sent for the page of an earlier generation", by, e.Request)
		}
	}
	for _, c := range by.cancels {
		if by.life == p.life && c.target == e.Request && p.results[c.id] == nil && !by.misled && c.life == p.life {
			p.broken("%s dispatches %s, whose cancel %s was stored before it took over", by, e.Request, short(c.id))
		}
	}
}

// answered takes a result.
func (p *promises) answered(by *hold, res *protocol.Result) {
	if res.Lane == protocol.LaneQueue {
		by.done = by.finished
	}
	if h := p.holder; h != nil && h != by && h.orphan == res.Request && !p.rec.Opening {
		h.owes = false
	}
	if r := res.Restored; r != nil {
		if _, ok := p.told[r.Generation]; !ok {
			p.told[r.Generation] = place{p.life, p.w.servers.streams[protocol.ActStream(0)].last}
		}
	}
}

// refused takes an answer without START: only for an owner without a record, and
// only to say that nothing was done.
func (p *promises) refused(by *hold, res *protocol.Result) {
	p.w.saw("refusals of an owner without a record")
	if p.rec != nil || res.Dispatched != protocol.DispatchedNo || res.Status == protocol.StatusOK {
		p.broken("promise 4: %s answered %s without a START", by, res.Request)
	}
}

// acquired: an agent was told that it has a lease.
func (p *promises) acquired(id protocol.LeaseID, r protocol.AcquireReply) {
	p.w.saw("leases granted")
	if r.Lease == nil || r.Lease.ID != id || !p.had[id] {
		p.broken("an agent has lease %s, which no record had", id)
	}
}

// erased: somebody was told that an owner is deleted.
func (p *promises) erased() {
	p.w.saw("owners erased")
	if p.rec == nil || p.rec.State != protocol.RecordDeleted {
		p.broken("an owner is said to be deleted, and is not")
	}
	p.orders["erased"] = true
}

// kept is what is kept at the end of a deleted owner: nothing, also where a
// checkpoint that was on its way from a holder that was overtaken came after the
// erasure.
func (p *promises) kept() {
	if left := p.w.left(); p.orders["erased"] && left > 0 {
		p.broken("%d checkpoints of a deleted owner are kept for ever", left)
	}
}

// left is how many objects the store has.
func (w *world) left() int {
	left, _ := w.objects.List(context.Background(), "", "")
	return len(left)
}

// sweep waits until what is left of a deleted owner is removed again.
func (w *world) sweep() {
	if !w.promises.orders["erased"] || w.left() == 0 || w.promises.breach != nil {
		return
	}
	w.saw("checkpoints that came after the erasure")
	w.pass(11 * time.Minute)
	for range 6 {
		w.calm(5 * time.Second)
	}
}

// slept takes the end of an environment that hibernated: what was stored before
// it wrote so, it looks for once more, where nothing keeps it from doing so.
func (p *promises) sleeps(by *hold) {
	if by.misled || by.life != p.life || by.p.disturbed >= by.p.sleptRound || by.p.dead || p.rec.State != protocol.RecordHibernated || p.holder != by {
		return
	}
	for _, r := range p.requests {
		if r.seq <= by.p.slept && r.life == p.life && p.results[r.id] == nil && !r.excused {
			p.broken("%s went to sleep over %s", by, r.id)
		}
	}
}
