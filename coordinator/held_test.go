package coordinator_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// claims makes the puppet hold owners, truly or not.
func (p *puppet) claims(held ...protocol.HeldOwner) {
	p.says(func(p *puppet) {
		s := protocol.HeldShard{}
		for _, h := range held {
			s.Owners, s.Hash = s.Owners+1, s.Hash^protocol.PairHash(h.Key, h.Epoch)
		}
		p.held = &protocol.HeldReply{V: protocol.Version, Held: append([]protocol.HeldOwner{}, held...)}
		p.beat.Owners, p.beat.OwnersHash, p.beat.Shards = s.Owners, s.Hash, nil
		if s.Owners > 0 {
			p.beat.Shards = []protocol.HeldShard{s}
		}
	})
}

// control is the next message of a verb to the puppet.
func (b *bench) control(p *puppet, verb string, into any) {
	b.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case m := <-p.heard:
			if !strings.HasSuffix(m.Subject, "."+verb) {
				continue
			}
			if err := json.Unmarshal(m.Data, into); err != nil {
				b.t.Fatal(err)
			}
			return
		case <-deadline:
			b.t.Fatalf("%s heard no %s", p.id, verb)
		}
	}
}

func (b *bench) mismatches(id protocol.WorkerID) []protocol.HeldMismatch {
	b.t.Helper()
	for _, w := range b.workers() {
		if w.Worker == id {
			return w.Mismatches
		}
	}
	return nil
}

// Nothing is queued for the owner: only the digest shows that its worker lost it.
func TestAnOwnerThatItsWorkerLostIsToldAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	epoch := protocol.Epoch(b.put(one, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: w.id}))
	known := protocol.Epoch(b.put(two, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: w.id}))
	w.claims(protocol.HeldOwner{Key: two, Epoch: known})
	b.coordinate("c-1", b.conn)
	if a := b.told(w); a.Key != one || protocol.Epoch(a.Fence) != epoch {
		t.Fatalf("%+v", a)
	}
	b.eventually("the mismatch to be listed", func() bool {
		m := b.mismatches(w.id)
		return len(m) == 1 && m[0].Recorded == 2 && m[0].Held == 1
	})
	w.claims(protocol.HeldOwner{Key: two, Epoch: known}, protocol.HeldOwner{Key: one, Epoch: epoch})
	b.eventually("the mismatch to be over", func() bool { return len(b.mismatches(w.id)) == 0 })
}

// A worker that holds what its record gives to another, or to nobody, is told to
// write the record, which decides. An older epoch is told the newer one.
func TestAnEnvironmentThatTheRecordDoesNotKnowIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	epoch := protocol.Epoch(b.put(two, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: w.id}))
	w.claims(protocol.HeldOwner{Key: one, Epoch: 3}, protocol.HeldOwner{Key: two, Epoch: epoch - 1})
	b.coordinate("c-1", b.conn)
	var q protocol.OwnerQuery
	if b.control(w, protocol.VerbConfirm, &q); q.Key != one {
		t.Errorf("%+v", q)
	}
	if a := b.told(w); a.Key != two || protocol.Epoch(a.Fence) != epoch {
		t.Errorf("%+v", a)
	}
}

func TestExplainSaysWhyAnOwnerIsWhereItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.worker("w-2", nil).says(func(p *puppet) { p.beat.Draining = true })
	b.coordinate("c-1", b.conn)
	b.eventually("both workers to be known", func() bool { return len(b.workers()) == 2 })
	b.open(one)
	b.assignment(w)
	b.open(one)
	var got protocol.ExplainReply
	b.eventually("the decision", func() bool {
		got = b.explain(one)
		return got.Decision != nil && got.QueueQ == 2
	})
	d := got.Decision
	if d.Worker != w.id || d.Reason != "new" || len(d.Scores) != 2 || d.Scores[0].Points == 0 || d.Scores[1].Excluded != "draining" {
		t.Errorf("decision %+v", d)
	}
	if got.Owner == nil || got.Owner.Epoch == 0 || got.Owner.State != protocol.RecordAssigned || got.Holder == nil || got.Holder.Worker != w.id ||
		got.Holder.State != "up" || got.QueueC != 0 || got.Leader != "c-1" || got.Waits != "its worker, which has requests of it" {
		t.Errorf("%+v", got)
	}
	if none := b.explain(two); none.Error == nil || none.Error.Code != protocol.CodeNotFound {
		t.Errorf("%+v", none)
	}
}

func (b *bench) workers() []protocol.WorkerInfo {
	b.t.Helper()
	if b.operator == nil {
		b.operator = b.Operator(b.t)
	}
	m, err := b.operator.NC.Request(protocol.OpsSubject(protocol.OpsWorkers), nil, patience)
	if err != nil {
		return nil
	}
	var reply protocol.WorkersReply
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		b.t.Fatal(err)
	}
	return reply.Workers
}

// A worker that drains and was never heard to say so: the assignment that it lost
// is not repeated until its drain is over.
func TestAnAssignmentThatADrainingWorkerDoesNotHoldIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	drains := b.worker("w-1", protocol.Errorf(protocol.CodeNoCapacity, "it is draining"))
	b.put(one, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: drains.id})
	drains.claims()
	b.coordinate("c-1", b.conn)
	b.until(one, "nobody's", func(r *protocol.OwnerRecord) bool { return r.State == protocol.RecordUnassigned && r.Worker == "" })
	takes := b.worker("w-2", nil)
	b.open(one)
	b.assignment(takes)
}

// Heartbeats of a worker that does not listen any more (it ends) are no holder.
func TestAWorkerThatDoesNotListenHoldsNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	nc := b.Worker(t).NC
	ctx, cancel := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	t.Cleanup(func() { cancel(); beats.Wait() })
	beats.Go(func() {
		for n := uint64(1); pauseFor(ctx, 100*time.Millisecond); n++ {
			data, err := json.Marshal(protocol.Heartbeat{V: protocol.Version, Worker: "w-1", Slots: 4, Ready: true, Number: n})
			if err == nil {
				_ = nc.Publish(protocol.HeartbeatSubject("w-1"), data)
			}
		}
	})
	b.coordinate("c-1", b.conn)
	b.eventually("the worker to be known", func() bool { return len(b.workers()) == 1 })
	b.open(one)
	b.until(one, "offered to it, and nobody's again", func(r *protocol.OwnerRecord) bool { return r.State == protocol.RecordUnassigned })
}

func pauseFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
