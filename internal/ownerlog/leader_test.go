package ownerlog_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// behind is a log whose stream has a leader from before: for some questions it
// knows nothing that came after upto. It refuses writes behind what it does not
// know, as the server does.
type behind struct {
	ownerlog.Log
	stream string
	upto   protocol.Seq
	old    *natsx.Message // its newest message up to there, if there is one
	looks  int
	asked  int
}

const forEver = math.MaxInt

func (l *behind) stale(stream string) bool {
	if stream != l.stream {
		return false
	}
	l.asked++
	l.looks--
	return l.looks >= 0
}

func (l *behind) StreamLast(ctx context.Context, stream string) (protocol.Seq, error) {
	if l.stale(stream) {
		return l.upto, nil
	}
	return l.Log.StreamLast(ctx, stream)
}

func (l *behind) LeaderLast(ctx context.Context, stream, subject string) (natsx.Message, error) {
	m, err := l.Log.LeaderLast(ctx, stream, subject)
	if l.stale(stream) && err == nil && m.Seq > l.upto {
		if l.old != nil && l.old.Subject == subject {
			return *l.old, nil
		}
		return natsx.Message{}, natsx.ErrNotFound
	}
	return m, err
}

func (l *behind) LeaderNext(ctx context.Context, stream, subject string, from protocol.Seq) (natsx.Message, error) {
	m, err := l.Log.LeaderNext(ctx, stream, subject, from)
	if l.stale(stream) && err == nil && m.Seq > l.upto {
		return natsx.Message{}, natsx.ErrNotFound
	}
	return m, err
}

func (l *behind) CAS(ctx context.Context, subject string, data []byte, h nats.Header, expect protocol.Seq) (protocol.Seq, error) {
	if l.stream == protocol.OwnStream(0) && expect > l.upto && l.looks > 0 {
		return 0, natsx.ErrConflict
	}
	return l.Log.CAS(ctx, subject, data, h, expect)
}

// prover can prove that the leader has applied everything: whatever was behind
// is not any more.
type prover struct {
	*behind
	proofs int
	catch  bool
}

func (p *prover) Prove(context.Context, protocol.Shard) error {
	if p.proofs++; p.catch {
		p.looks = 0
	}
	return nil
}

func (b *bench) claimOver(log ownerlog.Log, least protocol.Seq) (*ownerlog.Holder, error) {
	b.t.Helper()
	return ownerlog.ClaimFrom(b.ctx(), log, 0, key, least, func(rec *protocol.OwnerRecord, _ protocol.Seq) (*protocol.OwnerRecord, error) {
		return rec.Clone(), nil
	})
}

func TestALeaderThatHasNotCaughtUpIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	b.answer(h, b.observe(h))
	orphan := b.observe(h)
	b.start(h, orphan) // its cursor is at 1, its START at 2
	act := protocol.ActStream(0)

	for name, log := range map[string]ownerlog.Log{
		"a worker":      &behind{Log: b.conn, stream: act, upto: 1, looks: forEver},
		"who can prove": &prover{behind: &behind{Log: b.rival, stream: act, upto: 1, looks: forEver}, catch: true},
	} {
		_, before := b.record()
		successor, err := b.claimOver(log, 0)
		if name == "a worker" {
			if _, after := b.record(); !errors.Is(err, ownerlog.ErrBehind) || after != before {
				t.Fatalf("%s: %v, and the record moved from %d to %d", name, err, before, after)
			}
			continue
		}
		if err != nil || successor.Alarm() != nil {
			t.Fatalf("%s: %v, alarm %v", name, err, successor.Alarm())
		}
	}
	late := &behind{Log: b.conn, stream: act, upto: 1, looks: 2}
	successor, err := b.claimOver(late, 0)
	if err != nil || successor.Alarm() != nil || late.looks >= 0 {
		t.Fatalf("%v, alarm %v, %d looks left", err, successor.Alarm(), late.looks)
	}
	if in := successor.Record().InflightQ; in == nil || in.Request != orphan.ID || successor.Record().CursorQ == 0 {
		t.Errorf("what the former holder began is forgotten: %+v", successor.Record())
	}
}

