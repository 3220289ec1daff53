package worker_test

import (
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// takeOver lets the owner be assigned with what a former holder left, and returns
// the record once its environment is open.
func (b *bench) takeOver(left func(*protocol.OwnerRecord)) *protocol.OwnerRecord {
	b.t.Helper()
	a := b.assignWith(one, func(r *protocol.OwnerRecord) {
		// A person drives: no action begins, so there is no other START.
		r.Control = &protocol.ControlLease{Holder: "p", Expires: protocol.At(time.Now().Add(time.Hour))}
		left(r)
	})
	if err := b.control(protocol.VerbAssign, a); err != nil {
		b.t.Fatal(err)
	}
	await(b.t, "a browser", b.opened)
	rec, _ := b.record(one)
	return rec
}

// began is the START of a stored action, without a result.
func (b *bench) began(nonce string) *protocol.Inflight {
	b.t.Helper()
	id, seq := b.sendShort(one, protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"})
	return &protocol.Inflight{Seq: seq, Request: id, Kind: protocol.KindOpen, Effect: protocol.EffectWrite, Nonce: nonce, Attempt: 1}
}

func TestAStartIsCountedOnceHoweverManyHoldersDieUnderIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	in := b.began("n1")
	rec := b.takeOver(func(r *protocol.OwnerRecord) { r.InflightQ = in })
	if len(rec.Failures) != 1 || rec.Struck != "n1" {
		t.Fatalf("the first death: %v, struck %q", rec.Failures, rec.Struck)
	}
	// The next holders die before they have written a START of their own, and
	// while nothing is being restored.
	for range protocol.MaxFailures {
		rec = b.takeOver(func(r *protocol.OwnerRecord) {
			r.InflightQ, r.Opening, r.Failures, r.Struck = in, false, rec.Failures, "n1"
		})
		if len(rec.Failures) != 1 || rec.State != protocol.RecordAssigned {
			t.Fatalf("counted again: %v, %s", rec.Failures, rec.State)
		}
	}
	// Another START is another death.
	in.Nonce = "n2"
	rec = b.takeOver(func(r *protocol.OwnerRecord) {
		r.InflightQ, r.Opening, r.Failures, r.Struck = in, false, rec.Failures, "n1"
	})
	if len(rec.Failures) != 2 || rec.Struck != "n2" {
		t.Fatalf("the second death: %v, struck %q", rec.Failures, rec.Struck)
	}
}

func TestADeathWhileItWasRestoredIsCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	rec := b.takeOver(func(r *protocol.OwnerRecord) { r.Opening = true })
	if len(rec.Failures) != 1 {
		t.Fatalf("%v", rec.Failures)
	}
	// Both at once are one death.
	in := b.began("n")
	rec = b.takeOver(func(r *protocol.OwnerRecord) { r.InflightQ, r.Opening, r.Failures = in, true, rec.Failures })
	if len(rec.Failures) != 2 {
		t.Fatalf("%v", rec.Failures)
	}
}

func TestAnIdleOwnerOfAWorkerThatDiedIsNotStruck(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	if rec := b.takeOver(func(*protocol.OwnerRecord) {}); len(rec.Failures) != 0 {
		t.Fatalf("%v", rec.Failures)
	}
}

// The fleet was started again while the owner was idle: nobody opened it, and the
// first result of whoever does says what happened to it.
func TestAnOwnerWhoseWorkerWasLostWhileItWasIdleIsToldSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	a := b.assignWith(one, func(r *protocol.OwnerRecord) { r.Generation, r.Lost = 1, true })
	if err := b.control(protocol.VerbAssign, a); err != nil {
		t.Fatal(err)
	}
	close(await(t, "a browser", b.opened).gate)
	res := b.result(one, b.send(one, protocol.KindObserve, nil))
	if res.Restored == nil || res.Restored.Reason != "worker_lost" {
		t.Fatalf("%+v", res.Restored)
	}
	if rec := b.until(one, "written", func(r *protocol.OwnerRecord) bool { return !r.Lost }); len(rec.Failures) != 0 {
		t.Errorf("%v", rec.Failures)
	}
}
