package ownerlog_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// queue is a lane with the pushes of its owner.
type queue struct {
	*bench
	h      *ownerlog.Holder
	lane   *ownerlog.Lane
	pushes chan *nats.Msg
}

// newQueue is a filled lane: nothing is missing when the test begins.
func newQueue(t *testing.T) *queue {
	t.Helper()
	b := newBench(t)
	q := &queue{bench: b, h: b.claim(), pushes: b.subscribe(b.conn.NC, "bf.push.0.>")}
	q.lane = q.h.NewLane(protocol.LaneQueue)
	q.fill(true)
	return q
}

func (q *queue) fill(leader bool) {
	q.t.Helper()
	if err := q.lane.Fill(q.ctx(), leader); err != nil {
		q.t.Fatal(err)
	}
}

// put stores a body and returns the push of it.
func (q *queue) put(body string) natsx.Message {
	q.t.Helper()
	q.publish(protocol.LaneQueue, []byte(body), nil)
	return q.read()
}

func (q *queue) read() natsx.Message {
	q.t.Helper()
	m, err := natsx.ReadPush(q.next(q.pushes))
	if err != nil {
		q.t.Fatal(err)
	}
	return m
}

// bodies drains the lane.
func (q *queue) bodies() []string {
	var all []string
	for _, m := range q.lane.Waiting() {
		all = append(all, string(m.Data))
	}
	return all
}

func (q *queue) expect(want ...string) {
	q.t.Helper()
	if d := cmp.Diff(want, q.bodies()); d != "" {
		q.t.Fatalf("the lane (-want +got):\n%s", d)
	}
}

func TestPushesInOrderNeedNoRead(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var reads atomic.Int32
	q.wire.Watch(func(f fleettest.Frame) bool {
		if strings.HasPrefix(f.Subject, "$JS.API.") {
			reads.Add(1)
		}
		return true
	}, nil)
	for _, body := range []string{"1", "2", "3"} {
		if q.lane.Push(q.put(body)) {
			t.Fatalf("push %s made a gap", body)
		}
	}
	q.expect("1", "2", "3")
	if reads.Load() != 0 || q.lane.Gap() {
		t.Fatalf("%d reads, gap %v", reads.Load(), q.lane.Gap())
	}
}

func TestALostPushIsAGapAndIsRepairedInOrder(t *testing.T) {
	t.Parallel()
	for _, leader := range []bool{false, true} {
		q := newQueue(t)
		q.lane.Push(q.put("1"))
		q.put("lost")
		third, fourth := q.put("3"), q.put("4")
		if !q.lane.Push(third) || !q.lane.Push(fourth) {
			t.Fatal("no gap behind a lost push")
		}
		q.expect("1") // nothing from behind the gap
		q.fill(leader)
		q.expect("1", "lost", "3", "4")
		if q.lane.Gap() || q.lane.Last() != fourth.Seq {
			t.Fatalf("gap %v, last %d", q.lane.Gap(), q.lane.Last())
		}
		if q.lane.Push(q.put("5")) {
			t.Fatal("the gap is repaired, and the next push makes one again")
		}
		q.expect("1", "lost", "3", "4", "5")
	}
}

func TestNeighboursAreNoGap(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.lane.Push(q.put("1"))
	if _, err := q.agent.Request("act.two.q", []byte("neighbour"), patience); err != nil {
		t.Fatal(err)
	}
	q.publish(protocol.LaneControl, []byte("control"), nil)
	neighbour, control := q.read(), q.read()
	if q.lane.Push(neighbour) || q.lane.Push(control) || q.lane.Push(q.put("2")) {
		t.Fatal("another subject made a gap")
	}
	q.expect("1", "2")
}

// After a purge the server says that nothing came before: that is no gap.
func TestAPurgeIsNoGap(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	first := q.put("1")
	q.lane.Push(first)
	q.lane.Drop()
	if err := q.rival.PurgeTo(q.ctx(), protocol.ActStream(0), protocol.ActSubject(0, key, protocol.LaneQueue), first.Seq); err != nil {
		t.Fatal(err)
	}
	m := q.put("2")
	if m.LastSeq != 0 {
		t.Fatalf("last sequence %d after a purge", m.LastSeq)
	}
	if q.lane.Push(m) {
		t.Fatal("a purge made a gap")
	}
	q.expect("2")
}

func TestDuplicatesAreDropped(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	first, second := q.put("1"), q.put("2")
	q.lane.Push(first)
	q.lane.Push(first)
	q.lane.Push(second)
	q.lane.Push(first)
	q.lane.Suspect()
	q.fill(true) // a read must not bring them again
	q.lane.Push(second)
	q.expect("1", "2")
}

