package fleettest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func open(url string) *protocol.OpenArgs { return &protocol.OpenArgs{URL: url} }

const page = "http://simulated.invalid/"

func fill(ref protocol.Ref) *protocol.FillArgs {
	return &protocol.FillArgs{Target: protocol.Target{ElementRef: ref}, Value: "x"}
}

func click(ref protocol.Ref) *protocol.ClickArgs {
	return &protocol.ClickArgs{Target: protocol.Target{ElementRef: ref}}
}

func expect(t *testing.T, res *protocol.Result, status protocol.Status, code protocol.Code) {
	t.Helper()
	got := protocol.Code("")
	if res.Error != nil {
		got = res.Error.Code
	}
	if res.Status != status || got != code {
		t.Fatalf("%s %s: got %s %v, want %s %s", res.Kind, res.Request, res.Status, res.Error, status, code)
	}
}

func TestActionsRunInOrderWithOneResultEach(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	var ids []protocol.RequestID
	ids = append(ids, a.Send(protocol.KindOpen, open(page)))
	for range 30 {
		ids = append(ids, a.Send(protocol.KindFill, fill("e1")))
	}
	for i, id := range ids {
		res := a.Await(id)
		expect(t, res, protocol.StatusOK, "")
		if i > 0 && !strings.Contains(res.Observation.Text, fmt.Sprintf("Fills: %d.", i)) {
			t.Fatalf("fill %d saw %q", i, res.Observation.Text)
		}
		if n := f.Results(t, a.Key, id); n != 1 {
			t.Fatalf("%d results", n)
		}
	}
	if res := a.Do(protocol.KindObserve, nil); res.Generation != 1 || res.Restored != nil {
		t.Fatalf("a new environment reports generation %d, restored %v", res.Generation, res.Restored)
	}
}

func TestAQueueDrainsSoThatDepthMeansUnanswered(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	for range 5 * protocol.QueueDepth {
		expect(t, a.Do(protocol.KindObserve, nil), protocol.StatusOK, "")
	}
}

func TestBadRequestsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	created, err := f.NATS.Fleet(t).StreamCreated(context.Background(), protocol.ActStream(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, body string
		code       protocol.Code
	}{
		{"malformed", `{"v":1,`, protocol.CodeInvalidRequest},
		{"not an object", `17`, protocol.CodeInvalidRequest},
		{"no version", `{"kind":"observe"}`, protocol.CodeInvalidRequest},
		{"other version", `{"v":9,"kind":"observe"}`, protocol.CodeUnsupportedVersion},
		{"unknown kind", `{"v":1,"kind":"explode"}`, protocol.CodeUnknownAction},
		{"endless kind", `{"v":1,"kind":"` + strings.Repeat("a", 200_000) + `"}`, protocol.CodeUnknownAction},
		{"wrong lane", `{"v":1,"kind":"ping"}`, protocol.CodeInvalidRequest},
		{"illegal id", `{"v":1,"id":"x","kind":"observe"}`, protocol.CodeInvalidRequest},
		{"argument", `{"v":1,"kind":"press","args":{"key":"Control+W"}}`, protocol.CodeInvalidArgument},
		{"unknown field", `{"v":1,"kind":"observe","colour":"red"}`, ""},
		{"no id", `{"v":1,"kind":"observe"}`, ""},
	} {
		seq := a.SendRaw(protocol.LaneQueue, []byte(tc.body))
		id := protocol.SequenceRequestID(seq, created)
		res := a.Await(id)
		status := protocol.StatusError
		if tc.code == "" {
			status = protocol.StatusOK
		}
		t.Log(tc.name)
		expect(t, res, status, tc.code)
	}
}

func TestOldAndFutureIdsAreRefused(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	at := func(d time.Duration) func(*protocol.Request) {
		return func(r *protocol.Request) { r.ID = protocol.NewRequestID(time.Now().Add(d)) }
	}
	expect(t, a.Do(protocol.KindObserve, nil, at(-31*time.Minute)), protocol.StatusError, protocol.CodeRequestTooOld)
	expect(t, a.Do(protocol.KindObserve, nil, at(6*time.Minute)), protocol.StatusError, protocol.CodeRequestFromFuture)
	expect(t, a.Do(protocol.KindObserve, nil, at(-29*time.Minute)), protocol.StatusOK, "")
}

