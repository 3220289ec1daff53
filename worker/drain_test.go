package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/hostload"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker"
)

// faulty is a store that can be away for writes.
type faulty struct {
	checkpoints.Objects
	away   atomic.Bool
	missed chan struct{} // a write was refused
}

func newFaulty() *faulty {
	return &faulty{Objects: objectstore.NewMemory(), missed: make(chan struct{}, 256)}
}

func (f *faulty) PutNew(ctx context.Context, key string, body []byte) error {
	if f.away.Load() {
		select {
		case f.missed <- struct{}{}:
		default:
		}
		return objectstore.ErrUnavailable
	}
	return f.Objects.PutNew(ctx, key, body)
}

func (f *faulty) use(t *testing.T) func(*worker.Config) {
	keys, err := checkpoints.LoadOrCreateKeyring(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *worker.Config) { c.Checkpoints = checkpoints.New(f, keys) }
}

// changed opens a page and changes what checkpoints keep.
func (b *bench) changed(key protocol.OwnerKey) *protocol.Result {
	b.t.Helper()
	if res := b.result(key, b.open(key, 0)); res.Status != protocol.StatusOK {
		b.t.Fatalf("%+v", res.Error)
	}
	res := b.result(key, b.send(key, protocol.KindFill, &protocol.FillArgs{Target: protocol.Target{ElementRef: "e1"}, Value: "x"}))
	if res.Status != protocol.StatusOK {
		b.t.Fatalf("%+v", res.Error)
	}
	return res
}

func (b *bench) beats() chan *nats.Msg {
	b.t.Helper()
	beats := make(chan *nats.Msg, 256)
	if _, err := b.conn.NC.ChanSubscribe(protocol.HeartbeatSubject(b.id), beats); err != nil {
		b.t.Fatal(err)
	}
	return beats
}

func (b *bench) untilBeat(beats chan *nats.Msg, want func(protocol.Heartbeat) bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; {
		hb := b.heartbeat(beats)
		if want(hb) {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the last heartbeat: %+v", hb)
		}
	}
}

// A drain waits for what runs, but not for ever: then the action is stopped,
// answered, and its owner handed over.
func TestADrainStopsAnActionThatTakesTooLong(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4, func(c *worker.Config) { c.DrainTimeout = 4 * time.Second })
	br := b.hold(one)
	close(br.gate)
	id := b.send(one, protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/hang"})
	await(t, "the action", br.reached)
	beats := b.beats()
	if err := b.control(protocol.VerbDrain, nil); err != nil {
		t.Fatal(err)
	}
	b.untilBeat(beats, func(hb protocol.Heartbeat) bool { return hb.Draining })
	res := b.result(one, id)
	if res.Error == nil || res.Error.Code != protocol.CodeInterrupted || res.Dispatched != protocol.DispatchedUnknown {
		t.Fatalf("%s, dispatched %s, %+v", res.Status, res.Dispatched, res.Error)
	}
	b.stop()
	if rec, _ := b.record(one); rec.State != protocol.RecordMoving {
		t.Fatalf("%+v", rec)
	}
	if lost := b.w.Unsaved(); len(lost) > 0 || !b.said.has("every owner was saved") {
		t.Fatalf("named: %v", lost)
	}
}

func TestADrainWithoutAStoreNamesWhatWasNotSaved(t *testing.T) {
	t.Parallel()
	store := newFaulty()
	b := newBench(t, 4, quickDrain, store.use(t))
	for _, key := range []protocol.OwnerKey{two, one} {
		close(b.hold(key).gate)
	}
	store.away.Store(true)
	b.changed(one) // two has nothing to lose
	b.stop()
	if diff := cmp.Diff([]protocol.OwnerKey{one}, b.w.Unsaved()); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
	if !b.said.has("is lost\" worker=w-1 owners=[" + one.String() + "]") {
		t.Errorf("the log's last word:\n%s", b.said.text())
	}
	for _, key := range []protocol.OwnerKey{one, two} {
		if rec, _ := b.record(key); rec.State != protocol.RecordMoving {
			t.Errorf("%s is %s: nobody else can take it", key, rec.State)
		}
	}
}

