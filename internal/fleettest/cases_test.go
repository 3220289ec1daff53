package fleettest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
)

// caseInputs are the inputs of a collected case, sorted.
func caseInputs(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "cases", name, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Inputs []struct{ Input string } }
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, i := range c.Inputs {
		inputs = append(inputs, i.Input)
	}
	slices.Sort(inputs)
	return inputs
}

// Trouble with queues that others had, each input with its verdict. The cases
// speak of consumers with acknowledgements; there are none here, and the promise
// behind each verdict is the same for a log and a cursor.
func TestCases(t *testing.T) {
	t.Parallel()
	for name, verdicts := range map[string]map[string]func(*testing.T){
		"221-nak-delay-blocks-head": {
			"other messages of the same owner while delayed": whatWaitsBehindTheHeadIsNotRun,
			"messages of other owners":                       othersFlowWhileOneWaits,
		},
		"223-ack-wait-shorter-than-action": {
			"without InProgress":           aLongActionRunsOnce,
			"with InProgress every 300 ms": aLongActionRunsOnceAndItsWorkerAnswersMeanwhile,
			"worker killed in the middle":  aDeadWorkersEffectIsNotRunAgain,
		},
		"225-bare-nak-burns-attempts": {
			"Nak() without delay":             everyRequestOfAnOutageIsAnswered,
			"NakWithDelay with growing delay": whatComesAfterAnOutageRuns,
			"retry policy":                    anOutageIsNoDeath,
		},
		"227-reconnect-stall": {
			"delivery after reconnect": requestsAreDeliveredAfterARestart,
			"reconnect attempts":       connectionsComeBackForEver,
			"watchdog":                 withoutPushesTheSweepDelivers,
		},
		"229-owner-head-stuck": {
			"owner A stuck":      othersFlowWhileOneIsStuck,
			"time until A moves": aStuckHeadMovesWithItsWorkersDeath,
			"status query":       theHeadIsDescribed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known []string
			for input, verdict := range verdicts {
				known = append(known, input)
				t.Run(input, func(t *testing.T) { t.Parallel(); verdict(t) })
			}
			slices.Sort(known)
			if diff := cmp.Diff(caseInputs(t, name), known); diff != "" {
				t.Errorf("inputs (-case +test):\n%s", diff)
			}
		})
	}
}

// stuck is an owner whose action does not end until its browser goes.
func stuck(t *testing.T, f *Fleet) (*Agent, protocol.RequestID) {
	t.Helper()
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	head := a.Send(protocol.KindOpen, open(page+"hang"), func(r *protocol.Request) {
		r.BudgetMS = protocol.MaxRunBudget.Milliseconds()
	})
	f.untilDispatched(t, head)
	return a, head
}

// tries is how often the owner of a scene may move by itself: on a busy machine a
// worker may be taken for dead, and what the scene is about is over then.
const tries = 10

// scene is a fleet with a stuck owner. What look finds wrong counts unless the
// owner has moved.
func scene(t *testing.T, workers int, look func(*Fleet, *Agent, protocol.RequestID) error) {
	t.Helper()
	for range tries {
		f := Start(t, Options{Workers: workers, Objects: objectstore.NewMemory()})
		a, head := stuck(t, f)
		epoch := f.Record(t, a.Key).Epoch
		err := look(f, a, head)
		moved := f.Record(t, a.Key).Epoch != epoch
		a.Do(protocol.KindInterrupt, &protocol.InterruptArgs{Request: head}) // refused if it has ended
		a.Await(head)
		if n := len(f.Dispatched(t, head)); n != 1 {
			t.Fatalf("the head was dispatched %d times", n)
		}
		switch {
		case err == nil:
			return
		case !moved:
			t.Fatal(err)
		}
		t.Logf("once more, since the owner moved: %v", err)
	}
	t.Fatal("the owner never stayed")
}