func TestTheSameIdAgainGetsTheStoredResult(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	r, err := protocol.NewRequest(protocol.KindFill, fill("e1"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a.SendRequest(r)
	first := a.Await(r.ID)
	a.SendRequest(r)
	m, again := a.AwaitMessage(r.ID)
	if m.Header.Get(protocol.HeaderRepeat) == "" || again.Nonce != first.Nonce {
		t.Fatalf("the second answer is not the stored one: %v", m.Header)
	}
	if n := len(f.Dispatched(t, r.ID)); n != 1 {
		t.Fatalf("dispatched %d times", n)
	}
}

func TestCancelOfAQueuedAndOfARunningAction(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	running := a.Send(protocol.KindOpen, open(page+"hang"))
	queued := a.Send(protocol.KindFill, fill("e1"))
	expect(t, a.Do(protocol.KindPing, nil), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindCancel, &protocol.CancelArgs{Request: queued}), protocol.StatusOK, "")
	expect(t, a.Await(queued), protocol.StatusCancelled, protocol.CodeCancelled)
	f.untilDispatched(t, running)
	expect(t, a.Do(protocol.KindCancel, &protocol.CancelArgs{Request: running}), protocol.StatusOK, "")
	res := a.Await(running)
	expect(t, res, protocol.StatusOutcomeUnknown, protocol.CodeInterrupted)
	if len(f.Dispatched(t, queued)) != 0 {
		t.Fatal("the cancelled action was dispatched")
	}
	expect(t, a.Do(protocol.KindCancel, &protocol.CancelArgs{Request: queued}), protocol.StatusError, protocol.CodeStaleControl)
	expect(t, a.Do(protocol.KindObserve, nil), protocol.StatusOK, "")
}

// untilDispatched waits until a dispatch log has the request.
func (f *Fleet) untilDispatched(t *testing.T, id protocol.RequestID) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(wait)
	for len(f.Dispatched(t, id)) == 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s was never dispatched", id)
		}
	}
}

func TestALostWorkersOwnerResumesElsewhere(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	f.Holder(t, a.Key).CutOff()
	late := a.Send(protocol.KindClick, click("e2"))
	res := a.Await(late)
	expect(t, res, protocol.StatusError, protocol.CodeGenerationChanged)
	if res.Generation != 2 || res.Restored == nil || res.Restored.From != "checkpoint" || res.Observation == nil {
		t.Fatalf("generation %d, restored %+v, observation %v", res.Generation, res.Restored, res.Observation)
	}
	if n := len(f.Dispatched(t, late)); n != 0 {
		t.Fatalf("dispatched %d times", n)
	}
	res = a.Do(protocol.KindOpen, open(page))
	expect(t, res, protocol.StatusOK, "")
	if !strings.Contains(res.Observation.Text, "Fills: 1.") || res.Restored != nil {
		t.Fatalf("the state did not survive: %q, %v", res.Observation.Text, res.Restored)
	}
	expect(t, a.Do(protocol.KindClick, click("e2")), protocol.StatusOK, "")
}

func TestAnActionInFlightOnALostWorkerIsNeverRunAgain(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	effect := a.Send(protocol.KindOpen, open(page+"hang"))
	f.untilDispatched(t, effect)
	f.Holder(t, a.Key).CutOff()
	res := a.Await(effect)
	expect(t, res, protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
	if n := len(f.Dispatched(t, effect)); n != 1 {
		t.Fatalf("dispatched %d times", n)
	}
	if res.Observation == nil || res.Restored == nil {
		t.Fatalf("no evidence: %+v", res)
	}
}

func TestAReadInFlightOnALostWorkerIsRunOnceMore(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory(), Launcher: &firstReadHangs{}})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	read := a.Send(protocol.KindObserve, nil)
	f.untilDispatched(t, read)
	f.Holder(t, a.Key).CutOff()
	res := a.Await(read)
	expect(t, res, protocol.StatusOK, "")
	if res.Attempt != 2 || len(f.Dispatched(t, read)) != 2 {
		t.Fatalf("attempt %d, dispatched %d times", res.Attempt, len(f.Dispatched(t, read)))
	}
}

// firstReadHangs opens browsers of which the first that reads the page does so
// until it is told to stop.
type firstReadHangs struct {
	simulated.Launcher
	read atomic.Bool
}

type hangingRead struct {
	environment.Browser
	read *atomic.Bool
}

