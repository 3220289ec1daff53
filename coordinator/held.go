package coordinator

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// differsFor is how long what a worker holds may differ from the records:
	// assignments and ends are on their way for some heartbeats.
	differsFor = 1500 * time.Millisecond
	// askAgain spaces repairs of one worker: what it cannot open, it would be
	// asked to open again and again.
	askAgain    = 5 * time.Second
	heldTimeout = time.Second
)

// comparison is what workers hold of a shard, against the records. The loop owns
// it. Heartbeats say how many owners and a digest of them; only where that
// differs is the worker asked for the list.
type comparison struct {
	differs map[protocol.WorkerID]*protocol.HeldMismatch
	asked   map[protocol.WorkerID]time.Time
}

// heldList is a worker's answer.
type heldList struct {
	worker protocol.WorkerID
	held   []protocol.HeldOwner
}

func newComparison() *comparison {
	return &comparison{differs: map[protocol.WorkerID]*protocol.HeldMismatch{}, asked: map[protocol.WorkerID]time.Time{}}
}

// compareHeld looks for workers whose owners are not those that the view names.
func (l *loop) compareHeld(ctx context.Context) {
	named := map[protocol.WorkerID]protocol.HeldShard{}
	for key, e := range l.view {
		if e.state == protocol.RecordAssigned {
			n := named[e.worker]
			named[e.worker] = protocol.HeldShard{Owners: n.Owners + 1, Hash: n.Hash ^ protocol.PairHash(key, e.epoch)}
		}
	}
	now := time.Now()
	for id, held := range l.s.c.registry.held(l.s.id) {
		want := named[id]
		if held.Owners == want.Owners && held.Hash == want.Hash {
			delete(l.heldBy.differs, id)
			delete(l.heldBy.asked, id)
			continue
		}
		m := l.heldBy.differs[id]
		if m == nil {
			m = &protocol.HeldMismatch{Worker: id, Shard: l.s.id, Since: protocol.At(now)}
			l.heldBy.differs[id] = m
		}
		m.Recorded, m.Held = want.Owners, held.Owners
		if now.Sub(m.Since.Time) >= differsFor && now.Sub(l.heldBy.asked[id]) >= askAgain {
			l.heldBy.asked[id] = now
			l.startList(ctx, id)
		}
	}
	l.heldBy.forget(l.s.c.registry)
}

// forget drops workers that are gone: their owners move anyway.
func (c *comparison) forget(r *registry) {
	for id := range c.differs {
		if !r.alive(id, time.Now()) {
			delete(c.differs, id)
			delete(c.asked, id)
		}
	}
}

// mismatches are those that have lasted, ordered by worker.
func (c *comparison) mismatches(now time.Time) []protocol.HeldMismatch {
	var all []protocol.HeldMismatch
	for _, m := range c.differs {
		if now.Sub(m.Since.Time) >= differsFor {
			all = append(all, *m)
		}
	}
	slices.SortFunc(all, func(a, b protocol.HeldMismatch) int {
		if a.Worker < b.Worker {
			return -1
		}
		return 1
	})
	return all
}

// startList asks a worker what it holds, in a goroutine.
func (l *loop) startList(ctx context.Context, id protocol.WorkerID) {
	l.work.Go(func() {
		data, err := json.Marshal(protocol.HeldQuery{V: protocol.Version, Shard: l.s.id})
		if err != nil {
			return
		}
		once, cancel := context.WithTimeout(ctx, heldTimeout)
		defer cancel()
		m, err := l.s.c.cfg.Conn.NC.RequestWithContext(once, protocol.ControlSubject(id, protocol.VerbHeld), data)
		if err != nil {
			return // it is asked again, or gone
		}
		var reply protocol.HeldReply
		if err := json.Unmarshal(m.Data, &reply); err != nil || reply.V != protocol.Version || reply.Held == nil {
			return
		}
		select {
		case l.held <- heldList{id, reply.Held}:
		case <-ctx.Done():
		}
	})
}

// onHeld repairs. What the worker should hold and does not know, or knows under
// an older epoch, it is told again; of what it holds and the records give to
// somebody else, it is told to write the record, which decides.
func (l *loop) onHeld(ctx context.Context, h heldList) {
	holds := map[protocol.OwnerKey]protocol.Epoch{}
	for _, o := range h.held {
		if l.s.c.cfg.Shards.Of(o.Key) != l.s.id {
			continue
		}
		holds[o.Key] = o.Epoch
		if e := l.view[o.Key]; e == nil || e.state != protocol.RecordAssigned || e.worker != h.worker {
			l.s.log.Warn("a worker holds an owner that its record does not give it", "owner", o.Key.String(), "worker", h.worker)
			l.confirmHeld(h.worker, o.Key)
		}
	}
	for key, e := range l.view {
		if e.state == protocol.RecordAssigned && e.worker == h.worker && holds[key] < e.epoch {
			l.s.log.Warn("a worker does not hold its owner; it is told again", "owner", key.String(), "worker", h.worker)
			l.insist(ctx, key, e)
		}
	}
}

// insist tells a worker once more of an assignment that it does not hold, and
// wants an answer: one that drains, or is full by now, says so, and then the owner
// goes elsewhere, or is nobody's. No silence decides anything.
func (l *loop) insist(ctx context.Context, key protocol.OwnerKey, e *entry) {
	if l.busy[key] {
		return // the next comparison finds it, if it is still so
	}
	t := ticket{key: key, reason: decide.Moved, refused: []protocol.WorkerID{e.worker}, epoch: e.epoch}
	if d := l.decisions[key]; d != nil {
		t.reason = d.Reason
	}
	l.runJob(ctx, key, func(ctx context.Context, o *outcome) {
		refusal := l.s.c.ask(ctx, e.worker, protocol.VerbAssign, protocol.Assignment{
			V: protocol.Version, Key: key, Shard: l.s.id, Fence: protocol.Seq(e.epoch), Reason: "reminded",
		})
		if refusal == nil || refusal.Code == protocol.CodeUnavailable {
			return
		}
		l.s.log.Warn("a worker did not take an owner", "owner", key.String(), "worker", e.worker, "error", refusal)
		p := l.s.place(ctx, t)
		o.placement = &p
	})
}

// stands reports whether the record still has the assignment.
func stands(rec *protocol.OwnerRecord, fence protocol.Seq, t ticket) bool {
	if rec == nil || rec.State != protocol.RecordAssigned || !slices.Contains(t.refused, rec.Worker) {
		return false
	}
	return rec.Epoch == t.epoch || rec.Epoch == 0 && protocol.Epoch(fence) == t.epoch
}

func (l *loop) confirmHeld(id protocol.WorkerID, key protocol.OwnerKey) {
	data, err := json.Marshal(protocol.OwnerQuery{V: protocol.Version, Key: key})
	if err == nil {
		_ = l.s.c.cfg.Conn.NC.Publish(protocol.ControlSubject(id, protocol.VerbConfirm), data)
	}
}

// held is what the connected workers say that they hold of a shard. A worker
// that does not tell shards apart is left out.
func (r *registry) held(s protocol.Shard) map[protocol.WorkerID]protocol.HeldShard {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[protocol.WorkerID]protocol.HeldShard{}
	for id, e := range r.workers {
		if e.state != WorkerUp || (e.beat.Owners > 0 && len(e.beat.Shards) == 0) {
			continue
		}
		all[id] = protocol.HeldShard{Shard: s}
		for _, h := range e.beat.Shards {
			if h.Shard == s {
				all[id] = h
			}
		}
	}
	return all
}
