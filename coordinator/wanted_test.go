package coordinator_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// acquire asks as an agent; the answer comes when the test calls what it returns.
func (b *bench) acquire(k protocol.OwnerKey, q protocol.AcquireQuery) (answer func() protocol.AcquireReply) {
	b.t.Helper()
	q.V = protocol.Version
	var reply protocol.AcquireReply
	var asking sync.WaitGroup
	asking.Go(func() { b.service(protocol.ServiceAcquire, k, q, &reply) })
	b.t.Cleanup(asking.Wait)
	return func() protocol.AcquireReply {
		asking.Wait()
		return reply
	}
}

func (b *bench) service(verb string, k protocol.OwnerKey, body, reply any) {
	data, err := json.Marshal(body)
	if err != nil {
		b.t.Error(err)
		return
	}
	m, err := b.agent.Request(protocol.AgentServiceSubject(verb, k.Owner), data, protocol.MaxLifeWait)
	if err != nil {
		b.t.Errorf("%s: %v", verb, err)
		return
	}
	if err := json.Unmarshal(m.Data, reply); err != nil {
		b.t.Errorf("%s: %v", verb, err)
	}
}

// Who acquires waits behind those who came before, and before those who came
// later; it gets its environment under its own reason.
func TestAnAcquireWaitsInTheLineLikeEverybody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.coordinate("c-1", b.conn)
	b.led()
	b.open(key(0))
	b.eventually("one to wait", func() bool { return b.explain(key(0)).Position == 1 })
	answer := b.acquire(two, protocol.AcquireQuery{TimeoutMS: protocol.MaxLifeWait.Milliseconds()})
	b.eventually("the acquire to wait", func() bool { return b.explain(two).Position == 2 })
	b.open(key(1))
	b.eventually("another one to wait", func() bool { return b.explain(key(1)).Position == 3 })
	first := b.puppet("w-1", 1, nil)
	if a := b.assignment(first); a.Key != key(0) {
		t.Fatalf("%+v", a)
	}
	second := b.puppet("w-2", 1, nil)
	if a := b.assignment(second); a.Key != two || a.Reason != "acquired" {
		t.Fatalf("%+v", a)
	}
	if reply := answer(); !reply.OK {
		t.Fatalf("%+v", reply)
	}
}

// When its time is over it is told its place, and waits no more.
func TestAnAcquireThatNobodyCouldServeIsToldItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.coordinate("c-1", b.conn)
	b.open(key(0))
	b.eventually("one to wait", func() bool { return b.explain(key(0)).Position == 1 })
	reply := b.acquire(two, protocol.AcquireQuery{TimeoutMS: 10_000})()
	if e := reply.Error; e == nil || e.Code != protocol.CodeNoCapacity || e.Position != 2 || e.RetryAfterMS == 0 || e.Dispatched != protocol.DispatchedNo {
		t.Errorf("%+v", e)
	}
	b.eventually("the line to forget it", func() bool {
		x := b.explain(two)
		return x.Owner != nil && x.Position == 0
	})
}

// Whoever gives up leaves the line, and nothing is opened for it.
func TestAWithdrawnAcquireLeavesTheLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.coordinate("c-1", b.conn)
	b.led()
	answer := b.acquire(one, protocol.AcquireQuery{Lease: "mine", TimeoutMS: protocol.MaxLifeWait.Milliseconds()})
	other := b.acquire(one, protocol.AcquireQuery{Lease: "other", TimeoutMS: protocol.MaxLifeWait.Milliseconds()})
	b.until(one, "wanted by both", func(r *protocol.OwnerRecord) bool { return r.Wants("mine") && r.Wants("other") })
	release := func(id protocol.LeaseID) {
		t.Helper()
		var reply protocol.ControlReply
		if b.service(protocol.ServiceRelease, one, protocol.ReleaseQuery{V: protocol.Version, Lease: id}, &reply); !reply.OK {
			t.Errorf("release: %+v", reply)
		}
	}
	release("mine")
	if reply := answer(); reply.Error == nil || reply.Error.Code != protocol.CodeCancelled {
		t.Errorf("%+v", reply)
	}
	if rec := b.record(one); !rec.Wants("other") {
		t.Errorf("the other's wait ended as well: %+v", rec)
	}
	release("other")
	other()
	b.eventually("nobody to wait", func() bool { return b.explain(one).Position == 0 })
	b.open(two)
	if a := b.assignment(b.worker("w-1", nil)); a.Key != two {
		t.Errorf("%+v", a)
	}
}