func (l *firstReadHangs) Open(ctx context.Context, spec environment.Spec) (environment.Browser, *checkpoints.FidelityReport, error) {
	b, report, err := l.Launcher.Open(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	return &hangingRead{b, &l.read}, report, nil
}

func (b *hangingRead) Run(ctx context.Context, a *protocol.Action, dispatch func() error) *environment.Outcome {
	return b.Browser.Run(ctx, a, func() error {
		err := dispatch()
		if err == nil && a.Kind == protocol.KindObserve && b.read.CompareAndSwap(false, true) {
			<-ctx.Done()
		}
		return err
	})
}

func TestDrainMovesTheOwnerWithItsState(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	from := f.Holder(t, a.Key)
	from.Drain("test")
	f.Until(t, a.Key, "assigned elsewhere", func(r *protocol.OwnerRecord) bool {
		return r.State == protocol.RecordAssigned && r.Worker != from.ID
	})
	res := a.Do(protocol.KindOpen, open(page))
	expect(t, res, protocol.StatusOK, "")
	if !strings.Contains(res.Observation.Text, "Fills: 1.") || res.Restored == nil || res.Restored.Reason != "moved" {
		t.Fatalf("%q, %+v", res.Observation.Text, res.Restored)
	}
}

func TestWithoutWorkersTheCoordinatorAnswersWhatIsDue(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	short := func(r *protocol.Request) { r.QueueDeadlineMS = 1 }
	expired := a.Send(protocol.KindOpen, open(page), short)
	waiting := a.Send(protocol.KindOpen, open(page))
	gone := a.Send(protocol.KindFill, fill("e1"))
	expect(t, a.Do(protocol.KindCancel, &protocol.CancelArgs{Request: gone}), protocol.StatusOK, "")
	expect(t, a.Await(gone), protocol.StatusCancelled, protocol.CodeCancelled)
	expect(t, a.Await(expired), protocol.StatusExpired, protocol.CodeNoCapacity)
	if fate := a.Fate(waiting); fate.Fate != protocol.FateQueued {
		t.Fatalf("fate %+v", fate)
	}
	f.StartWorker(t)
	expect(t, a.Await(waiting), protocol.StatusOK, "")
	if fate := a.Fate(waiting); fate.Fate != protocol.FateAnswered || fate.Result.Request != waiting {
		t.Fatalf("fate %+v", fate)
	}
	if fate := a.Fate(protocol.NewRequestID(time.Now())); fate.Fate != protocol.FateNotStored {
		t.Fatalf("fate %+v", fate)
	}
	if fate := a.Fate(protocol.NewRequestID(time.Now().Add(-time.Hour))); fate.Fate != protocol.FateTooOld {
		t.Fatalf("fate %+v", fate)
	}
}

func TestTheBrowserDiesAndTheOwnerIsTold(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindOpen, open(page+"crash")), protocol.StatusOutcomeUnknown, protocol.CodeBrowserLost)
	res := a.Do(protocol.KindObserve, nil)
	expect(t, res, protocol.StatusOK, "")
	if res.Generation != 2 || res.Restored == nil || res.Restored.Reason != "browser_lost" {
		t.Fatalf("generation %d, restored %+v", res.Generation, res.Restored)
	}
}

func TestNATSRestartsAndNothingIsLost(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	effect := a.Send(protocol.KindOpen, open(page+"slow?ms=1500"))
	f.untilDispatched(t, effect)
	f.NATS.Restart(t)
	f.Until(t, a.Key, "done", func(r *protocol.OwnerRecord) bool { return r.IsDone(effect) })
	if fate := a.Fate(effect); fate.Fate != protocol.FateAnswered {
		t.Fatalf("fate %+v", fate)
	}
	if n := len(f.Dispatched(t, effect)); n != 1 {
		t.Fatalf("dispatched %d times", n)
	}
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	// The leader follows the records again: a worker that is lost now is noticed.
	f.Holder(t, a.Key).CutOff()
	res := a.Do(protocol.KindObserve, nil)
	expect(t, res, protocol.StatusOK, "")
	if res.Generation != 2 {
		t.Fatalf("generation %d", res.Generation)
	}
}

func TestAStoreThatIsAwayIsSaidAndStartsNothingEmpty(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	objects := objectstore.NewMemory()
	objects.Fault = func(string, string) error {
		if away.Load() {
			return objectstore.ErrUnavailable
		}
		return nil
	}
	f := Start(t, Options{Workers: 2, Objects: objects})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	away.Store(true)
	res := a.Do(protocol.KindFill, fill("e1"))
	expect(t, res, protocol.StatusOK, "")
	if len(res.Warnings) != 1 || res.Warnings[0].Code != protocol.CodeCheckpointNotSaved {
		t.Fatalf("warnings %v", res.Warnings)
	}
	f.Holder(t, a.Key).CutOff()
	res = a.Do(protocol.KindOpen, open(page))
	expect(t, res, protocol.StatusError, protocol.CodeCheckpointStore)
	if !res.Error.Retryable || res.Dispatched != protocol.DispatchedNo {
		t.Fatalf("%+v", res.Error)
	}
	away.Store(false)
	for {
		res = a.Do(protocol.KindOpen, open(page))
		if res.Status == protocol.StatusOK {
			break
		}
		expect(t, res, protocol.StatusError, protocol.CodeCheckpointStore)
	}
	if !strings.Contains(res.Observation.Text, "Fills: 1.") {
		t.Fatalf("restored %q", res.Observation.Text)
	}
}
