package worker_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestAnOverdueActionLosesItsOwnBrowserNotTheNextOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	first := b.hold(one)
	id := b.open(one, 10*time.Minute)
	await(t, "the action", first.reached)
	if err := first.Browser.Close(context.Background()); err != nil { // it dies
		t.Fatal(err)
	}
	second := await(t, "another browser", b.opened)
	await(t, "the close of the dead one", first.closed)
	b.send(one, protocol.KindInterrupt, &protocol.InterruptArgs{Request: id})
	await(t, "the second close of the dead one", first.closed)
	select {
	case <-second.closed:
		t.Error("the healthy replacement was closed")
	default:
	}
	close(first.gate)
	b.result(one, id)
}

func TestTheAgentIsToldOfARestoreAlsoIfAFormerHoldersResultStands(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	id, seq := b.sendFor(time.Minute, one, protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"})
	a := b.assignWith(one, func(r *protocol.OwnerRecord) {
		r.Generation = 1
		r.InflightQ = &protocol.Inflight{Seq: seq, Request: id, Kind: protocol.KindOpen, Effect: protocol.EffectWrite, Nonce: "n", Attempt: 1}
	})
	if err := b.control(protocol.VerbAssign, a); err != nil {
		t.Fatal(err)
	}
	br := await(t, "a browser", b.opened)
	await(t, "the look at the page", br.reached)
	// The former holder's result arrives late: it had STARTed the request.
	data, err := json.Marshal(protocol.Result{V: 1, Tenant: "a", Owner: "one", Request: id, Status: protocol.StatusOK, Generation: 1, Nonce: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.conn.Create(b.ctx(), protocol.ResSubject(0, one, id), data, nil); err != nil {
		t.Fatal(err)
	}
	close(br.gate)
	next := b.result(one, b.send(one, protocol.KindObserve, nil))
	if next.Generation != 2 || next.Restored == nil {
		t.Fatalf("generation %d, restored %+v", next.Generation, next.Restored)
	}
}

func TestASlowStoreCostsNoBrowserWhenItsActionIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	close(br.gate)
	b.result(one, b.open(one, 0))
	await(t, "the first dispatch", br.dispatched)
	b.hang.Store(true)
	fill := b.send(one, protocol.KindFill, &protocol.FillArgs{Target: protocol.Target{ElementRef: "e1"}, Value: "x"})
	await(t, "the dispatch", br.dispatched)
	// The action may be about to end; from then on nothing can be stopped.
	for {
		res := b.result(one, b.send(one, protocol.KindCancel, &protocol.CancelArgs{Request: fill}))
		if res.Status == protocol.StatusError && res.Error.Code == protocol.CodeStaleControl {
			break
		}
	}
	b.hang.Store(false)
	res := b.result(one, fill)
	if res.Dispatched == protocol.DispatchedNo {
		t.Fatalf("dispatched, and answered %s %s", res.Status, res.Dispatched)
	}
	select {
	case <-br.closed:
		t.Error("a healthy browser was closed because the store was slow")
	default:
	}
}
