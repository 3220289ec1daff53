package worker_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/protocol"
)

// send stores a request of any kind.
func (b *bench) send(key protocol.OwnerKey, kind protocol.Kind, args protocol.Args) protocol.RequestID {
	b.t.Helper()
	r, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	info, _ := kind.Lookup()
	if _, err := b.agent.Request(protocol.AgentActSubject(key.Owner, info.Lane), body, patience); err != nil {
		b.t.Fatal(err)
	}
	return r.ID
}

// What a takeover reads decides what runs: it asks leaders, never a replica that
// may be behind.
func TestATakeoverReadsFromTheLeaderOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	var mu sync.Mutex
	var direct []string
	leader := map[string]bool{}
	b.wire.Watch(func(f fleettest.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.HasPrefix(f.Subject, "$JS.API.DIRECT.GET."):
			direct = append(direct, string(f.Payload))
		case f.Subject == "$JS.API.STREAM.MSG.GET."+protocol.ActStream(0):
			for _, lane := range []protocol.Lane{protocol.LaneControl, protocol.LaneQueue} {
				if strings.Contains(string(f.Payload), protocol.ActSubject(0, one, lane)) {
					leader[string(lane)] = true
				}
			}
		}
		return true
	}, nil)
	b.hold(one)
	mu.Lock()
	defer mu.Unlock()
	if len(direct) > 0 || !leader["c"] || !leader["q"] {
		t.Fatalf("read directly %v, from the leader %v", direct, leader)
	}
}

// Pushes are sent at most once: without any, the sweep finds what is stored, and
// a cancel counts before the action that it names.
func TestTheSweepFindsWhatWasNotPushedAndControlComesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	b.wire.Watch(nil, func(f fleettest.Frame) bool { return !strings.HasPrefix(f.Subject, "bf.push.") })
	br := b.hold(one)
	close(br.gate)
	queued := b.open(one, 0)
	cancel := b.send(one, protocol.KindCancel, &protocol.CancelArgs{Request: queued})
	next := b.open(one, 0)
	if res := b.result(one, queued); res.Status != protocol.StatusCancelled || res.Dispatched != protocol.DispatchedNo {
		t.Errorf("the cancelled action: %s, dispatched %s", res.Status, res.Dispatched)
	}
	if res := b.result(one, cancel); res.Status != protocol.StatusOK {
		t.Errorf("the cancel: %+v", res.Error)
	}
	if res := b.result(one, next); res.Status != protocol.StatusOK {
		t.Errorf("the action behind: %+v", res.Error)
	}
	if strings.Contains(br.logged(), string(queued)) {
		t.Error("the cancelled action was dispatched")
	}
}

// A worker that was away for less than it takes to be suspended, and lost an
// idle owner meanwhile, finds out by the write that follows a reconnect.
func TestAReconnectWritesTheRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	b.assign(one) // to another epoch; the worker is not told
	b.wire.Break()
	await(t, "the end of the browser", br.closed)
}

// An action that does not end after an interrupt loses its browser.
func TestAnInterruptedActionThatDoesNotEndLosesItsBrowser(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	id := b.open(one, 10*time.Minute)
	await(t, "the action", br.reached) // and it hangs there
	interrupt := b.send(one, protocol.KindInterrupt, &protocol.InterruptArgs{Request: id})
	if res := b.result(one, interrupt); res.Status != protocol.StatusOK {
		t.Fatalf("%+v", res.Error)
	}
	await(t, "the end of the browser", br.closed)
	close(br.gate)
	if res := b.result(one, id); res.Status != protocol.StatusCancelled || res.Dispatched != protocol.DispatchedNo {
		t.Fatalf("%s, dispatched %s, %v", res.Status, res.Dispatched, res.Error)
	}
	second := await(t, "another browser", b.opened)
	close(second.gate)
	if res := b.result(one, b.open(one, 0)); res.Status != protocol.StatusOK || res.Generation != 2 {
		t.Fatalf("%s in generation %d, %v", res.Status, res.Generation, res.Error)
	}
}

// What a former holder began in lane c is not done again, if it has an effect.
func TestAControlRequestThatAFormerHolderBeganIsAnsweredOutcomeUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	interrupt := b.send(one, protocol.KindInterrupt, &protocol.InterruptArgs{Request: "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
	a := b.assignWith(one, func(r *protocol.OwnerRecord) {
		r.InflightC = &protocol.Inflight{Seq: 1, Request: interrupt, Kind: protocol.KindInterrupt, Effect: protocol.EffectWrite, Nonce: "n", Attempt: 1}
	})
	if err := b.control(protocol.VerbAssign, a); err != nil {
		t.Fatal(err)
	}
	res := b.result(one, interrupt)
	if res.Status != protocol.StatusOutcomeUnknown || res.Attempt != 2 {
		t.Fatalf("%s, attempt %d", res.Status, res.Attempt)
	}
}
