package worker_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker"
)

// stuck is a store whose writes can hang: no deadline ends them, only the test.
type stuck struct {
	checkpoints.Objects
	hang           atomic.Bool
	hangs          chan struct{} // a write does
	free           chan struct{} // closed: they go on
	writes, beside atomic.Int64
	overlap        atomic.Bool // two were written at a time
}

func newStuck(t *testing.T) (*stuck, func(*worker.Config)) {
	s := &stuck{Objects: objectstore.NewMemory(), hangs: make(chan struct{}, 64), free: make(chan struct{})}
	keys, err := checkpoints.LoadOrCreateKeyring(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return s, func(c *worker.Config) { c.Checkpoints, c.CheckpointWait = checkpoints.New(s, keys), time.Second }
}

func (s *stuck) PutNew(ctx context.Context, key string, body []byte) error {
	s.writes.Add(1)
	if s.beside.Add(1) > 1 {
		s.overlap.Store(true)
	}
	defer s.beside.Add(-1)
	if s.hang.Load() {
		s.hangs <- struct{}{}
		<-s.free
	}
	return s.Objects.PutNew(context.WithoutCancel(ctx), key, body)
}

// letGo ends the hanging, at the latest with the test.
func (s *stuck) letGo() {
	if s.hang.CompareAndSwap(true, false) {
		close(s.free)
	}
}

// fill sends an action that changes what checkpoints keep.
func (b *bench) fill(budget time.Duration) protocol.RequestID {
	b.t.Helper()
	r, err := protocol.NewRequest(protocol.KindFill, &protocol.FillArgs{Target: protocol.Target{ElementRef: "e1"}, Value: "x"}, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	r.BudgetMS = budget.Milliseconds()
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.agent.Request(protocol.AgentActSubject(one.Owner, protocol.LaneQueue), body, patience); err != nil {
		b.t.Fatal(err)
	}
	return r.ID
}

// hungBench holds an owner whose store hangs from now on.
func hungBench(t *testing.T, change ...func(*worker.Config)) (*bench, *stuck) {
	t.Helper()
	s, use := newStuck(t)
	b := newBench(t, 4, append([]func(*worker.Config){use}, change...)...)
	close(b.hold(one).gate)
	if res := b.result(one, b.open(one, 0)); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res.Error)
	}
	s.hang.Store(true)
	t.Cleanup(s.letGo)
	return b, s
}

// answeredUnsaved waits for the answer of an effect that the store does not take.
func (b *bench) answeredUnsaved(id protocol.RequestID) {
	b.t.Helper()
	res := b.result(one, id)
	if res.Status != protocol.StatusOK || len(res.Warnings) != 1 || res.Warnings[0].Code != protocol.CodeCheckpointNotSaved {
		b.t.Fatalf("%s %+v, warnings %v", res.Status, res.Error, res.Warnings)
	}
}

// restored gives the owner to its next holder and says what is there.
func (b *bench) restored(fills string) *protocol.Restored {
	b.t.Helper()
	close(b.hold(one).gate)
	res := b.result(one, b.send(one, protocol.KindObserve, nil))
	if res.Restored == nil || res.Observation == nil || !strings.Contains(res.Observation.Text, fills) {
		b.t.Fatalf("%+v, restored %+v, %+v", res.Error, res.Restored, res.Observation)
	}
	return res.Restored
}

// The store hangs for as long as this test wants; agents are answered all the
// same. What is saved later is not told as lost.
func TestAnswersDoNotWaitForAStoreThatHangs(t *testing.T) {
	t.Parallel()
	b, s := hungBench(t)
	before := s.writes.Load()
	var sent []protocol.RequestID
	for range 3 {
		id := b.fill(0)
		b.answeredUnsaved(id)
		sent = append(sent, id)
	}
	b.until(one, "of three unsaved effects", func(r *protocol.OwnerRecord) bool {
		return len(r.Unsaved) == 3 && r.Unsaved[2].Request == sent[2]
	})
	s.letGo()
	b.until(one, "saved", func(r *protocol.OwnerRecord) bool { return len(r.Unsaved) == 0 })
	// The first, and then only the newest.
	if n := s.writes.Load() - before; n != 2 || s.overlap.Load() {
		t.Errorf("%d writes, two at a time: %v", n, s.overlap.Load())
	}
	if r := b.restored("Fills: 3."); len(r.StateLost) > 0 {
		t.Errorf("told as lost: %v", r.StateLost)
	}
}

