package worker_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// sendShort stores a request that expires after a millisecond.
func (b *bench) sendShort(key protocol.OwnerKey, kind protocol.Kind, args protocol.Args) (protocol.RequestID, protocol.Seq) {
	b.t.Helper()
	return b.sendFor(time.Millisecond, key, kind, args)
}

// sendFor stores a request with a queue deadline.
func (b *bench) sendFor(limit time.Duration, key protocol.OwnerKey, kind protocol.Kind, args protocol.Args) (protocol.RequestID, protocol.Seq) {
	b.t.Helper()
	r, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	r.QueueDeadlineMS = limit.Milliseconds()
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	m, err := b.agent.Request(protocol.AgentActSubject(key.Owner, protocol.LaneQueue), body, patience)
	if err != nil {
		b.t.Fatal(err)
	}
	var ack struct{ Seq protocol.Seq }
	if err := json.Unmarshal(m.Data, &ack); err != nil || ack.Seq == 0 {
		b.t.Fatalf("not stored: %s", m.Data)
	}
	return r.ID, ack.Seq
}

// What a former holder began is answered by what is known of it, however late: it
// ran, or may have.
func TestWhatAFormerHolderBegan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind    protocol.Kind
		args    protocol.Args
		attempt int
		status  protocol.Status
		runs    bool
	}{
		"an effect is never run again":      {protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"}, 1, protocol.StatusOutcomeUnknown, false},
		"a read is run once more":           {protocol.KindObserve, nil, 1, protocol.StatusOK, true},
		"a read that was run twice is not":  {protocol.KindObserve, nil, 2, protocol.StatusOutcomeUnknown, false},
		"an effect of any number of trials": {protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"}, 5, protocol.StatusOutcomeUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 4)
			id, seq := b.sendShort(one, tc.kind, tc.args)
			info, _ := tc.kind.Lookup()
			a := b.assignWith(one, func(r *protocol.OwnerRecord) {
				r.InflightQ = &protocol.Inflight{Seq: seq, Request: id, Kind: tc.kind, Effect: info.Effect, Nonce: "n", Attempt: tc.attempt}
			})
			if err := b.control(protocol.VerbAssign, a); err != nil {
				t.Fatal(err)
			}
			br := await(t, "a browser", b.opened)
			close(br.gate)
			res := b.result(one, id)
			if res.Status != tc.status || res.Attempt != tc.attempt+1 || res.Observation == nil {
				t.Errorf("%s, attempt %d, observation %v", res.Status, res.Attempt, res.Observation)
			}
			if got := strings.Contains(br.logged(), string(id)); got != tc.runs {
				t.Errorf("dispatched: %v", got)
			}
		})
	}
}

func TestWhatWaitedTooLongIsAnsweredExpiredAndNotRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	first := b.open(one, 0)
	await(t, "the action", br.reached)
	late, _ := b.sendShort(one, protocol.KindObserve, nil)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	<-tick.C // more than its deadline
	close(br.gate)
	if res := b.result(one, first); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res.Error)
	}
	if res := b.result(one, late); res.Status != protocol.StatusExpired || res.Dispatched != protocol.DispatchedNo {
		t.Fatalf("%s, dispatched %s", res.Status, res.Dispatched)
	}
	if strings.Contains(br.logged(), string(late)) {
		t.Fatal("it was run")
	}
}

// The queue's deadline ends with the START: what runs does not expire, and what
// comes behind it waits for its end.
func TestWhatRunsDoesNotExpireAndNothingOvertakesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	const limit = 3 * time.Second
	first, _ := b.sendFor(limit, one, protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"})
	await(t, "the action", br.reached)
	await(t, "its queue deadline", time.After(limit))
	second := b.open(one, 0)
	if res := b.result(one, b.send(one, protocol.KindPing, nil)); res.Status != protocol.StatusOK { // the loop has looked
		t.Fatalf("%+v", res.Error)
	}
	if len(br.reached) > 0 {
		t.Fatal("the second action began beside the first")
	}
	close(br.gate)
	if res := b.result(one, first); res.Status != protocol.StatusOK {
		t.Fatalf("%s, %v", res.Status, res.Error)
	}
	if res := b.result(one, second); res.Status != protocol.StatusOK {
		t.Fatalf("%s, %v", res.Status, res.Error)
	}
}