func TestAnOlderCopyIsOneOnlyIfThatIsProved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	b.answer(h, b.observe(h))
	b.start(h, b.observe(h))
	log := &prover{behind: &behind{Log: b.rival, stream: protocol.ActStream(0), upto: 0, looks: forEver}}
	successor, err := b.claimOver(log, 0)
	if err != nil || !errors.Is(successor.Alarm(), ownerlog.ErrStreamReplaced) || log.proofs != 2 {
		t.Fatalf("%v, alarm %v, %d proofs", err, successor.Alarm(), log.proofs)
	}
	if rec := successor.Record(); rec.CursorQ != 0 || rec.InflightQ == nil || rec.InflightQ.Seq != 0 || len(rec.Done) != 1 {
		t.Errorf("%+v", rec)
	}
}

func TestARecordOlderThanTheAssignmentIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old, err := b.rival.LeaderLast(b.ctx(), protocol.OwnStream(0), protocol.OwnSubject(0, key))
	if err != nil {
		t.Fatal(err)
	}
	assigned := b.assign(b.assignment, me)
	log := func(looks int) *behind {
		return &behind{Log: b.conn, stream: protocol.OwnStream(0), upto: old.Seq, old: &old, looks: looks}
	}
	if _, err := b.claimOver(log(forEver), assigned); !errors.Is(err, ownerlog.ErrBehind) {
		t.Fatalf("from a record of before: %v", err)
	}
	if _, fence := b.record(); fence != assigned {
		t.Fatalf("it was written: at %d", fence)
	}
	h, err := b.claimOver(log(2), assigned)
	if err != nil || h.Record().Epoch != protocol.Epoch(assigned) {
		t.Fatalf("%v", err)
	}
}

func TestALeaderThatIsBehindFencesNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old, err := b.rival.LeaderLast(b.ctx(), protocol.OwnStream(0), protocol.OwnSubject(0, key))
	if err != nil {
		t.Fatal(err)
	}
	log := &behind{Log: b.conn, stream: protocol.OwnStream(0), upto: old.Seq, old: &old}
	h, err := b.claimOver(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	log.looks = 3
	if err := h.Confirm(b.ctx()); err != nil {
		t.Fatalf("refused by a leader that was behind, and: %v", err)
	}
	// One that stays behind has lost what was written: the stream was replaced.
	log.looks = forEver
	if err := h.Confirm(b.ctx()); !errors.Is(err, ownerlog.ErrFenced) {
		t.Fatalf("%v", err)
	}
}

// fullRing is a holder whose ring is full of answered requests, and a request
// that was answered before all of them: only the stream of results knows.
func (b *bench) fullRing() (fellOut *protocol.Admitted, upto protocol.Seq) {
	b.t.Helper()
	h := b.claim()
	fellOut = b.observe(h)
	store := func(id protocol.RequestID) protocol.Seq {
		seq, err := b.rival.Create(b.ctx(), protocol.ResSubject(0, key, id), []byte(`{"nonce":"x"}`), nil)
		if err != nil {
			b.t.Fatal(err)
		}
		return seq
	}
	upto = store("01ARZ3NDEKTSV4RRFFQ69G5FAV") // what a leader from before has
	store(fellOut.ID)
	rec, fence := b.record()
	for range protocol.DoneRing {
		rec.Done = append(rec.Done, protocol.NewRequestID(time.Now().Add(-time.Minute)))
	}
	rec.ResultSeq = store(rec.Done[len(rec.Done)-1])
	b.write(rec, fence)
	return fellOut, upto
}

func TestAResultsLeaderThatIsBehindIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a, upto := b.fullRing()
	log := &behind{Log: b.conn, stream: protocol.ResStream(0), upto: upto}
	h, err := b.claimOver(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	log.looks = forEver
	if _, err := h.Start(b.ctx(), a, 1); !errors.Is(err, ownerlog.ErrBehind) {
		t.Fatalf("it may run: %v", err)
	}
	log.looks = 3
	if started, err := h.Start(b.ctx(), a, 1); err != nil || started.Answered == nil {
		t.Fatalf("%+v, %v: an answered request may run", started, err)
	}
	log.looks, log.asked = 0, 0
	fresh := b.observe(h)
	b.start(h, fresh)
	if log.asked != 1 {
		t.Errorf("a leader that was as far as it must be a moment ago is asked %d times", log.asked)
	}
}

