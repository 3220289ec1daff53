package ownerlog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestTheEpochIsTheAssignmentsSequence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rec, _ := b.record()
	if rec.Epoch != protocol.Epoch(b.assignment) {
		t.Errorf("the assignment itself reads as epoch %d, want %d", rec.Epoch, b.assignment)
	}
	h := b.claim()
	b.answer(h, b.observe(h))
	rec, fence := b.record()
	if rec.Epoch != protocol.Epoch(b.assignment) || h.Record().Epoch != rec.Epoch || fence != h.Fence() || fence <= b.assignment {
		t.Errorf("epoch %d at %d (holder: %d at %d), want %d", rec.Epoch, fence, h.Record().Epoch, h.Fence(), b.assignment)
	}
}

func TestStartNamesTheRequestInTheRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	a := b.store(h, protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/"})
	if started, err := h.Start(b.ctx(), a, 2); err != nil || started.Done() {
		t.Fatalf("%+v, %v", started, err)
	}
	rec, _ := b.record()
	in := rec.InflightQ
	if in == nil || in.Seq != a.Seq || in.Request != a.ID || in.Kind != protocol.KindOpen || in.Effect != protocol.EffectWrite || in.Attempt != 2 || in.Nonce == "" {
		t.Fatalf("START %+v", in)
	}
	if rec.CursorQ != 0 || rec.InflightC != nil {
		t.Fatalf("cursor %d, lane c %+v", rec.CursorQ, rec.InflightC)
	}
	if err := h.Answer(b.ctx(), a, ok(a), nil); err != nil {
		t.Fatal(err)
	}
	if rec, _ = b.record(); rec.CursorQ != 0 || rec.InflightQ == nil || !h.Dirty() {
		t.Fatal("the cursor was written before it had to be")
	}
	if err := h.Flush(b.ctx()); err != nil {
		t.Fatal(err)
	}
	if rec, _ = b.record(); rec.CursorQ != a.Seq || rec.InflightQ != nil || !rec.IsDone(a.ID) || h.Dirty() {
		t.Fatalf("after the flush: %+v", rec)
	}
}

// One START costs one round trip: the write and the leader's read of the result
// are both on the way before either is answered.
func TestStartAsksTheResultsLeaderInParallel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	a := b.observe(h)
	var once [2]sync.Once
	both := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	stop := b.ctx()
	b.wire.Watch(func(f fleettest.Frame) bool {
		switch f.Subject {
		case protocol.OwnSubject(0, key):
			once[0].Do(func() { close(both[0]) })
		case "$JS.API.STREAM.MSG.GET." + protocol.ResStream(0):
			once[1].Do(func() { close(both[1]) })
		}
		return true
	}, func(f fleettest.Frame) bool {
		for _, sent := range both {
			select {
			case <-sent:
			case <-stop.Done():
			}
		}
		return true
	})
	b.start(h, a)
}

func TestNoResultWithoutStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	first, second := b.observe(h), b.observe(h)
	if err := h.Answer(b.ctx(), first, ok(first), nil); err == nil {
		t.Error("answered what was never started")
	}
	b.start(h, first)
	if err := h.Answer(b.ctx(), second, ok(second), nil); err == nil {
		t.Error("answered another request than the started one")
	}
	if err := h.CreateFor(b.ctx(), first, ok(second), nil); err == nil {
		t.Error("answered a request under cover of another's START")
	}
	if err := h.Answer(b.ctx(), first, ok(first), nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Answer(b.ctx(), first, ok(first), nil); err == nil {
		t.Error("answered twice under one START")
	}
	if b.result(second.ID) != nil {
		t.Error("a result exists that must not")
	}
}

func TestTheFirstResultStands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	zombie := b.claim()
	a := b.observe(zombie)
	b.start(zombie, a)
	b.assign(zombie.Fence(), "w-2")
	successor := b.claim()
	b.start(successor, a)
	if err := zombie.Answer(b.ctx(), a, ok(a), nil); err != nil {
		t.Fatal(err) // it had STARTed it, and does not know yet
	}
	res := a.NewResult(time.Now())
	res.Fail(protocol.Errorf(protocol.CodeOutcomeUnknown, ""))
	if err := successor.Answer(b.ctx(), a, res, nil); !errors.Is(err, ownerlog.ErrAnswered) {
		t.Fatalf("the successor was not told that another result stands: %v", err)
	}
	if got := b.result(a.ID); got.Status != protocol.StatusOK {
		t.Fatalf("the second result replaced the first: %s", got.Status)
	}
	if successor.Record().CursorQ != a.Seq {
		t.Error("the successor's cursor stays behind an answered request")
	}
}