// A store that comes back before the deadline loses nothing.
func TestADrainTriesToSaveUntilTheStoreIsBack(t *testing.T) {
	t.Parallel()
	store := newFaulty()
	b := newBench(t, 4, func(c *worker.Config) { c.DrainTimeout = time.Minute }, store.use(t))
	close(b.hold(one).gate)
	store.away.Store(true)
	b.changed(one)
	await(t, "a save that fails", store.missed)
	b.w.Drain("test")
	for !b.said.has("trying again") {
		await(t, "a save that fails", store.missed)
	}
	store.away.Store(false)
	b.untilState(one, protocol.RecordMoving)
	b.stop()
	if lost := b.w.Unsaved(); len(lost) > 0 {
		t.Fatalf("named: %v", lost)
	}
}

func TestAPreemptionNoticeDrains(t *testing.T) {
	t.Parallel()
	notice := filepath.Join(t.TempDir(), "preempted")
	b := newBench(t, 4, func(c *worker.Config) { c.PreemptionFile = notice })
	br := b.hold(one)
	if err := os.WriteFile(notice, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the browser", br.closed)
	b.untilState(one, protocol.RecordMoving)
	if !b.said.has("preemption notice") {
		t.Error("the log does not say why")
	}
}

func TestAWorkerThatIsNotReadyOrFullSaysWhyAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	var broken atomic.Bool
	free.Store(1000)
	b := newBench(t, 4, func(c *worker.Config) {
		c.Admission = worker.Admission{MinFreeMemory: 500}
		c.HostLoad = func() hostload.Load {
			return hostload.Load{FreeMemory: free.Load(), PerCPU: 0.5, Pressure: hostload.Unknown}
		}
		c.Ready = func() error {
			if broken.Load() {
				return os.ErrDeadlineExceeded
			}
			return nil
		}
		c.Labels = map[string]string{"zone": "a"}
	})
	br := b.hold(one)
	close(br.gate)
	beats := b.beats()
	b.untilBeat(beats, func(hb protocol.Heartbeat) bool {
		return hb.Ready && !hb.Full && hb.Why == "" && hb.FreeMemoryMB == 1000 && hb.CPULoad == 0.5 && hb.Labels["zone"] == "a"
	})
	free.Store(400)
	b.untilBeat(beats, func(hb protocol.Heartbeat) bool { return hb.Ready && hb.Full && strings.Contains(hb.Why, "400 MiB") })
	refused := b.assign(two)
	if err := b.control(protocol.VerbAssign, refused); err == nil || err.Code != protocol.CodeNoCapacity {
		t.Fatalf("a full worker: %v", err)
	}
	free.Store(1000)
	broken.Store(true)
	b.untilBeat(beats, func(hb protocol.Heartbeat) bool { return !hb.Ready && !hb.Full && strings.Contains(hb.Why, "timeout") })
	if err := b.control(protocol.VerbAssign, refused); err == nil || err.Code != protocol.CodeNoCapacity {
		t.Fatalf("a worker that is not ready: %v", err)
	}
	if res := b.result(one, b.open(one, 0)); res.Status != protocol.StatusOK {
		t.Fatalf("what it holds: %+v", res.Error)
	}
	broken.Store(false)
	b.untilBeat(beats, func(hb protocol.Heartbeat) bool { return hb.Ready })
	if err := b.control(protocol.VerbAssign, refused); err != nil {
		t.Fatal(err)
	}
}

// A worn browser is replaced between actions, with its state.
func TestATiredBrowserIsReplacedWithItsState(t *testing.T) {
	t.Parallel()
	store := newFaulty()
	b := newBench(t, 4, store.use(t))
	first := b.hold(one)
	close(first.gate)
	store.away.Store(true)
	b.changed(one)
	first.tired.Store(true)
	for range 2 { // the action's own, and that of the replacement
		await(t, "a save that fails", store.missed)
	}
	store.away.Store(false)
	second := await(t, "another browser", b.opened)
	close(second.gate)
	await(t, "the end of the former browser", first.closed)
	res := b.result(one, b.send(one, protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"}))
	if res.Status != protocol.StatusOK || res.Restored == nil || res.Restored.Reason != "recycled" || res.Generation != 2 {
		t.Fatalf("%s in generation %d, restored %+v", res.Status, res.Generation, res.Restored)
	}
	if diff := cmp.Diff(map[string]int{checkpoints.KindStorageItems: 1}, res.Restored.Survived); diff != "" {
		t.Errorf("survived (-want +got):\n%s", diff)
	}
}