// The results of everything in the ring are gone: an owner that acts rarely, or an
// id that was refused because it lay hours ahead. A leader that is as far as the
// owner's newest result was is believed all the same.
func TestResultsThatExpiredAreNotAskedFor(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]protocol.RequestID{
		"of a minute ago":   protocol.NewRequestID(time.Now().Add(-time.Minute)),
		"of hours ago":      protocol.NewRequestID(time.Now().Add(-2 * protocol.ResultRetention)),
		"of a time to come": protocol.NewRequestID(time.Now().Add(time.Hour)),
		"a UUIDv7":          "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
		"without an id":     protocol.SequenceRequestID(1, time.Now()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			seq, err := b.rival.Create(b.ctx(), protocol.ResSubject(0, key, "x"), []byte(`{"nonce":"x"}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			rec, fence := b.record()
			rec.Done, rec.ResultSeq = slices.Repeat([]protocol.RequestID{id}, protocol.DoneRing), seq
			b.write(rec, fence)
			h := b.claim()
			if started := b.start(h, b.observe(h)); started.Done() {
				t.Errorf("%+v", started)
			}
		})
	}
}

// The stream of results was made anew, or lost its end: one answer of the owner,
// and the record knows it again.
func TestAnAnswerMakesTheResultsKnownAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, _ = b.fullRing()
	rec, fence := b.record()
	rec.ResultSeq = math.MaxInt64
	b.write(rec, fence)
	h := b.claim()
	a := b.observe(h)
	if _, err := h.Start(b.ctx(), a, 1); !errors.Is(err, ownerlog.ErrBehind) {
		t.Fatalf("%v", err)
	}
	res := a.NewResult(time.Now())
	res.Fail(ownerlog.CannotTell())
	if err := h.Answer(b.ctx(), a, res, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Flush(b.ctx()); err != nil {
		t.Fatal(err)
	}
	successor := b.claim()
	b.start(successor, b.observe(successor))
	if rec, _ := b.record(); rec.ResultSeq != b.last()[1] {
		t.Errorf("the record knows the results up to %d, and they end at %d", rec.ResultSeq, b.last()[1])
	}
}

func TestWhileNothingFellOutOfTheRingNothingIsToBeProved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := &behind{Log: b.conn, stream: protocol.ResStream(0)}
	h, err := b.claimOver(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.start(h, b.observe(h))
	if log.asked != 1 {
		t.Errorf("asked %d times", log.asked)
	}
}

func TestACancelledRequestIsInTheRing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	target := b.observe(h)
	cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: target.ID})
	b.start(h, cancel)
	queue := h.NewLane(protocol.LaneQueue)
	if found, err := h.CancelQueued(b.ctx(), cancel, queue, target.ID, me); err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	b.answerNow(h, cancel)
	if err := h.Flush(b.ctx()); err != nil {
		t.Fatal(err)
	}
	if rec, _ := b.record(); !slices.Contains(rec.Done, target.ID) {
		t.Errorf("only the results know that it was cancelled: %v", rec.Done)
	}
}

func (b *bench) answerNow(h *ownerlog.Holder, a *protocol.Admitted) {
	b.t.Helper()
	if err := h.Answer(b.ctx(), a, ok(a), nil); err != nil {
		b.t.Fatal(err)
	}
}

func TestALeaderThatDoesNotHaveWhatWasPushedEndsNoGap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := &behind{Log: b.conn, stream: protocol.ActStream(0)}
	h, err := b.claimOver(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	q := &queue{bench: b, h: h, pushes: b.subscribe(b.conn.NC, "bf.push.0.>"), lane: h.NewLane(protocol.LaneQueue)}
	if !q.lane.Push(q.put("1")) {
		t.Fatal("no gap")
	}
	log.looks = forEver
	q.fill(true)
	if !q.lane.Gap() {
		t.Fatal("what was pushed is given up: nobody would ever answer it")
	}
	log.looks = 0
	q.fill(true)
	q.expect("1")
	if q.lane.Gap() {
		t.Fatal("the gap stays")
	}
}

// The former holder cancelled a request, answered the cancel, and died before it
// wrote the record.
func TestACancelThatAFormerHolderAnsweredTellsOfItsTarget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.claim()
	target := b.observe(h)
	cancel := b.store(h, protocol.KindCancel, &protocol.CancelArgs{Request: target.ID})
	b.start(h, cancel)
	if found, err := h.CancelQueued(b.ctx(), cancel, h.NewLane(protocol.LaneQueue), target.ID, me); err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	res := ok(cancel)
	res.Data = ownerlog.CancelledQueued
	if err := h.Answer(b.ctx(), cancel, res, nil); err != nil {
		t.Fatal(err)
	}
	successor := b.claim()
	if started := b.start(successor, cancel); !started.Done() || !successor.Record().IsDone(target.ID) {
		t.Errorf("only the results' leader knows that it was cancelled: %v", successor.Record().Done)
	}
}
