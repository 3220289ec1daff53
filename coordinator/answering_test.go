package coordinator_test

import (
	"math"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestTheCoordinatorAnswersWhatNobodyCanRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created, err := b.conn.StreamCreated(b.ctx(), protocol.ActStream(0))
	if err != nil {
		t.Fatal(err)
	}
	malformed := protocol.SequenceRequestID(b.raw(one, protocol.LaneQueue, []byte(`{"v":1,`)), created)
	expired, _ := b.open(one, expires)
	cancelled, _ := b.open(one)
	cancel, _ := b.store(one, protocol.KindCancel, &protocol.CancelArgs{Request: cancelled})
	unknown, _ := b.store(one, protocol.KindCancel, &protocol.CancelArgs{Request: "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
	interrupt, _ := b.store(one, protocol.KindInterrupt, &protocol.InterruptArgs{Request: cancelled})
	ping, _ := b.store(one, protocol.KindPing, nil)
	badControl := protocol.SequenceRequestID(b.raw(one, protocol.LaneControl, []byte(`nonsense`)), created)
	b.coordinate("c-1", b.conn)
	b.expect(one, malformed, protocol.StatusError, protocol.CodeInvalidRequest)
	b.expect(one, expired, protocol.StatusExpired, protocol.CodeNoCapacity)
	b.expect(one, cancel, protocol.StatusOK, "")
	b.expect(one, cancelled, protocol.StatusCancelled, protocol.CodeCancelled)
	b.expect(one, unknown, protocol.StatusError, protocol.CodeStaleControl)
	b.expect(one, interrupt, protocol.StatusError, protocol.CodeStaleControl)
	b.expect(one, ping, protocol.StatusOK, "")
	b.expect(one, badControl, protocol.StatusError, protocol.CodeInvalidRequest)
	for _, id := range []protocol.RequestID{malformed, expired, cancelled} {
		if res := b.result(one, id); res.Dispatched != protocol.DispatchedNo || res.Worker != "c-1" {
			t.Errorf("%s: dispatched %s by %s", id, res.Dispatched, res.Worker)
		}
	}
	rec := b.until(one, "let go", func(r *protocol.OwnerRecord) bool { return r.State == protocol.RecordUnassigned })
	if !rec.IsDone(expired) || !rec.IsDone(ping) || rec.InflightQ != nil || rec.InflightC != nil {
		t.Errorf("record %+v", rec)
	}
}

func TestRequestsOfFailedAndDeletedOwnersAreAnsweredInPlace(t *testing.T) {
	t.Parallel()
	for state, code := range map[protocol.RecordState]protocol.Code{
		protocol.RecordFailed: protocol.CodeEnvironmentFailed, protocol.RecordDeleted: protocol.CodeEnvironmentDeleted,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put(one, protocol.OwnerRecord{State: state, Generation: 2})
			w := b.worker("w-1", nil)
			b.coordinate("c-1", b.conn)
			first, _ := b.open(one)
			second, _ := b.open(one)
			b.expect(one, first, protocol.StatusError, code)
			b.expect(one, second, protocol.StatusError, code)
			if rec := b.record(one); rec.State != state {
				t.Errorf("the owner became %s", rec.State)
			}
			if len(w.assigned) != 0 {
				t.Error("it was given to a worker")
			}
		})
	}
}

// startedBy is the record that a dead holder left: it had begun the request.
func startedBy(worker protocol.WorkerID, id protocol.RequestID, seq protocol.Seq, effect protocol.Effect) protocol.OwnerRecord {
	return protocol.OwnerRecord{
		State: protocol.RecordAssigned, Worker: worker, Generation: 1,
		InflightQ: &protocol.Inflight{Seq: seq, Request: id, Kind: protocol.KindOpen, Effect: effect, Nonce: "n", Attempt: 1},
	}
}

func TestAnOrphanThatNobodyCanTakeIsAnsweredOutcomeUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, seq := b.open(one, expires)
	next, _ := b.open(one, expires)
	b.put(one, startedBy("ghost", id, seq, protocol.EffectWrite))
	b.coordinate("c-1", b.conn)
	b.expect(one, id, protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
	b.expect(one, next, protocol.StatusExpired, protocol.CodeNoCapacity)
	if res := b.result(one, id); res.Dispatched != protocol.DispatchedUnknown {
		t.Errorf("dispatched %s", res.Dispatched)
	}
}

