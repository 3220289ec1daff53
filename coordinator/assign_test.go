package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestANewOwnerIsAssignedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.conn)
	b.open(one)
	b.open(one)
	a := b.assignment(w)
	rec := b.record(one)
	if a.Key != one || a.Reason != "new" || protocol.Epoch(a.Fence) != rec.Epoch || rec.State != protocol.RecordAssigned || rec.Worker != w.id {
		t.Fatalf("assignment %+v, record %+v", a, rec)
	}
	if last, err := b.conn.StreamLast(b.ctx(), protocol.OwnStream(0)); err != nil || last != a.Fence {
		t.Fatalf("%d records, %v", last, err)
	}
}

func TestAWorkerThatRefusesIsPassedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refuses := b.worker("w-1", protocol.Errorf(protocol.CodeNoCapacity, "")) // first by its id
	takes := b.worker("w-2", nil)
	b.coordinate("c-1", b.conn)
	b.open(one)
	a := b.assignment(takes)
	if rec := b.record(one); rec.Worker != takes.id || rec.Epoch != protocol.Epoch(a.Fence) {
		t.Fatalf("%+v", rec)
	}
	_ = refuses
}

// A refused owner is nobody's: what is due is answered, and the next worker with
// room gets it.
func TestAnOwnerThatEverybodyRefusesIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refuses := b.worker("w-1", protocol.Errorf(protocol.CodeNoCapacity, ""))
	b.coordinate("c-1", b.conn)
	expired, _ := b.open(one, expires)
	b.assignment(refuses)
	b.expect(one, expired, protocol.StatusExpired, protocol.CodeNoCapacity)
	b.open(one)
	b.assignment(refuses)
	takes := b.worker("w-0", nil)
	b.assignment(takes)
	b.until(one, "the other worker's", func(r *protocol.OwnerRecord) bool {
		return r.State == protocol.RecordAssigned && r.Worker == takes.id
	})
}

func TestARecordOfAWorkerNeverHeardOfIsReassigned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	epoch := b.put(one, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "ghost", Generation: 7, Opening: true})
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.conn)
	a := b.assignment(w)
	rec := b.record(one)
	if a.Reason != "worker_lost" || rec.Worker != w.id || rec.Epoch <= protocol.Epoch(epoch) || rec.Generation != 7 {
		t.Fatalf("%+v, %+v", a, rec)
	}
}

func TestAMovingOwnerIsPlacedWithoutARequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.coordinate("c-1", b.conn)
	w := b.worker("w-1", nil)
	b.put(one, protocol.OwnerRecord{State: protocol.RecordMoving, Worker: "w-0"})
	if a := b.assignment(w); a.Reason != "moved" {
		t.Fatalf("%+v", a)
	}
}

// The worker that drains is the emptiest, and its heartbeats do not say yet that it
// drains.
func TestTheWorkerThatLetGoIsNotOfferedTheOwnerAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	drains := b.puppet("w-1", 60, nil)
	takes := b.puppet("w-2", 2, nil)
	b.coordinate("c-1", b.conn)
	b.eventually("both workers to be known", func() bool { return len(b.workers()) == 2 })
	b.put(one, protocol.OwnerRecord{State: protocol.RecordMoving, Worker: drains.id})
	if a := b.assignment(takes); a.Key != one || a.Reason != "moved" {
		t.Fatalf("%+v", a)
	}
}

// It may be the only one that there is.
func TestAnOwnerGoesBackToTheOnlyWorkerThereIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.conn)
	b.put(one, protocol.OwnerRecord{State: protocol.RecordMoving, Worker: w.id})
	if a := b.assignment(w); a.Key != one || a.Reason != "moved" {
		t.Fatalf("%+v", a)
	}
}

func TestAHibernatedOwnerSleepsUntilARequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(one, protocol.OwnerRecord{State: protocol.RecordHibernated})
	b.put(two, protocol.OwnerRecord{State: protocol.RecordMoving})
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.conn)
	if a := b.assignment(w); a.Key != two {
		t.Fatalf("woken without a request: %+v", a)
	}
	b.open(one)
	if a := b.assignment(w); a.Key != one || a.Reason != "wake" {
		t.Fatalf("%+v", a)
	}
}

