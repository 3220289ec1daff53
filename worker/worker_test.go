package worker_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker"
)

func TestSlotsBoundWhatAWorkerTakes(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	first := b.assign(one)
	if err := b.control(protocol.VerbAssign, first); err != nil {
		t.Fatal(err)
	}
	await(t, "a browser", b.opened)
	if err := b.control(protocol.VerbAssign, b.assign(two)); err == nil || err.Code != protocol.CodeNoCapacity {
		t.Fatalf("a second owner in one slot: %v", err)
	}
	if err := b.control(protocol.VerbAssign, first); err != nil {
		t.Fatalf("the same assignment again: %v", err)
	}
	if err := b.control(protocol.VerbRelease, first); err != nil {
		t.Fatal(err)
	}
	b.untilState(one, protocol.RecordMoving)
	b.assignWhenFree(two)
	await(t, "the browser of the next owner", b.opened)
	if len(b.opened) != 0 {
		t.Fatal("a repeated assignment opened a browser")
	}
}

// assignWhenFree assigns an owner as soon as the slot of one that was let go is
// free: its record says so a moment earlier.
func (b *bench) assignWhenFree(key protocol.OwnerKey) {
	b.t.Helper()
	a := b.assign(key)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		err := b.control(protocol.VerbAssign, a)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("the slot stays taken: %v", err)
		}
	}
}

func (b *bench) untilState(key protocol.OwnerKey, want protocol.RecordState) *protocol.OwnerRecord {
	b.t.Helper()
	return b.until(key, string(want), func(r *protocol.OwnerRecord) bool { return r.State == want })
}

// until waits for a record that is as wanted.
func (b *bench) until(key protocol.OwnerKey, what string, is func(*protocol.OwnerRecord) bool) *protocol.OwnerRecord {
	b.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		rec, _ := b.record(key)
		if is(rec) {
			return rec
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("the record of %s is not %s: %+v", key, what, rec)
		}
	}
}

func TestControlRequestsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	for name, tc := range map[string]struct {
		verb string
		body any
		want protocol.Code
	}{
		"not an assignment":    {protocol.VerbAssign, 17, protocol.CodeInvalidRequest},
		"another version":      {protocol.VerbAssign, protocol.Assignment{V: 9, Key: one}, protocol.CodeInvalidRequest},
		"not an owner of ours": {protocol.VerbRelease, protocol.Assignment{V: protocol.Version, Key: two}, protocol.CodeNotFound},
		"an unknown verb":      {"explode", nil, protocol.CodeUnknownAction},
	} {
		if err := b.control(tc.verb, tc.body); err == nil || err.Code != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An assignment is a hint: the record decides.
func TestAnAssignmentThatTheRecordDoesNotKnowOpensNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	lie := b.assign(one)
	lie.Fence++ // of an assignment that is not there (yet)
	for _, a := range []protocol.Assignment{lie, {V: protocol.Version, Key: two, Fence: 1}} {
		if err := b.control(protocol.VerbAssign, a); err != nil {
			t.Fatal(err)
		}
	}
	beats := make(chan *nats.Msg, 64)
	if _, err := b.conn.NC.ChanSubscribe(protocol.HeartbeatSubject(b.id), beats); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); b.heartbeat(beats).Owners > 0; {
		if time.Now().After(end) || len(b.opened) > 0 {
			t.Fatal("the worker holds what is not assigned to it")
		}
	}
	if len(b.opened) != 0 {
		t.Fatal("a browser was opened")
	}
}

func (b *bench) heartbeat(beats chan *nats.Msg) protocol.Heartbeat {
	b.t.Helper()
	var hb protocol.Heartbeat
	if err := json.Unmarshal(await(b.t, "a heartbeat", beats).Data, &hb); err != nil {
		b.t.Fatal(err)
	}
	return hb
}

func TestAHigherFenceReplacesTheEnvironment(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	first := b.hold(one)
	before, _ := b.record(one)
	second := b.hold(one) // in the same slot: the former one makes room
	await(t, "the end of the replaced browser", first.closed)
	close(second.gate)
	res := b.result(one, b.open(one, 0))
	if res.Status != protocol.StatusOK || res.Epoch <= before.Epoch {
		t.Fatalf("%s in epoch %d, before %d", res.Status, res.Epoch, before.Epoch)
	}
	// An older assignment that arrives late changes nothing.
	if err := b.control(protocol.VerbAssign, protocol.Assignment{V: protocol.Version, Key: one, Fence: protocol.Seq(before.Epoch)}); err != nil {
		t.Fatal(err)
	}
	if res := b.result(one, b.open(one, 0)); res.Status != protocol.StatusOK || len(b.opened) != 0 {
		t.Fatalf("%s, %d more browsers", res.Status, len(b.opened))
	}
}

func TestADrainHandsOverAndTakesNothingMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	id := b.open(one, 0)
	await(t, "the action", br.reached) // it is waited for
	if err := b.control(protocol.VerbDrain, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.control(protocol.VerbAssign, b.assign(two)); err == nil || err.Code != protocol.CodeNoCapacity {
		t.Fatalf("a draining worker took an owner: %v", err)
	}
	close(br.gate)
	if res := b.result(one, id); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res)
	}
	b.stop()
	await(t, "the end of the browser", br.closed)
	if rec, _ := b.record(one); rec.State != protocol.RecordMoving || !rec.IsDone(id) {
		t.Fatalf("%+v", rec)
	}
}

// quickDrain is for tests of what happens when its time is over.
func quickDrain(c *worker.Config) { c.DrainTimeout = time.Second }

func TestADrainThatIsLateNamesWhatItCloses(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4, quickDrain)
	br := b.hold(one)
	b.wire.Watch(func(f fleettest.Frame) bool { return !strings.HasPrefix(f.Subject, "bf.own.") }, nil)
	b.stop() // returns: the drain has a deadline
	await(t, "the end of the browser", br.closed)
	if !b.said.has("not handed over in time") || !b.said.has("owner="+one.String()) {
		t.Fatalf("the log does not name what was lost:\n%s", b.said.text())
	}
	if rec, _ := b.record(one); rec.State != protocol.RecordAssigned {
		t.Fatalf("%+v", rec)
	}
}

// cut holds up everything in both directions until it is healed.
func (b *bench) cut() (heal func()) {
	open := make(chan struct{})
	hold := func(fleettest.Frame) bool { <-open; return true }
	b.wire.Watch(hold, hold)
	heal = sync.OnceFunc(func() { b.wire.Watch(nil, nil); close(open) })
	b.t.Cleanup(heal)
	return heal
}

func TestNoPongForTwoSecondsSuspendsUntilTheRecordIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	close(br.gate)
	_ = b.result(one, b.open(one, 0))
	_, before := b.record(one)
	heal := b.cut()
	await(t, "the suspension", br.suspended)
	if len(br.resumed) != 0 || br.live() {
		t.Fatal("resumed, or live, without contact")
	}
	heal()
	await(t, "the end of the suspension", br.resumed)
	if _, after := b.record(one); after <= before {
		t.Fatal("resumed without a write of the record")
	}
	if len(br.closed) != 0 {
		t.Fatal("the browser was closed")
	}
}

func TestNoStoredWriteForTwelveSecondsSuspendsAlthoughAServerAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	beats := make(chan *nats.Msg, 256)
	if _, err := b.conn.NC.ChanSubscribe(protocol.HeartbeatSubject(b.id), beats); err != nil {
		t.Fatal(err)
	}
	if hb := b.heartbeat(beats); !hb.Ready {
		t.Fatalf("%+v", hb)
	}
	b.wire.Watch(func(f fleettest.Frame) bool { return !strings.HasPrefix(f.Subject, "bf.wrk.") }, nil)
	await(t, "the suspension", br.suspended)
	for end := time.Now().Add(patience); b.heartbeat(beats).Ready; {
		if time.Now().After(end) {
			t.Fatal("a worker without contact says that it is ready")
		}
	}
	b.wire.Watch(nil, nil)
	await(t, "the end of the suspension", br.resumed)
}

func TestAWorkerThatLostItsOwnerWhileAwayClosesTheBrowser(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	heal := b.cut()
	await(t, "the suspension", br.suspended)
	rec, fence := b.record(one)
	rec.Worker, rec.Epoch, rec.Nonce = "w-2", 0, "n"
	data, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.conn.CAS(b.ctx(), protocol.OwnSubject(0, one), data, nil, fence); err != nil {
		t.Fatal(err)
	}
	heal()
	await(t, "the end of the browser", br.closed)
	if len(br.resumed) != 0 {
		t.Fatal("its egress was resumed for an owner that it had lost")
	}
}