func TestAForeignWriteFencesForGood(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	started, queued := b.store(h, protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/"}), b.observe(h)
	b.start(h, started)
	b.assign(h.Fence(), "w-2")
	before := b.last()
	if err := h.Confirm(b.ctx()); !errors.Is(err, ownerlog.ErrFenced) {
		t.Fatalf("confirm: %v", err)
	}
	cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: queued.ID})
	lane := h.NewLane(protocol.LaneQueue)
	for name, do := range map[string]func() error{
		"answer":  func() error { return h.Answer(b.ctx(), started, ok(started), nil) },
		"start":   func() error { _, err := h.Start(b.ctx(), queued, 1); return err },
		"confirm": func() error { return h.Confirm(b.ctx()) },
		"update": func() error {
			return h.Update(b.ctx(), func(r *protocol.OwnerRecord) error { return r.Move(protocol.RecordRelease, time.Now()) })
		},
		"cancel": func() error {
			_, _ = h.Start(b.ctx(), cancel, 1)
			_, err := h.CancelQueued(b.ctx(), cancel, lane, queued.ID, me)
			return err
		},
	} {
		if err := do(); err == nil {
			t.Errorf("%s: no error after the fence", name)
		}
	}
	if after := b.last(); after != before {
		t.Errorf("something was written after the fence: %v, then %v", before, after)
	}
}

func TestAWriteWhoseAnswerIsLostIsRecognisedByItsNonce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	a := b.observe(h)
	before := b.last()
	lost := b.loseOneAck(protocol.OwnStream(0), nil)
	b.start(h, a)
	if !lost() {
		t.Fatal("no acknowledgement was lost")
	}
	if after := b.last(); after[0] != before[0]+1 {
		t.Fatalf("%d records were written for one START", after[0]-before[0])
	}
	if _, fence := b.record(); fence != h.Fence() {
		t.Fatalf("the holder's fence is %d, the record's %d", h.Fence(), fence)
	}
	b.answer(h, b.observeAfter(h, a))
}

// observeAfter answers a and stores another request.
func (b *bench) observeAfter(h *ownerlog.Holder, a *protocol.Admitted) *protocol.Admitted {
	b.t.Helper()
	if err := h.Answer(b.ctx(), a, ok(a), nil); err != nil {
		b.t.Fatal(err)
	}
	return b.observe(h)
}

func TestALostAnswerWithAForeignWriteOnTopIsAFence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	a := b.observe(h)
	b.loseOneAck(protocol.OwnStream(0), func() {
		_, fence := b.record()
		b.assign(fence, "w-2")
	})
	if _, err := h.Start(b.ctx(), a, 1); !errors.Is(err, ownerlog.ErrFenced) {
		t.Fatalf("got %v", err)
	}
	if err := h.Answer(b.ctx(), a, ok(a), nil); err == nil || b.result(a.ID) != nil {
		t.Fatal("answered after the fence")
	}
}

func TestAResultWhoseAnswerIsLostIsCreatedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	a := b.observe(h)
	b.start(h, a)
	before := b.last()
	lost := b.loseOneAck(protocol.ResStream(0), nil)
	if err := h.Answer(b.ctx(), a, ok(a), nil); err != nil {
		t.Fatal(err)
	}
	if after := b.last(); !lost() || after[1] != before[1]+1 || b.result(a.ID) == nil {
		t.Fatalf("lost %v, results %d, then %d", lost(), before[1], after[1])
	}
}

// loseOneAck loses the next acknowledgement of a stream, after doing what the
// test wants to happen meanwhile.
func (b *bench) loseOneAck(stream string, meanwhile func()) (lost func() bool) {
	var mu sync.Mutex
	var done bool
	b.wire.Watch(nil, func(f fleettest.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		if done || !strings.Contains(string(f.Payload), `{"stream":"`+stream+`"`) {
			return true
		}
		done = true
		if meanwhile != nil {
			meanwhile()
		}
		return false
	})
	return func() bool { mu.Lock(); defer mu.Unlock(); return done }
}

func TestWhatWasAnsweredIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	done := b.subscribe(b.agent, protocol.AgentDoneSubject(key.Owner, ">"))
	a := b.observe(h)
	b.answer(h, a)
	first := b.next(done)
	fence := h.Fence()
	started := b.start(h, a)
	if started.Answered == nil || started.Gone || h.Fence() != fence {
		t.Fatalf("the ring does not decide: %+v, fence %d, then %d", started, fence, h.Fence())
	}
	if err := h.Repeat(started.Answered); err != nil {
		t.Fatal(err)
	}
	again := b.next(done)
	if string(again.Data) != string(first.Data) || again.Header.Get(protocol.HeaderRepeat) == "" {
		t.Fatalf("repeated %v %s", again.Header, again.Data)
	}
	// Clients take a message for a result only if it names a results stream.
	if streams := again.Header["Nats-Stream"]; len(streams) == 0 || streams[len(streams)-1] != protocol.ResStream(0) {
		t.Fatalf("clients drop a repeat without its stream: %v", again.Header)
	}
	// A holder without the ring is told by the leader.
	if err := h.Update(b.ctx(), func(r *protocol.OwnerRecord) error { r.Done = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if started = b.start(h, a); started.Answered == nil {
		t.Fatal("the results' leader was not asked")
	}
	// And a holder with the ring knows it although the result has expired.
	err := h.Update(b.ctx(), func(r *protocol.OwnerRecord) error {
		r.Done = []protocol.RequestID{"01ARZ3NDEKTSV4RRFFQ69G5FAV"}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	old := *a
	old.ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	if started = b.start(h, &old); !started.Gone || !started.Done() {
		t.Fatalf("%+v", started)
	}
}

func TestTheLeaderIsHintedEverySixteenAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	hints := b.subscribe(b.rival.NC, protocol.TrimSubject(0, key))
	var seqs []protocol.Seq
	for i := range 40 {
		a := b.observe(h)
		seqs = append(seqs, a.Seq)
		b.answer(h, a)
		if i == 15 {
			// The sixteenth is answered, and its cursor only in memory: a purge
			// by it could lose a request whose holder dies now.
			b.settle()
			if len(hints) > 0 {
				t.Fatal("hinted of a cursor that is not persisted")
			}
		}
	}
	if err := h.Flush(b.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := h.Flush(b.ctx()); err != nil { // nothing new: no hint
		t.Fatal(err)
	}
	b.settle()
	var got []protocol.Seq
	for len(hints) > 0 {
		var hint protocol.TrimHint
		if err := json.Unmarshal(b.next(hints).Data, &hint); err != nil {
			t.Fatal(err)
		}
		got = append(got, hint.CursorQ)
	}
	if len(got) != 3 || got[0] != seqs[15] || got[1] != seqs[31] || got[2] != seqs[39] {
		t.Fatalf("hints %v of cursors %v", got, seqs)
	}
}

// settle waits until what the holder sent has reached the rival.
func (b *bench) settle() {
	b.t.Helper()
	for _, c := range []*nats.Conn{b.conn.NC, b.rival.NC} {
		if err := c.FlushTimeout(patience); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestARequestWithoutIDIsNamedByItsSequenceAndItsStream(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	created, err := b.rival.StreamCreated(b.ctx(), protocol.ActStream(0))
	if err != nil {
		t.Fatal(err)
	}
	a := b.admit(h, protocol.LaneQueue, b.publish(protocol.LaneQueue, []byte(`{"v":1,"kind":"observe"}`), nil))
	if want := protocol.SequenceRequestID(a.Seq, created); a.ID != want {
		t.Fatalf("got %s, want %s", a.ID, want)
	}
	b.answer(h, a)
	if b.result(a.ID) == nil {
		t.Fatal("no result under that name")
	}
}

func TestAResultThatIsTooLargeKeepsItsOutcome(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", protocol.MaxResultBytes)
	for name, tc := range map[string]struct {
		change func(*protocol.Result)
		head   nats.Header
	}{
		"observation": {change: func(r *protocol.Result) { r.Observation = &protocol.Observation{Text: huge} }},
		"data":        {change: func(r *protocol.Result) { r.Data = json.RawMessage(`"` + huge + `"`) }},
		"warnings": {change: func(r *protocol.Result) {
			r.Warnings = []protocol.Warning{{Code: protocol.CodeCheckpointNotSaved, Message: huge}}
		}},
		"report": {change: func(r *protocol.Result) {
			r.Restored = &protocol.Restored{Generation: 3, From: "checkpoint", Reason: "moved", Lost: []protocol.LostState{{What: huge}}, LastURL: huge}
		}},
		"message": {change: func(r *protocol.Result) { r.Error.Message = huge }},
		"headers": {change: func(*protocol.Result) {}, head: nats.Header{"tracestate": {huge}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			h := b.claim()
			a := b.observe(h)
			b.start(h, a)
			res := a.NewResult(time.Now())
			res.Fail(protocol.Errorf(protocol.CodeOutcomeUnknown, ""))
			tc.change(res)
			if err := h.Answer(b.ctx(), a, res, tc.head); err != nil {
				t.Fatal(err)
			}
			got := b.result(a.ID)
			if got == nil || got.Status != res.Status || got.Error.Code != res.Error.Code || got.Dispatched != res.Dispatched || got.Verdict != res.Verdict {
				t.Fatalf("stored %+v", got)
			}
			if tc.head == nil && (len(got.Warnings) == 0 || got.Warnings[len(got.Warnings)-1].Code != protocol.CodeResultTooLarge) {
				t.Fatalf("warnings %v", got.Warnings)
			}
			if name == "report" && (got.Restored == nil || got.Restored.Generation != 3 || got.Restored.From != "checkpoint") {
				t.Fatalf("the agent is not told of the restore: %+v", got.Restored)
			}
		})
	}
}
