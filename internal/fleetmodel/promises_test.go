package fleetmodel

import (
	"fmt"
	"sync/atomic"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// hold is one hold of the owner: an environment's on a worker, or a
// coordinator's job. What it was seen to do is told by the servers' side and by
// the dispatch log, not by itself.
type hold struct {
	p *process
	// placing: a job that only writes assignments. It reads before each write,
	// so others may write between its writes.
	placing bool
	// rank orders holds by their first write; 0 before it.
	rank int
	life int // of the stream of requests, at the first write
	// writes of the record; prepared is how many there were before the browser
	// was asked to do what comes next.
	writes, prepared int
	// started has the count of record writes at each START.
	started map[protocol.RequestID]int
	fenced  bool
	// refuses: it answers without START, for an owner without a record.
	refuses bool
	// misled: a leader that was behind told it less than there was.
	misled bool
	// knows: it has read a record. A read that comes late is told by another
	// goroutine.
	knows atomic.Bool
	life_
}

func (h *hold) String() string { return fmt.Sprintf("%s (hold %d)", h.p.id, h.rank) }

// promises watches what was promised. The first breach stands.
type promises struct {
	breach error

	holds  []*hold
	ranks  int
	holder *hold // who wrote the record last
	record_
	// manifests, slept and failed are counted for seen.
	manifests, slept, failed int
	sealed                   *hold           // the newest hold by rank that has written a checkpoint
	freed                    map[string]bool // slots whose checkpoint was deleted
	w                        *world
	writes                   int // of the record
	lives_

	requests   map[protocol.RequestID]*request
	results    map[protocol.RequestID]*answer
	dispatches []*dispatch
	life       int           // how often the stream of requests was made anew
	lives      map[int64]int // by creation
}

// record_ is what the newest record says.
type record_ struct {
	rec    *protocol.OwnerRecord
	fence  protocol.Seq
	starts map[string]bool // nonces
}

// request is what was stored, under the name by which it is answered.
type request struct {
	id   protocol.RequestID
	kind protocol.Kind
	// target is what a cancel names; seq is where it was stored first.
	target protocol.RequestID
	seq    protocol.Seq
	// life is which of the successive streams holds it.
	life int
	// excused: an operator deleted the stream with it.
	excused bool
}

type answer struct {
	by      *hold
	res     *protocol.Result
	life    int // of the stream that its holder read
	expired bool
}

type dispatch struct {
	by         *hold
	entry      protocol.DispatchEntry
	life, held int // of the request's stream, and of the one that its holder read
	superseded bool
}

// place is a sequence of one of the streams of requests that succeeded each other.
type place struct {
	life int
	seq  protocol.Seq
}

func newPromises(w *world) *promises {
	return &promises{
		w: w, lives_: newLives(), freed: map[string]bool{},
		lives:    map[int64]int{},
		record_:  record_{starts: map[string]bool{}},
		requests: map[protocol.RequestID]*request{}, results: map[protocol.RequestID]*answer{},
	}
}

func (p *promises) broken(format string, args ...any) {
	if p.breach == nil {
		p.breach = fmt.Errorf(format, args...)
	}
}

// record takes a stored owner record. Promise 4: who was overtaken writes, and
// STARTs, nothing more.
func (p *promises) record(by *hold, seq protocol.Seq, rec *protocol.OwnerRecord) {
	if by.rank > 0 && p.holder != by && !by.placing {
		p.broken("promise 4: %s wrote the record at %d after %s had taken the owner", by, seq, p.holder)
	}
	if !by.placing && rec.State == protocol.RecordAssigned && rec.Worker != by.p.id {
		p.broken("promise 4: %s writes the record of %s", by, rec.Worker)
	}
	if by.rank == 0 {
		p.ranks++
		by.rank, by.life, by.started = p.ranks, p.lives[rec.ActStreamCreated], map[protocol.RequestID]int{}
		p.begins(by, rec)
	}
	by.life = p.lives[rec.ActStreamCreated]
	if rec.State == protocol.RecordHibernated && (p.rec == nil || p.rec.State != rec.State) {
		p.slept++
	}
	if rec.State == protocol.RecordFailed && p.rec.State != rec.State {
		p.failed++
	}
	by.writes++
	p.writes++
	p.changes(by, p.rec, rec)
	p.holder, p.rec, p.fence = by, rec, seq
	for _, in := range []*protocol.Inflight{rec.InflightQ, rec.InflightC} {
		if in == nil || p.starts[in.Nonce] {
			continue // none, or one that stands since an earlier write
		}
		p.starts[in.Nonce] = true
		by.started[in.Request] = p.writes
		if in.Target != "" {
			by.started[in.Target] = p.writes
		}
	}
}

// result takes a stored result. Promises 2 and 4: one a request, and only by who
// had STARTed it.
func (p *promises) result(by *hold, res *protocol.Result) {
	if by.refuses {
		p.refused(by, res)
	} else if by.started[res.Request] == 0 {
		p.broken("promise 4: %s answered %s without a START of its own", by, res.Request)
	}
	if old := p.results[res.Request]; old != nil {
		if !old.expired {
			p.broken("promise 2: %s has a second result", res.Request)
		} else if !outOfTime(res) {
			p.broken("promise 2: %s was answered, and is %s again after its result expired", res.Request, res.Status)
		}
	}
	if res.Error != nil && res.Error.Message == ownerlog.CannotTell().Message && !by.misled {
		p.broken("promise 2: %s could not tell whether %s was answered before, and no leader was behind", by, res.Request)
	}
	p.results[res.Request] = &answer{by: by, res: res, life: by.life}
	p.answered(by, res)
	for _, d := range p.dispatches {
		if d.entry.Request == res.Request && !outOfTime(res) {
			p.agree(d, p.results[res.Request])
		}
	}
	if res.Status == protocol.StatusOK && res.Lane == protocol.LaneQueue && !p.dispatched(by, res.Request) {
		p.broken("promise 3: %s says that it did %s, and did not", by, res.Request)
	}
}

// outOfTime: the request's id is too old, or of a time to come. That may be said of
// one that was answered before.
func outOfTime(res *protocol.Result) bool {
	return code(res) == protocol.CodeRequestTooOld || code(res) == protocol.CodeRequestFromFuture
}

func (p *promises) dispatched(by *hold, id protocol.RequestID) bool {
	for _, d := range p.dispatches {
		if d.by == by && d.entry.Request == id {
			return true
		}
	}
	return false
}

// dispatch takes a line of a dispatch log. Promises 1, 3 and 4.
func (p *promises) dispatch(by *hold, e protocol.DispatchEntry, fresh bool) {
	d := &dispatch{by: by, entry: e, held: by.life, superseded: p.holder != by}
	if r := p.requests[e.Request]; r != nil {
		d.life = r.life
	}
	switch {
	case by.started[e.Request] == 0:
		p.broken("promise 4: %s dispatched %s without a START", by, e.Request)
	case !fresh && by.writes == by.prepared:
		// A write is answered before it is acted on, so it may be older, and the
		// owner may be lost since: that is the race which outcome_unknown is for.
		p.broken("promise 4: %s dispatched %s without contact and without a write of the record", by, e.Request)
	}
	times := 0
	for _, other := range p.dispatches {
		if other.entry.Request == e.Request && other.held == by.life {
			times++
		}
	}
	if most := map[protocol.Effect]int{protocol.EffectWrite: 1, protocol.EffectRead: 2}[e.Effect]; times >= most {
		p.broken("promise 3: %s (%s) is dispatched %d times", e.Request, e.Kind, times+1)
	}
	p.mayBegin(by, e)
	p.dispatches = append(p.dispatches, d)
	if a := p.results[e.Request]; a != nil && a.by.refuses && by.misled {
		p.w.saw("dispatches of what was refused, on an old leader's word") // see doc.go
	} else if a != nil {
		// A read is run once more, also if its former holder's answer arrives meanwhile,
		// or an old leader does not show it.
		if again := e.Effect == protocol.EffectRead && e.Attempt > 1; !d.superseded && !again {
			p.broken("promise 3: %s dispatched %s, which was answered", by, e.Request)
		}
		p.agree(d, a)
	}
}

// agree compares a dispatch with the request's result. Reads have no effect:
// only their own holder has to be right about them.
func (p *promises) agree(d *dispatch, a *answer) {
	own := d.by == a.by
	switch {
	case a.by.refuses && d.by.misled:
	case !a.by.refuses && d.held != a.life: // see doc.go: with the stream, its STARTs are lost
	case d.entry.Effect != protocol.EffectWrite && !own:
	case a.res.Dispatched == protocol.DispatchedNo:
		p.broken("promise 3: %s is answered dispatched=no (%s), and was dispatched by %s", d.entry.Request, a.res.Status, d.by)
	case !own && a.res.Status != protocol.StatusOutcomeUnknown:
		p.broken("promise 3: %s was dispatched by %s; %s answered %s, not outcome_unknown", d.entry.Request, d.by, a.by, a.res.Status)
	}
}

// manifest takes a stored checkpoint. Promise 4: once a later holder has sealed,
// no earlier one adds any. An erasure frees the slots that kept it from doing so:
// what it puts there nobody restores, since the owner is deleted (see doc.go).
func (p *promises) manifest(by *hold, key string) {
	if p.freed[key] && p.rec.State == protocol.RecordDeleted {
		return
	}
	if p.sealed != nil && by.rank < p.sealed.rank {
		p.broken("promise 4: %s wrote checkpoint %s after %s had sealed", by, key, p.sealed)
	}
	if by.rank == 0 || p.holder != by {
		p.w.saw("checkpoints of who was overtaken")
	}
	p.sealed = by
	p.manifests++
	by.saved = by.captured
}

// purged takes what a purge removed. Promise 2: only what was answered.
func (p *promises) purged(ids []protocol.RequestID) {
	for _, id := range ids {
		if p.results[id] == nil {
			p.broken("promise 2: %s is purged unanswered", id)
		}
	}
}

// final checks what must hold when everything has come to rest.
func (p *promises) final() {
	for id, r := range p.requests {
		if p.results[id] == nil && !r.excused {
			p.broken("promise 2: %s (%s) has no result", id, r.kind)
		}
	}
	p.inOrder()
	p.kept()
}

// inOrder is promise 1. A holder that was overtaken, and does not know yet, may
// dispatch late what it had STARTed: an effect only if its answer is
// outcome_unknown.
func (p *promises) inOrder() {
	var newest place
	for _, d := range p.dispatches {
		if d.life != d.held {
			continue // see doc.go: a holder learns within seconds that its stream is another
		}
		at := place{d.life, d.entry.Seq}
		if at.life > newest.life || (at.life == newest.life && at.seq > newest.seq) {
			newest = at
			continue
		}
		a := p.results[d.entry.Request]
		read := d.entry.Effect == protocol.EffectRead
		late := d.superseded && (read || (a != nil && a.res.Status == protocol.StatusOutcomeUnknown))
		again := at == newest && read && d.entry.Attempt > 1
		if !late && !again {
			p.broken("promise 1: %s at %d was dispatched by %s after %d", d.entry.Request, at.seq, d.by, newest.seq)
		}
	}
}

// open are requests without an answer.
func (p *promises) open() (n int) {
	for id, r := range p.requests {
		if p.results[id] == nil && !r.excused {
			n++
		}
	}
	return n
}