func TestALateReadCannotEndAGapEarly(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.lane.Push(q.put("1"))
	// The push of a request that the asked follower does not have yet.
	pushed := natsx.Message{Subject: protocol.ActSubject(0, key, protocol.LaneQueue), Seq: q.lane.Last() + 2, LastSeq: q.lane.Last() + 1, Time: time.Now()}
	if !q.lane.Push(pushed) {
		t.Fatal("no gap")
	}
	q.fill(false)
	if !q.lane.Gap() {
		t.Fatal("a follower that is behind ended the gap")
	}
	if next := q.put("2"); !q.lane.Push(next) {
		t.Fatal("a push was taken across the gap")
	}
	q.fill(false)
	q.expect("1", "2")
	if !q.lane.Gap() {
		t.Fatal("the gap ended below the pushed sequence")
	}
	// Nor may the leader end it: an old server that leads has not caught up at
	// once. What it does not have for long was purged; nothing is skipped for it.
	q.fill(true)
	if !q.lane.Gap() || q.lane.Last() >= pushed.Seq {
		t.Fatalf("gap %v, last %d", q.lane.Gap(), q.lane.Last())
	}
}

func TestForgedHeadersMoveNothing(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.lane.Push(q.put("1"))
	seq := q.publish(protocol.LaneQueue, []byte("2"), nats.Header{
		"Nats-Stream": {protocol.ActStream(0)}, "Nats-Subject": {protocol.ActSubject(0, protocol.OwnerKey{Tenant: "b", Owner: "one"}, protocol.LaneQueue)},
		"Nats-Sequence": {"999999"}, "Nats-Last-Sequence": {"999998"}, "Nats-Time-Stamp": {"2001-01-01T00:00:00Z"}, "Status": {"404"},
	})
	m := q.read()
	if q.lane.Push(m) || q.lane.Gap() || q.lane.Last() != seq {
		t.Fatalf("gap %v, last %d, want %d", q.lane.Gap(), q.lane.Last(), seq)
	}
	q.expect("1", "2")
	if at := q.lane.Waiting()[1].StoredAt; at.Year() < 2020 {
		t.Fatalf("stored at %v", at)
	}
	q.lane.Suspect()
	q.publish(protocol.LaneQueue, []byte("3"), nats.Header{"Status": {"404"}, "Nats-Sequence": {"1"}})
	q.fill(false)
	q.expect("1", "2", "3")
}

func TestANewLaneBeginsBehindTheCursorAndLooks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	b.answer(h, b.observe(h))
	second := b.observe(h)
	lane := h.NewLane(protocol.LaneQueue)
	if !lane.Gap() || lane.Len() != 0 {
		t.Fatal("a new lane believes that it knows everything")
	}
	if err := lane.Fill(b.ctx(), true); err != nil {
		t.Fatal(err)
	}
	head, found := lane.Head()
	if !found || lane.Len() != 1 || head.Seq != second.Seq {
		t.Fatalf("%d wait, the first is %+v", lane.Len(), head)
	}
}

func TestAFullQueueIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var want []string
	for i := range protocol.QueueDepth {
		want = append(want, string(rune('0'+i)))
		q.put(want[i])
	}
	q.lane.Suspect()
	q.fill(false)
	q.expect(want...)
	if q.lane.Gap() {
		t.Fatal("a gap remains")
	}
}

func TestPeekSeesTheFirstRequestBehindTheCursor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
		if got, err := ownerlog.Peek(b.ctx(), b.rival, 0, key, h.Record(), lane); err != nil || len(got) != 0 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	b.answer(h, b.observe(h))
	second, _ := b.observe(h), b.observe(h)
	got, err := ownerlog.Peek(b.ctx(), b.rival, 0, key, h.Record(), protocol.LaneQueue)
	if err != nil || len(got) != 1 || got[0].Seq != second.Seq {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = ownerlog.Peek(b.ctx(), b.rival, 0, key, nil, protocol.LaneQueue); err != nil || got[0].Seq == second.Seq {
		t.Fatalf("without a record: %+v, %v", got, err)
	}
}

// A push can still be on its way when its stream is made anew. Its sequence is of
// the old stream and would hide the new one's first requests.
func TestAPushOfAnEarlierStreamHidesNothing(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	old := natsx.Message{
		Subject: protocol.ActSubject(0, key, protocol.LaneQueue), Seq: 1000,
		Time: q.h.StreamCreated().Add(-time.Minute), Data: []byte("old"),
	}
	if !q.lane.Push(old) {
		t.Error("the lane does not ask the stream")
	}
	q.fill(true)
	if q.lane.Last() >= old.Seq || q.lane.Gap() {
		t.Fatalf("at %d, gap %v", q.lane.Last(), q.lane.Gap())
	}
	fresh := q.put("fresh")
	q.lane.Push(fresh)
	q.fill(true)
	if diff := cmp.Diff([]string{"fresh"}, q.bodies()); diff != "" {
		t.Fatal(diff)
	}
}
