package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// When a worker is believed dead. Correctness does not depend on it: the fence
// does. A healthy worker on a busy machine was measured to be silent for up to
// 800 ms, so five heartbeats of 250 ms, and a question before the verdict.
const (
	missedAfter = 1250 * time.Millisecond
	pingTimeout = 300 * time.Millisecond
	// Many workers that fall silent together, more than 30% of all and at least
	// three: suspect yourself, and wait.
	manyWorkers = 3
	manySilent  = 750 * time.Millisecond // three heartbeats
	doubtFor    = 3 * time.Second
	// countedAfter is when heartbeats count an owner that a worker may have taken
	// without saying so: one interval of theirs later.
	countedAfter = 250 * time.Millisecond
	// forgetAfter is how long a gone worker is still listed.
	forgetAfter = 10 * time.Minute
)

// registry is what the coordinator knows of workers from their heartbeats.
type registry struct {
	mu      sync.Mutex // guards all
	workers map[protocol.WorkerID]*workerEntry
	since   time.Time
	// doubt is since when so many workers are silent at once that this
	// coordinator doubts itself.
	doubt time.Time
}

type workerEntry struct {
	beat  protocol.Heartbeat
	state WorkerState
	seen  time.Time // monotonic
	first time.Time // when it was first heard of
	// promised are owners for the worker that its heartbeats may not count yet.
	promised map[protocol.OwnerKey]promise
	// full: it refused an owner; its next heartbeat says what it has.
	full bool
}

// promise is an owner that was given to a worker.
type promise struct {
	// took is when it was told; zero while it is not.
	took time.Time
	// from is the number of the first heartbeat that counts the owner; 0 where the
	// worker did not say.
	from uint64
}

// counted reports whether the heartbeat counts the owner.
func (p promise) counted(beat protocol.Heartbeat, now time.Time) bool {
	switch {
	case p.took.IsZero():
		return false
	case p.from > 0:
		return beat.Number >= p.from
	}
	return now.Sub(p.took) >= countedAfter
}

func newRegistry() *registry {
	return &registry{workers: map[protocol.WorkerID]*workerEntry{}, since: time.Now()}
}

// heard takes a heartbeat. It reports whether there is room for owners where
// there was none.
func (r *registry) heard(beat protocol.Heartbeat) (room bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.workers[beat.Worker]
	if !ok {
		e = &workerEntry{state: WorkerUp, first: time.Now(), promised: map[protocol.OwnerKey]promise{}}
		r.workers[beat.Worker] = e
	}
	had := e.hasRoom()
	e.beat, e.seen, e.full = beat, time.Now(), false
	e.state, _ = nextWorkerState(e.state, Heard)
	maps.DeleteFunc(e.promised, func(_ protocol.OwnerKey, p promise) bool { return p.counted(beat, e.seen) })
	return !had && e.hasRoom()
}

// ineligible is why the worker takes no owners; empty when it does. Being
// connected, being eligible and draining are three things: a worker that is not
// ready, or refused an owner, keeps those that it has.
func (e *workerEntry) ineligible() string {
	switch {
	case e.state != WorkerUp:
		return string(e.state)
	case e.beat.Draining:
		return "draining"
	case !e.beat.Ready:
		return because("not ready", e.beat.Why)
	case e.beat.Full:
		return because("full", e.beat.Why)
	case e.full:
		return "refused an owner"
	}
	return ""
}

// because adds the worker's own words, if it has any.
func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// hasRoom reports whether the worker takes owners.
func (e *workerEntry) hasRoom() bool { return e.ineligible() == "" && e.free() > 0 }

func (e *workerEntry) free() int { return e.beat.Slots - e.beat.Owners - len(e.promised) }

// silent are the workers that have just become suspect. When many fall silent
// together it is rather this coordinator that hears nothing: then nobody is
// suspected until that has lasted for a while.
func (r *registry) silent(now time.Time) []protocol.WorkerID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doubtsItself(now) {
		return nil
	}
	var ids []protocol.WorkerID
	for id, e := range r.workers {
		switch silence := now.Sub(e.seen); {
		case e.state == WorkerUp && silence > missedAfter:
			e.state, _ = nextWorkerState(e.state, Missed)
			ids = append(ids, id)
		case e.state == WorkerGone && silence > forgetAfter:
			delete(r.workers, id)
		}
	}
	return ids
}

// doubtsItself reports whether too many workers are silent to believe it yet.
func (r *registry) doubtsItself(now time.Time) bool {
	quiet, living := 0, 0
	for _, e := range r.workers {
		if e.state == WorkerGone {
			continue
		}
		living++
		if now.Sub(e.seen) > manySilent {
			quiet++
		}
	}
	if quiet < manyWorkers || 10*quiet <= 3*living {
		r.doubt = time.Time{}
		return false
	}
	if r.doubt.IsZero() {
		r.doubt = now
	}
	return now.Sub(r.doubt) < doubtFor
}