// neighbours are other owners of the same worker, who act.
func neighbours(t *testing.T, f *Fleet) {
	t.Helper()
	for _, owner := range []protocol.Owner{"two", "three"} {
		other := f.Agent(t, "a", owner)
		for range 5 {
			expect(t, other.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
		}
	}
}

func whatWaitsBehindTheHeadIsNotRun(t *testing.T) {
	scene(t, 1, func(f *Fleet, a *Agent, _ protocol.RequestID) error {
		behind := a.Send(protocol.KindObserve, nil)
		expect(t, a.Do(protocol.KindPing, nil), protocol.StatusOK, "") // the worker has looked
		fate, dispatched := a.Fate(behind), len(f.Dispatched(t, behind))
		if fate.Fate != protocol.FateQueued || dispatched != 0 {
			return fmt.Errorf("behind the head: %+v, dispatched %d times", fate, dispatched)
		}
		return nil
	})
}

func othersFlowWhileOneWaits(t *testing.T) {
	scene(t, 1, func(f *Fleet, a *Agent, head protocol.RequestID) error {
		neighbours(t, f)
		if fate := a.Fate(head); fate.Fate != protocol.FateRunning {
			return fmt.Errorf("the head: %+v", fate)
		}
		return nil
	})
}

// longAction is more than a heartbeat's loss, a lease and a sweep take.
const longAction = "slow?ms=7000"

func aLongActionRunsOnce(t *testing.T) {
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	epoch := f.Record(t, a.Key).Epoch
	res := a.Do(protocol.KindOpen, open(page+longAction))
	if n := len(f.Dispatched(t, res.Request)); n != 1 {
		t.Errorf("dispatched %d times", n)
	}
	if f.Record(t, a.Key).Epoch == epoch && (res.Status != protocol.StatusOK || res.Attempt != 1) {
		t.Errorf("%s, attempt %d, %v", res.Status, res.Attempt, res.Error)
	}
}

func aLongActionRunsOnceAndItsWorkerAnswersMeanwhile(t *testing.T) {
	scene(t, 2, func(_ *Fleet, a *Agent, head protocol.RequestID) error {
		for range 20 {
			expect(t, a.Do(protocol.KindPing, nil), protocol.StatusOK, "")
		}
		if fate := a.Fate(head); fate.Fate != protocol.FateRunning {
			return fmt.Errorf("the head: %+v", fate)
		}
		return nil
	})
}

func aDeadWorkersEffectIsNotRunAgain(t *testing.T) {
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a, head := stuck(t, f)
	f.Holder(t, a.Key).CutOff()
	expect(t, a.Await(head), protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
	if n := len(f.Dispatched(t, head)); n != 1 {
		t.Errorf("dispatched %d times", n)
	}
}

// outage is a fleet whose store is away when its one owner needs it.
type outage struct {
	*Fleet
	a    *Agent
	away atomic.Bool
}

// requests of an outage: more than the deaths that fail an owner.
const outageRequests = 2 * protocol.MaxFailures

func newOutage(t *testing.T) *outage {
	t.Helper()
	o := &outage{}
	objects := objectstore.NewMemory()
	objects.Fault = func(string, string) error {
		if o.away.Load() {
			return objectstore.ErrUnavailable
		}
		return nil
	}
	o.Fleet = Start(t, Options{Workers: 2, Objects: objects})
	o.a = o.Agent(t, "a", "one")
	expect(t, o.a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, o.a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	o.away.Store(true)
	o.Holder(t, o.a.Key).CutOff()
	for range outageRequests {
		res := o.a.Do(protocol.KindOpen, open(page))
		expect(t, res, protocol.StatusError, protocol.CodeCheckpointStore)
		if !res.Error.Retryable || res.Dispatched != protocol.DispatchedNo {
			t.Fatalf("%+v", res)
		}
	}
	return o
}

func (o *outage) ends(t *testing.T) *protocol.Result {
	t.Helper()
	o.away.Store(false)
	for deadline := time.Now().Add(2 * wait); ; {
		res := o.a.Do(protocol.KindOpen, open(page))
		if res.Status == protocol.StatusOK {
			return res
		}
		expect(t, res, protocol.StatusError, protocol.CodeCheckpointStore)
		if time.Now().After(deadline) {
			t.Fatal("it does not open although the store is back")
		}
	}
}

func everyRequestOfAnOutageIsAnswered(t *testing.T) { newOutage(t) }

func whatComesAfterAnOutageRuns(t *testing.T) {
	res := newOutage(t).ends(t)
	if !strings.Contains(res.Observation.Text, "Fills: 1.") {
		t.Errorf("restored %q", res.Observation.Text)
	}
}

func anOutageIsNoDeath(t *testing.T) {
	o := newOutage(t)
	if rec := o.Record(t, o.a.Key); rec.State == protocol.RecordFailed || len(rec.Failures) > 1 {
		t.Errorf("%s, deaths %v", rec.State, rec.Failures)
	}
	o.ends(t)
}

func requestsAreDeliveredAfterARestart(t *testing.T) {
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	known := f.Agent(t, "a", "one")
	expect(t, known.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	f.NATS.Restart(t)
	known.settled()
	begun := time.Now()
	for _, owner := range []protocol.Owner{"one", "two"} { // one that is held, one that is new
		a := f.Agent(t, "a", owner)
		id := a.Send(protocol.KindOpen, open(page))
		f.Until(t, a.Key, "done", func(r *protocol.OwnerRecord) bool { return r.IsDone(id) })
	}
	t.Logf("delivered %s after the restart", time.Since(begun))
}

// deliverWithin bounds a worker's pauses: what it can lose by waiting is a pause
// between two attempts to connect and one between two sweeps.
const (
	deliverWithin = 10 * time.Second
	sweepGap      = 5 * time.Second // of package environment
)

func connectionsComeBackForEver(t *testing.T) {
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	o := f.Workers[0].conn.NC.Opts
	if !o.AllowReconnect || o.MaxReconnect >= 0 || !o.IgnoreAuthErrorAbort {
		t.Errorf("reconnect %v, at most %d times", o.AllowReconnect, o.MaxReconnect)
	}
	if o.ReconnectWait == 0 || o.ReconnectJitter == 0 || o.ReconnectWait+o.ReconnectJitter+sweepGap > deliverWithin {
		t.Errorf("pauses of %s, and up to %s more", o.ReconnectWait, o.ReconnectJitter)
	}
}

func withoutPushesTheSweepDelivers(t *testing.T) {
	f := Start(t, Options{Objects: objectstore.NewMemory()})
	wire := NewWire(t, strings.TrimPrefix(f.NATS.URL, "nats://"))
	f.through = wire.URL()
	f.StartWorker(t)
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	var lost atomic.Int32
	wire.Watch(nil, func(fr Frame) bool {
		push := strings.HasPrefix(fr.Subject, "bf.push.")
		if push {
			lost.Add(1)
		}
		return !push
	})
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	if lost.Load() == 0 {
		t.Error("no push was lost")
	}
}

func othersFlowWhileOneIsStuck(t *testing.T) {
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a, head := stuck(t, f)
	f.Holder(t, a.Key).CutOff()
	neighbours(t, f)
	expect(t, a.Await(head), protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
}

func aStuckHeadMovesWithItsWorkersDeath(t *testing.T) {
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a, head := stuck(t, f)
	behind := a.Send(protocol.KindOpen, open(page))
	dead := f.Holder(t, a.Key)
	dead.CutOff()
	expect(t, a.Await(head), protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
	expect(t, a.Await(behind), protocol.StatusOK, "")
	if rec := f.Record(t, a.Key); rec.Worker == dead.ID {
		t.Errorf("still of %s", dead.ID)
	}
}

func theHeadIsDescribed(t *testing.T) {
	scene(t, 1, func(f *Fleet, a *Agent, head protocol.RequestID) error {
		var reply protocol.OwnersReply
		a.ask(protocol.ServiceDescribe, nil, &reply)
		if len(reply.Owners) != 1 {
			return fmt.Errorf("%+v", reply)
		}
		got := reply.Owners[0]
		if got.Running != head || got.Attempt != 1 || got.Worker != f.Workers[0].ID || got.Since.IsZero() {
			return fmt.Errorf("%+v", got)
		}
		_, _, err := protocol.ParseRequestID(string(got.Running)) // tells its age
		return err
	})
}