// The action is over, its answer waits for the store: an interrupt ends the wait.
func TestAnInterruptEndsTheWaitForAStoreThatHangs(t *testing.T) {
	t.Parallel()
	b, s := hungBench(t, func(c *worker.Config) { c.CheckpointWait = time.Hour })
	fill := b.fill(10 * time.Minute)
	await(t, "a write that hangs", s.hangs)
	interrupt := b.send(one, protocol.KindInterrupt, &protocol.InterruptArgs{Request: fill})
	if res := b.result(one, interrupt); res.Status != protocol.StatusOK {
		t.Errorf("of what is not answered yet: %+v", res.Error)
	}
	b.answeredUnsaved(fill)
	late := b.send(one, protocol.KindInterrupt, &protocol.InterruptArgs{Request: fill})
	if res := b.result(one, late); res.Error == nil || res.Error.Code != protocol.CodeStaleControl {
		t.Errorf("of what is answered: %s %+v", res.Status, res.Error)
	}
}

func TestAnOwnerIsNotHandedOverBeforeItsSaveIsSettled(t *testing.T) {
	t.Parallel()
	b, s := hungBench(t)
	b.answeredUnsaved(b.fill(0))
	_, fence := b.record(one)
	if err := b.control(protocol.VerbRelease, protocol.Assignment{V: protocol.Version, Key: one, Fence: fence}); err != nil {
		t.Fatal(err)
	}
	s.letGo()
	b.untilState(one, protocol.RecordMoving)
	if r := b.restored("Fills: 1."); len(r.StateLost) > 0 || s.overlap.Load() {
		t.Errorf("told as lost: %v; two writes at a time: %v", r.StateLost, s.overlap.Load())
	}
}

// The environment that was restored without an effect is handed over, saved,
// before it has answered anything: the agent has not been told yet.
func TestALostEffectIsToldAlsoIfTheRestoredEnvironmentMovesOn(t *testing.T) {
	t.Parallel()
	store := newFaulty()
	b := newBench(t, 4, store.use(t))
	close(b.hold(one).gate)
	store.away.Store(true)
	lost := b.changed(one).Request
	b.until(one, "of an unsaved effect", func(r *protocol.OwnerRecord) bool { return len(r.Unsaved) == 1 })
	store.away.Store(false)
	b.hold(one) // without the effect
	_, fence := b.record(one)
	if err := b.control(protocol.VerbRelease, protocol.Assignment{V: protocol.Version, Key: one, Fence: fence}); err != nil {
		t.Fatal(err)
	}
	b.untilState(one, protocol.RecordMoving)
	if r := b.restored("Fills: 0."); len(r.StateLost) != 1 || r.StateLost[0] != lost {
		t.Errorf("told as lost: %v, want %s", r.StateLost, lost)
	}
	b.until(one, "told", func(r *protocol.OwnerRecord) bool { return len(r.Unsaved) == 0 })
}

// A store that hangs while an environment is saved for going to sleep holds nobody up:
// control requests are answered, and a request is run instead.
func TestAnEnvironmentThatGoesToSleepStillAnswers(t *testing.T) {
	t.Parallel()
	s, use := newStuck(t)
	b := newBench(t, 4, use, func(c *worker.Config) { c.IdleTimeout = time.Millisecond })
	br := b.hold(one)
	br.asks.Store(true) // it stays awake
	close(br.gate)
	if res := b.result(one, b.open(one, 0)); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res.Error)
	}
	s.hang.Store(true)
	t.Cleanup(s.letGo)
	br.asks.Store(false)
	b.send(one, protocol.KindPing, nil)
	await(t, "the write that hangs", s.hangs)
	if res := b.result(one, b.send(one, protocol.KindPing, nil)); res.Status != protocol.StatusOK {
		t.Errorf("a control request: %+v", res.Error)
	}
	if res := b.result(one, b.send(one, protocol.KindObserve, nil)); res.Status != protocol.StatusOK || res.Generation != 1 {
		t.Errorf("a request, generation %d: %+v", res.Generation, res.Error)
	}
	if b.said.has("not saved") || len(br.closed) > 0 {
		t.Errorf("they were answered only when the save had failed:\n%s", b.said.text())
	}
	s.letGo()
	await(t, "the end of the browser", br.closed)
	b.until(one, "the record says so", func(rec *protocol.OwnerRecord) bool { return rec.State == protocol.RecordHibernated })
}
