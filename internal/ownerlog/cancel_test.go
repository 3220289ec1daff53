package ownerlog_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestCancelOfAQueuedRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	waiting := b.store(h, protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/"})
	cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: waiting.ID})
	queue := h.NewLane(protocol.LaneQueue)
	if _, err := h.CancelQueued(b.ctx(), cancel, queue, waiting.ID, me); err == nil {
		t.Fatal("cancelled before the cancel was STARTed")
	}
	b.start(h, cancel)
	if rec, _ := b.record(); rec.InflightC == nil || rec.InflightC.Target != waiting.ID {
		t.Fatalf("the START of a cancel does not name its target: %+v", rec.InflightC)
	}
	found, err := h.CancelQueued(b.ctx(), cancel, queue, waiting.ID, me)
	if err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	res := b.result(waiting.ID)
	if res == nil || res.Status != protocol.StatusCancelled || res.Dispatched != protocol.DispatchedNo || res.Worker != me {
		t.Fatalf("%+v", res)
	}
	if h.Record().CursorQ != 0 {
		t.Fatal("the cancel moved the queue's cursor")
	}
	// The FIFO finds the result when it gets there.
	if started := b.start(h, waiting); started.Answered == nil {
		t.Fatal("the cancelled request would run")
	}
}

func TestCancelOfWhatIsNotQueued(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	answered := b.observe(h)
	b.answer(h, answered)
	for name, target := range map[string]protocol.RequestID{
		"answered": answered.ID, "unknown": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: target})
		b.start(h, cancel)
		if found, err := h.CancelQueued(b.ctx(), cancel, h.NewLane(protocol.LaneQueue), target, me); found || err != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if res := b.result(answered.ID); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res)
	}
}

// What a former holder began may have had its effect: "cancelled, nothing was
// dispatched" would be a lie.
func TestCancelOfAnOrphanIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	former := b.claim()
	orphan := b.store(former, protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/"})
	b.start(former, orphan)
	b.assign(former.Fence(), "w-2")
	h := b.claim()
	cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: orphan.ID})
	b.start(h, cancel)
	found, err := h.CancelQueued(b.ctx(), cancel, h.NewLane(protocol.LaneQueue), orphan.ID, me)
	if found || err != nil || b.result(orphan.ID) != nil {
		t.Fatalf("%v, %v, %+v", found, err, b.result(orphan.ID))
	}
}

// A refusal is the request's answer: of one that was sent again too late, nobody
// knows any more whether it ran.
func TestCancelOfARefusedRequestLeavesItsRefusal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	r, err := protocol.NewRequest(protocol.KindObserve, nil, time.Now().Add(-protocol.ResendHorizon-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	late := b.admit(h, protocol.LaneQueue, b.publish(protocol.LaneQueue, body, nil))
	cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: late.ID})
	b.start(h, cancel)
	found, err := h.CancelQueued(b.ctx(), cancel, h.NewLane(protocol.LaneQueue), late.ID, me)
	if found || err != nil || b.result(late.ID) != nil {
		t.Fatalf("%v, %v, %+v", found, err, b.result(late.ID))
	}
}

// The ring decides first: a result that is gone is not replaced by "cancelled".
func TestCancelOfWhatTheRingKnowsIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	answered := b.observe(h)
	b.answer(h, answered)
	again := b.admit(h, protocol.LaneQueue, b.publish(protocol.LaneQueue, answered.Data, nil))
	operator := b.Operator(t)
	if err := operator.JS.DeleteStream(b.ctx(), protocol.ResStream(0)); err != nil {
		t.Fatal(err)
	}
	if err := operator.Provision(b.ctx(), protocol.Shards(1), 1); err != nil {
		t.Fatal(err)
	}
	cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: again.ID})
	b.start(h, cancel)
	found, err := h.CancelQueued(b.ctx(), cancel, h.NewLane(protocol.LaneQueue), again.ID, me)
	if found || err != nil || b.result(again.ID) != nil {
		t.Fatalf("%v, %v, %+v", found, err, b.result(again.ID))
	}
}