// deafTo is a coordinator's connection that loses messages of some subjects.
func (b *bench) deafTo(prefix string) *natsx.Conn {
	b.t.Helper()
	wire := fleettest.NewWire(b.t, strings.TrimPrefix(b.URL, "nats://"))
	wire.Watch(nil, func(f fleettest.Frame) bool { return !strings.HasPrefix(f.Subject, prefix) })
	options := b.Options(deploy.UserCoordinator)
	options.URL = wire.URL()
	conn, err := natsx.Connect(b.ctx(), options)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(conn.Close)
	return conn
}

func TestAnOwnerWhosePushWasLostIsWoken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.deafTo("bf.push."))
	b.open(one)
	if a := b.assignment(w); a.Key != one {
		t.Fatalf("%+v", a)
	}
}

func TestARequestStoredWhileNoCoordinatorRanIsServed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.open(one)
	b.put(two, protocol.OwnerRecord{State: protocol.RecordHibernated})
	b.store(two, protocol.KindPing, nil) // lane c wakes as well
	b.coordinate("c-1", b.conn)
	got := map[protocol.OwnerKey]bool{b.assignment(w).Key: true, b.assignment(w).Key: true}
	if !got[one] || !got[two] {
		t.Fatalf("%v", got)
	}
}

func TestTheLeaseMovesToTheLivingCoordinator(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	first := b.Fleet(t)
	b.coordinate("c-1", first)
	b.open(one)
	b.assignment(w)
	b.coordinate("c-2", b.conn)
	first.Close() // to the servers a dead machine: nothing is released
	b.open(two)
	if a := b.assignment(w); a.Key != two {
		t.Fatalf("%+v", a)
	}
	if rec := b.record(one); rec.State != protocol.RecordAssigned || rec.Worker != w.id {
		t.Fatalf("the takeover moved an owner: %+v", rec)
	}
}

// Two coordinators, one of them cut off and back: every change of an epoch is
// one record and one assignment.
func TestTwoCoordinatorsAssignEachOwnerOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.Fleet(t))
	b.coordinate("c-2", b.Fleet(t))
	const owners = 20
	for i := range owners {
		b.open(protocol.OwnerKey{Tenant: "a", Owner: protocol.Owner(fmt.Sprintf("o%d", i))})
	}
	told := map[protocol.OwnerKey]protocol.Seq{}
	for range owners {
		a := b.assignment(w)
		if told[a.Key] != 0 {
			t.Fatalf("%s was assigned at %d and at %d", a.Key, told[a.Key], a.Fence)
		}
		told[a.Key] = a.Fence
	}
	if last, err := b.conn.StreamLast(b.ctx(), protocol.OwnStream(0)); err != nil || last != owners {
		t.Fatalf("%d records of %d owners, %v", last, owners, err)
	}
}

// A fleet that is started again does not open what was idle when it ended: the
// next action does, and is told.
func TestAnIdleOwnerOfAWorkerNeverHeardOfIsLetGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(one, protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "ghost", Generation: 7})
	b.put(two, protocol.OwnerRecord{
		State: protocol.RecordAssigned, Worker: "ghost", Generation: 3,
		Leases: []protocol.ClientLease{{ID: "l", TTLMS: 3_600_000, Expires: protocol.At(time.Now().Add(time.Hour))}},
	})
	w := b.worker("w-1", nil)
	b.coordinate("c-1", b.conn)
	if a := b.assignment(w); a.Key != two || a.Reason != "worker_lost" {
		t.Fatalf("whom somebody has in hand: %+v", a)
	}
	rec := b.until(one, "let go", func(r *protocol.OwnerRecord) bool { return r.State == protocol.RecordUnassigned })
	if rec.Worker != "" || !rec.Lost || rec.Generation != 7 {
		t.Errorf("%+v", rec)
	}
	b.open(one)
	if a := b.assignment(w); a.Key != one || !b.record(one).Lost {
		t.Errorf("%+v, %+v", a, b.record(one))
	}
}

// A coordinator that ends in order leaves no lease behind.
func TestACoordinatorThatEndsGivesItsLeaseBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	stop := b.coordinate("c-1", b.conn)
	b.open(one)
	b.assignment(w)
	stop()
	m, err := b.conn.LeaderLast(b.ctx(), "KV_"+protocol.LeaderBucket, "$KV."+protocol.LeaderBucket+".shard-0")
	if err != nil || len(m.Data) != 0 {
		t.Fatalf("%q, %v", m.Data, err)
	}
}