// A control request with an effect that a dead holder had begun is not done again
// either.
func TestAControlRequestThatADeadHolderBeganIsAnsweredOutcomeUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	interrupt, seq := b.store(one, protocol.KindInterrupt, &protocol.InterruptArgs{Request: "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
	ping, _ := b.store(one, protocol.KindPing, nil)
	b.put(one, protocol.OwnerRecord{
		State: protocol.RecordAssigned, Worker: "ghost",
		InflightC: &protocol.Inflight{Seq: seq, Request: interrupt, Kind: protocol.KindInterrupt, Effect: protocol.EffectWrite, Nonce: "n", Attempt: 1},
	})
	b.coordinate("c-1", b.conn)
	b.expect(one, interrupt, protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
	b.expect(one, ping, protocol.StatusOK, "")
}

// The results' leader is behind what the owner's record proves, and stays so: it
// was restored from an older copy, or made anew. Everybody is answered all the same.
func TestAResultsLeaderThatStaysBehindKeepsNobodyFromAnAnswer(t *testing.T) {
	t.Parallel()
	behind := func(rec protocol.OwnerRecord) protocol.OwnerRecord {
		for range protocol.DoneRing {
			rec.Done = append(rec.Done, protocol.NewRequestID(time.Now()))
		}
		rec.ResultSeq = math.MaxInt64
		return rec
	}
	unassigned := protocol.OwnerRecord{State: protocol.RecordUnassigned}
	for name, tc := range map[string]struct {
		// store stores one request, and makes the record.
		store  func(b *bench) (protocol.RequestID, protocol.OwnerRecord)
		status protocol.Status
		code   protocol.Code
	}{
		"what is due": {func(b *bench) (protocol.RequestID, protocol.OwnerRecord) {
			id, _ := b.open(one, expires)
			return id, unassigned
		}, protocol.StatusExpired, protocol.CodeNoCapacity},
		"an orphan": {func(b *bench) (protocol.RequestID, protocol.OwnerRecord) {
			id, seq := b.open(one, expires)
			return id, startedBy("ghost", id, seq, protocol.EffectWrite)
		}, protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown},
		"a control request": {func(b *bench) (protocol.RequestID, protocol.OwnerRecord) {
			id, _ := b.store(one, protocol.KindPing, nil)
			return id, unassigned
		}, protocol.StatusError, protocol.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id, rec := tc.store(b)
			b.put(one, behind(rec))
			b.coordinate("c-1", b.conn)
			b.expect(one, id, tc.status, tc.code)
			if res := b.result(one, id); (res.Dispatched == protocol.DispatchedNo) == (tc.status == protocol.StatusOutcomeUnknown) {
				t.Errorf("dispatched %s", res.Dispatched)
			}
			after, _ := b.open(one, expires) // the record knows the results again
			b.expect(one, after, protocol.StatusExpired, protocol.CodeNoCapacity)
		})
	}
}

func TestACancelOfAnOrphanIsRefusedByTheCoordinator(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, seq := b.open(one)
	b.put(one, startedBy("ghost", id, seq, protocol.EffectWrite))
	cancel, _ := b.store(one, protocol.KindCancel, &protocol.CancelArgs{Request: id})
	b.coordinate("c-1", b.conn)
	b.expect(one, cancel, protocol.StatusError, protocol.CodeStaleControl)
	// Its START is still there for whoever takes the owner.
	rec := b.until(one, "let go", func(r *protocol.OwnerRecord) bool { return r.State == protocol.RecordUnassigned })
	if rec.InflightQ == nil || rec.InflightQ.Request != id || rec.InflightQ.Effect != protocol.EffectWrite {
		t.Fatalf("START %+v", rec.InflightQ)
	}
}

func TestAHeldOwnerIsNotAnsweredForByTheCoordinator(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	seq := b.put(one, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: w.id})
	// Its holder has written since: a reminder under that fence would look like
	// another assignment, and cost the environment.
	b.put(one, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: w.id, Epoch: protocol.Epoch(seq)})
	b.open(one, expires)
	b.coordinate("c-1", b.conn)
	// The reconcile saw the request: it reminds the holder, under the epoch.
	if a := b.reminder(w, one); a.Fence != seq {
		t.Fatalf("reminded of %+v, want fence %d", a, seq)
	}
	if rec := b.record(one); rec.State != protocol.RecordAssigned || rec.Epoch != protocol.Epoch(seq) {
		t.Fatalf("%+v", rec)
	}
}

func TestAnsweringThatStandsStillIsTakenOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, _ := b.open(one)
	b.put(one, protocol.OwnerRecord{State: protocol.RecordAnswering, Worker: "dead", Since: protocol.At(time.Now().Add(-time.Minute))})
	fresh := b.put(two, protocol.OwnerRecord{State: protocol.RecordAnswering, Worker: "living"})
	other, _ := b.open(two)
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.conn)
	if a := b.assignment(w); a.Key != one {
		t.Fatalf("assigned %+v", a)
	}
	if rec := b.record(two); rec.State != protocol.RecordAnswering || rec.Epoch != protocol.Epoch(fresh) {
		t.Fatalf("one that answers right now was taken over: %+v", rec)
	}
	if a := b.assignment(w); a.Key != two { // five seconds later
		t.Fatalf("assigned %+v", a)
	}
	_, _ = id, other
}
