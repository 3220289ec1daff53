package worker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestTheDispatchLogIsWrittenBeforeTheDispatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	id := b.open(one, 0)
	await(t, "the action", br.reached)
	rec, _ := b.record(one)
	if in := rec.InflightQ; in == nil || in.Request != id {
		t.Fatalf("the page could be reached before START: %+v", in)
	}
	if strings.Contains(br.logged(), string(id)) {
		t.Fatal("logged before the last gate")
	}
	close(br.gate)
	if seen := await(t, "the dispatch", br.seen); !strings.Contains(seen, string(id)) {
		t.Fatal("dispatched before the log had the line")
	}
	if res := b.result(one, id); res.Status != protocol.StatusOK || res.Epoch != rec.Epoch {
		t.Fatalf("%+v", res)
	}
}

func TestNothingIsDispatchedWithoutContactAndWithoutTheRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	id := b.open(one, 4*time.Second)
	await(t, "the action", br.reached)
	b.wire.Watch(nil, func(fleettest.Frame) bool { return false }) // deaf
	await(t, "the suspension", br.suspended)
	close(br.gate)
	if err := await(t, "the refusal", br.dispatched); err == nil {
		t.Fatal("dispatched while suspended")
	}
	b.wire.Watch(nil, nil)
	res := b.result(one, id)
	if res.Status != protocol.StatusError || res.Dispatched != protocol.DispatchedNo {
		t.Fatalf("%s, dispatched %s, %v", res.Status, res.Dispatched, res.Error)
	}
	if strings.Contains(br.logged(), string(id)) {
		t.Fatal("the log says that it was dispatched")
	}
}

// Without a PONG the record decides: if it can be written, the owner is ours.
func TestWithoutFreshContactTheRecordIsWrittenBeforeTheDispatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	id := b.open(one, 0)
	await(t, "the action", br.reached)
	_, before := b.record(one)
	b.wire.Watch(nil, func(f fleettest.Frame) bool { return f.Op != "PONG" })
	await(t, "the suspension", br.suspended)
	close(br.gate)
	if err := await(t, "the dispatch", br.dispatched); err != nil {
		t.Fatal(err)
	}
	if _, after := b.record(one); after <= before {
		t.Fatal("dispatched without fresh contact, and the record was not written again")
	}
	b.wire.Watch(nil, nil)
	if res := b.result(one, id); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res)
	}
}

// A worker that lost contact and has it again dispatches nothing before its browser's
// way out is open: its own proxy would refuse what the action loads.
func TestAnActionWaitsForItsWayOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	id := b.open(one, 0)
	await(t, "the action", br.reached)
	b.wire.Watch(nil, func(f fleettest.Frame) bool { return f.Op != "PONG" })
	await(t, "the suspension", br.suspended)
	b.wire.Watch(nil, nil)
	close(br.gate)
	if !await(t, "the dispatch", br.open) {
		t.Error("dispatched while nothing may leave the browser")
	}
	if res := b.result(one, id); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res.Error)
	}
}

// Nothing begins while suspended, although requests still arrive.
func TestNothingIsStartedWhileSuspended(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	close(br.gate)
	pushed, reconnects := make(chan struct{}, 64), make(chan struct{}, 64)
	writes := make(chan struct{}, 64)
	b.wire.Watch(func(f fleettest.Frame) bool {
		switch {
		case f.Subject == protocol.OwnSubject(0, one):
			writes <- struct{}{}
		case f.Op == "CONNECT":
			reconnects <- struct{}{}
		}
		return true
	}, func(f fleettest.Frame) bool {
		if strings.HasPrefix(f.Subject, "bf.push.") {
			pushed <- struct{}{}
		}
		return f.Op != "PONG"
	})
	await(t, "the suspension", br.suspended)
	for len(writes) > 0 {
		<-writes
	}
	id := b.open(one, 0)
	await(t, "the push", pushed)
	await(t, "the connection's end", reconnects) // a second later
	if len(writes) > 0 || len(br.reached) > 0 {
		t.Fatal("an action was started while suspended")
	}
	b.wire.Watch(nil, nil)
	if res := b.result(one, id); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res.Error)
	}
}

// A worker that was replaced between START and dispatch does not dispatch.
func TestAFenceBetweenStartAndDispatchStopsTheDispatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	id := b.open(one, 0)
	await(t, "the action", br.reached)
	b.wire.Watch(nil, func(f fleettest.Frame) bool { return f.Op != "PONG" })
	await(t, "the suspension", br.suspended)
	b.assign(one) // another epoch; the worker is not told
	close(br.gate)
	if err := await(t, "the refusal", br.dispatched); err == nil || strings.Contains(br.logged(), string(id)) {
		t.Fatal("a fenced worker dispatched")
	}
	await(t, "the end of the browser", br.closed)
}