// asked takes the outcome of the confirming ping.
func (r *registry) asked(id protocol.WorkerID, answered bool) (gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.workers[id]
	if !ok {
		return false
	}
	if answered {
		e.state, _ = nextWorkerState(e.state, Heard)
		e.seen = time.Now()
		return false
	}
	e.state, _ = nextWorkerState(e.state, NoAnswer)
	return e.state == WorkerGone
}

// alive reports whether a record that names the worker may be left alone. A
// worker that was never heard of gets the time that a heartbeat and a ping need
// after this coordinator's start.
func (r *registry) alive(id protocol.WorkerID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.workers[id]; ok {
		return e.state != WorkerGone
	}
	return now.Sub(r.since) < missedAfter+pingTimeout
}

// able reports whether a worker that is not gone has all of the capabilities.
// A no is final when settled: whoever was there has been heard of.
func (r *registry) able(requires []protocol.Capability, now time.Time) (able, settled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	able = len(requires) == 0
	for _, e := range r.workers {
		able = able || e.state != WorkerGone && !slices.ContainsFunc(requires, func(c protocol.Capability) bool {
			return !slices.Contains(e.beat.Capabilities, c)
		})
	}
	return able, now.Sub(r.since) >= missedAfter+pingTimeout
}

// graceLeft is how long workers that were not heard of may still turn up.
func (r *registry) graceLeft(now time.Time) time.Duration {
	return missedAfter + pingTimeout - now.Sub(r.since)
}

// knows reports whether this coordinator ever heard of the worker, as far as it
// remembers.
func (r *registry) knows(id protocol.WorkerID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.workers[id]
	return ok
}

// candidates are all workers, as placement sees them.
func (r *registry) candidates() []candidate {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.judged()
}

// judged is candidates. Callers hold mu.
func (r *registry) judged() []candidate {
	all := make([]candidate, 0, len(r.workers))
	for id, e := range r.workers {
		all = append(all, candidate{
			id: id, free: e.free(), slots: e.beat.Slots, memoryMB: e.beat.FreeMemoryMB, cpu: e.beat.CPULoad,
			labels: e.beat.Labels, capabilities: e.beat.Capabilities, ineligible: e.ineligible(),
		})
	}
	return all
}

// take chooses a worker for an owner, and counts the owner as its before anybody
// else chooses. giveBack ends that where it did not come to an assignment, and
// took leaves it to the heartbeats, where it did. crowded: no worker has room for
// anybody.
func (r *registry) take(n need) (id protocol.WorkerID, scores []protocol.Score, crowded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.judged()
	id, scores = choose(all, n)
	if e, ok := r.workers[id]; ok {
		e.promised[n.key] = promise{}
	}
	return id, scores, !slices.ContainsFunc(all, func(c candidate) bool { return c.ineligible == "" && c.free > 0 })
}

func (r *registry) giveBack(id protocol.WorkerID, key protocol.OwnerKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.workers[id]; ok {
		delete(e.promised, key)
	}
}

func (r *registry) took(id protocol.WorkerID, key protocol.OwnerKey, from uint64, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.workers[id]; ok {
		if _, promised := e.promised[key]; promised {
			e.promised[key] = promise{took: now, from: from}
			if from > 0 && e.beat.Number >= from {
				delete(e.promised, key) // it is counted already
			}
		}
	}
}

// room is how many owners the eligible workers can still take.
func (r *registry) room() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.workers {
		if e.hasRoom() {
			n += e.free()
		}
	}
	return n
}

// refused: the worker did not take an owner, whatever its last heartbeat says.
func (r *registry) refused(id protocol.WorkerID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.workers[id]; ok {
		e.full = true
	}
}

// list describes the workers, ordered by id.
func (r *registry) list(now time.Time) []protocol.WorkerInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]protocol.WorkerInfo, 0, len(r.workers))
	for _, e := range r.workers {
		all = append(all, e.info(now))
	}
	slices.SortFunc(all, func(a, b protocol.WorkerInfo) int { return cmp.Compare(a.Worker, b.Worker) })
	return all
}

// describe is one worker; nil when it was never heard of.
func (r *registry) describe(id protocol.WorkerID, now time.Time) *protocol.WorkerInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.workers[id]
	if !ok {
		return nil
	}
	info := e.info(now)
	return &info
}

// info says three things apart: whether the worker is there, whether it may take
// owners, and whether it hands over those that it has.
func (e *workerEntry) info(now time.Time) protocol.WorkerInfo {
	state := string(e.state)
	if e.state == WorkerUp && e.beat.Draining {
		state = "draining"
	}
	why := e.ineligible()
	if why == "" && e.free() <= 0 {
		why = "no free slot"
	}
	return protocol.WorkerInfo{
		Heartbeat: e.beat, State: state, LastSeen: protocol.At(now.Add(-now.Sub(e.seen))),
		Eligible: why == "", Ineligible: why,
	}
}
