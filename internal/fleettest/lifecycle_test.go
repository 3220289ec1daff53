package fleettest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

// ask is a service of the agent's tenant.
func (a *Agent) ask(verb string, body, reply any) {
	a.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	m := a.service(verb, data)
	if err := json.Unmarshal(m.Data, reply); err != nil {
		a.t.Fatal(err)
	}
}

// Acquire asks for a lease.
func (a *Agent) Acquire(q protocol.AcquireQuery) protocol.AcquireReply {
	a.t.Helper()
	q.V = protocol.Version
	var reply protocol.AcquireReply
	a.ask(protocol.ServiceAcquire, q, &reply)
	return reply
}

// Life asks for one of the services that answer yes or no.
func (a *Agent) Life(verb string, body any) *protocol.Error {
	a.t.Helper()
	var reply protocol.ControlReply
	a.ask(verb, body, &reply)
	if reply.OK != (reply.Error == nil) {
		a.t.Fatalf("%s: ok %v with error %v", verb, reply.OK, reply.Error)
	}
	return reply.Error
}

// Release gives a lease up.
func (a *Agent) Release(id protocol.LeaseID) *protocol.Error {
	a.t.Helper()
	return a.Life(protocol.ServiceRelease, protocol.ReleaseQuery{V: protocol.Version, Lease: id})
}

// operate is an operator's service.
func (f *Fleet) operate(t *testing.T, verb string, body any) *protocol.Error {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.NATS.Operator(t).NC.Request(protocol.OpsSubject(verb), data, wait)
	if err != nil {
		t.Fatal(err)
	}
	var reply protocol.ControlReply
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		t.Fatal(err)
	}
	return reply.Error
}

func state(s protocol.RecordState) func(*protocol.OwnerRecord) bool {
	return func(r *protocol.OwnerRecord) bool { return r.State == s }
}

func codeOf(err *protocol.Error) protocol.Code {
	if err == nil {
		return ""
	}
	return err.Code
}

func TestAnOwnerThatKillsItsBrowserThreeTimesFailsUntilItIsReset(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a, neighbour := f.Agent(t, "a", "one"), f.Agent(t, "a", "two")
	expect(t, neighbour.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	var deadly []protocol.RequestID
	for range protocol.MaxFailures {
		deadly = append(deadly, a.Send(protocol.KindOpen, open(page+"crash")))
	}
	waiting := a.Send(protocol.KindOpen, open(page))
	for _, id := range deadly {
		expect(t, a.Await(id), protocol.StatusOutcomeUnknown, protocol.CodeBrowserLost)
	}
	expect(t, a.Await(waiting), protocol.StatusError, protocol.CodeEnvironmentFailed)
	expect(t, a.Do(protocol.KindObserve, nil), protocol.StatusError, protocol.CodeEnvironmentFailed)
	if rec := f.Record(t, neighbour.Key); len(rec.Failures) != 0 || rec.State != protocol.RecordAssigned {
		t.Fatalf("the neighbour: %+v", rec)
	}
	if err := a.Life(protocol.ServiceReset, nil); codeOf(err) != protocol.CodeEnvironmentFailed || err.RetryAfterMS == 0 {
		t.Fatalf("an agent's reset at once: %v", err)
	}
	if err := f.operate(t, protocol.OpsReset, protocol.OwnerQuery{V: protocol.Version, Key: a.Key}); err != nil {
		t.Fatal(err)
	}
	res := a.Do(protocol.KindOpen, open(page))
	expect(t, res, protocol.StatusOK, "")
	if !strings.Contains(res.Observation.Text, "Fills: 1.") {
		t.Fatalf("its state is gone: %q", res.Observation.Text)
	}
}

func TestACompletedActionForgetsTheDeaths(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	for range protocol.MaxFailures {
		expect(t, a.Do(protocol.KindOpen, open(page+"crash")), protocol.StatusOutcomeUnknown, protocol.CodeBrowserLost)
		expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	}
	f.Until(t, a.Key, "without deaths", func(r *protocol.OwnerRecord) bool { return len(r.Failures) == 0 })
}

func TestAWorkerThatDiesAtAnOwnerStrikesItAndNoIdleNeighbour(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	first := f.Holder(t, a.Key)
	f.Until(t, a.Key, "open", func(r *protocol.OwnerRecord) bool { return !r.Opening })
	first.CutOff()
	f.Until(t, a.Key, "moved", func(r *protocol.OwnerRecord) bool {
		return r.State == protocol.RecordAssigned && r.Worker != first.ID && !r.Opening
	})
	if rec := f.Record(t, a.Key); len(rec.Failures) != 0 {
		t.Fatalf("an idle owner has %v", rec.Failures)
	}
	f.StartWorker(t)
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	effect := a.Send(protocol.KindOpen, open(page+"hang"))
	f.untilDispatched(t, effect)
	f.Holder(t, a.Key).CutOff()
	expect(t, a.Await(effect), protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
	f.Until(t, a.Key, "struck once", func(r *protocol.OwnerRecord) bool { return len(r.Failures) == 1 })
}

func TestAnIdleEnvironmentHibernatesAndItsNextActionWakesItAnywhere(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory(), IdleTimeout: 200 * time.Millisecond})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	filled := a.Do(protocol.KindFill, fill("e1"))
	for filled.Status != protocol.StatusOK { // it was idle between the two
		expect(t, filled, protocol.StatusError, protocol.CodeGenerationChanged)
		expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
		filled = a.Do(protocol.KindFill, fill("e1"))
	}
	f.Until(t, a.Key, "hibernated", state(protocol.RecordHibernated))
	f.Workers[0].Drain("test")
	f.StartWorker(t)
	res := a.Do(protocol.KindOpen, open(page))
	expect(t, res, protocol.StatusOK, "")
	if res.Restored == nil || res.Restored.From != "hibernated" || len(res.Restored.StateLost) != 0 || res.Generation != filled.Generation+1 {
		t.Fatalf("generation %d, restored %+v", res.Generation, res.Restored)
	}
	if res.Worker != f.Workers[1].ID || !strings.Contains(res.Observation.Text, "Fills: 1.") {
		t.Fatalf("%s: %q", res.Worker, res.Observation.Text)
	}
}

func TestRequestsInTheMiddleOfHibernationAreAllAnswered(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory(), IdleTimeout: time.Millisecond})
	a := f.Agent(t, "a", "one")
	for i := range 40 {
		res := a.Do(protocol.KindOpen, open(page))
		expect(t, res, protocol.StatusOK, "")
		if n := len(f.Dispatched(t, res.Request)); n != 1 {
			t.Fatalf("action %d was dispatched %d times", i, n)
		}
	}
}

func TestASaveThatFailsCancelsHibernation(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	objects := objectstore.NewMemory()
	tried := make(chan struct{}, 100)
	objects.Fault = func(string, string) error {
		if away.Load() {
			select {
			case tried <- struct{}{}:
			default:
			}
			return objectstore.ErrUnavailable
		}
		return nil
	}
	f := Start(t, Options{Workers: 1, Objects: objects})
	a := f.Agent(t, "a", "one")
	lease := a.Acquire(protocol.AcquireQuery{Lease: "l"})
	if lease.Error != nil {
		t.Fatal(lease.Error)
	}
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	away.Store(true)
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	if err := a.Life(protocol.ServiceClose, nil); codeOf(err) != protocol.CodeCheckpointStore {
		t.Fatalf("closed without being saved: %v", err)
	}
	if rec := f.Record(t, a.Key); rec.State != protocol.RecordAssigned || len(rec.Unsaved) != 1 {
		t.Fatalf("%s, unsaved %v", rec.State, rec.Unsaved)
	}
	res := a.Do(protocol.KindObserve, nil)
	expect(t, res, protocol.StatusOK, "")
	if res.Generation != 1 || !strings.Contains(res.Observation.Text, "Fills: 1.") {
		t.Fatalf("generation %d: %q", res.Generation, res.Observation.Text)
	}
	away.Store(false)
	if err := a.Life(protocol.ServiceClose, nil); err != nil {
		t.Fatal(err)
	}
	if rec := f.Record(t, a.Key); rec.State != protocol.RecordHibernated || len(rec.Unsaved) != 0 {
		t.Fatalf("%s, unsaved %v", rec.State, rec.Unsaved)
	}
}

func TestEffectsThatWereNotSavedAreNamedAfterTheRestore(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	objects := objectstore.NewMemory()
	objects.Fault = func(op, _ string) error {
		if away.Load() && op != "get" && op != "list" {
			return objectstore.ErrUnavailable
		}
		return nil
	}
	f := Start(t, Options{Workers: 2, Objects: objects})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	saved := a.Send(protocol.KindFill, fill("e1"))
	expect(t, a.Await(saved), protocol.StatusOK, "")
	away.Store(true)
	var lost []protocol.RequestID
	for range 2 {
		lost = append(lost, a.Send(protocol.KindFill, fill("e1")))
	}
	for _, id := range lost {
		res := a.Await(id)
		expect(t, res, protocol.StatusOK, "")
		if len(res.Warnings) != 1 {
			t.Fatalf("warnings %v", res.Warnings)
		}
	}
	f.Holder(t, a.Key).CutOff()
	away.Store(false)
	res := a.Do(protocol.KindOpen, open(page))
	for res.Status != protocol.StatusOK {
		expect(t, res, protocol.StatusError, protocol.CodeCheckpointStore)
		res = a.Do(protocol.KindOpen, open(page))
	}
	if res.Restored == nil || len(res.Restored.StateLost) != 2 || res.Restored.StateLost[0] != lost[0] || res.Restored.StateLost[1] != lost[1] {
		t.Fatalf("restored %+v, want %v lost", res.Restored, lost)
	}
	if !strings.Contains(res.Observation.Text, "Fills: 1.") {
		t.Fatalf("%q", res.Observation.Text)
	}
}

func TestConcurrentAcquiresShareOneStart(t *testing.T) {
	t.Parallel()
	eyes := &spy{Launcher: simulated.Launcher{OpenLatency: 300 * time.Millisecond}}
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory(), Launcher: eyes})
	a := f.Agent(t, "a", "one")
	ids := []protocol.LeaseID{"l1", "l2", "l3"}
	replies := make([]protocol.AcquireReply, len(ids))
	var asking sync.WaitGroup
	for i, id := range ids {
		asking.Go(func() { replies[i] = a.Acquire(protocol.AcquireQuery{Lease: id}) })
	}
	asking.Wait()
	for i, r := range replies {
		if r.Error != nil || r.Generation != 1 || r.Lease == nil || r.Lease.ID != ids[i] || r.Persistence != protocol.PersistResume {
			t.Fatalf("%+v %v", r, r.Error)
		}
	}
	if n := eyes.count(); n != 1 {
		t.Fatalf("%d browsers were started", n)
	}
	for _, id := range ids[:2] {
		if err := a.Release(id); err != nil {
			t.Fatal(err)
		}
	}
	if rec := f.Record(t, a.Key); rec.State != protocol.RecordAssigned || len(rec.Leases) != 1 {
		t.Fatalf("%s with %v", rec.State, rec.Leases)
	}
	if err := a.Release(ids[2]); err != nil {
		t.Fatal(err)
	}
	f.Until(t, a.Key, "hibernated", state(protocol.RecordHibernated))
	await(t, "the browser's end", eyes.first().closed)
	if err := a.Release(ids[2]); err != nil {
		t.Fatalf("a second release: %v", err)
	}
	if r := a.Acquire(protocol.AcquireQuery{}); r.Error != nil || r.Generation != 2 || r.Lease == nil || r.Lease.ID == "" {
		t.Fatalf("%+v %v", r, r.Error)
	}
}

func TestWithdrawingOneAcquireEndsThatWaitOnly(t *testing.T) {
	t.Parallel()
	eyes := gatedSpy()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory(), Launcher: eyes})
	a := f.Agent(t, "a", "one")
	var asking sync.WaitGroup
	var stays protocol.AcquireReply
	asking.Go(func() { stays = a.Acquire(protocol.AcquireQuery{Lease: "stays"}) })
	await(t, "an opening", eyes.opening)
	late := a.Acquire(protocol.AcquireQuery{Lease: "late", TimeoutMS: 300})
	close(eyes.gate)
	asking.Wait()
	if codeOf(late.Error) != protocol.CodeUnavailable || !late.Error.Retryable {
		t.Fatalf("%+v %v", late, late.Error)
	}
	if stays.Error != nil || eyes.count() != 1 {
		t.Fatalf("%v, %d browsers", stays.Error, eyes.count())
	}
	rec := f.Record(t, a.Key)
	if len(rec.Leases) != 1 || rec.Leases[0].ID != "stays" {
		t.Fatalf("leases %v", rec.Leases)
	}
}

func TestAnEnvironmentThatNobodyWaitsForAnyMoreIsNotKept(t *testing.T) {
	t.Parallel()
	eyes := gatedSpy()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory(), Launcher: eyes})
	a := f.Agent(t, "a", "one")
	// Each ends before the browser has started, the first ones perhaps before the
	// fleet has found a worker.
	for begun := false; !begun; {
		if r := a.Acquire(protocol.AcquireQuery{TimeoutMS: 300}); r.OK || !r.Error.Retryable {
			t.Fatalf("%+v", r)
		}
		select {
		case <-eyes.opening:
			begun = true
		default:
		}
	}
	close(eyes.gate)
	f.Until(t, a.Key, "hibernated", state(protocol.RecordHibernated))
	await(t, "the browser's end", eyes.first().closed)
	if rec := f.Record(t, a.Key); len(rec.Leases) != 0 {
		t.Fatalf("leases %v", rec.Leases)
	}
}

func TestALeaseThatIsNotUsedEndsAndUseRenewsIt(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	r := a.Acquire(protocol.AcquireQuery{Lease: "l", TTLMS: protocol.MinLeaseTTL.Milliseconds()})
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	f.Until(t, a.Key, "renewed", func(rec *protocol.OwnerRecord) bool {
		return len(rec.Leases) == 1 && rec.Leases[0].Expires.After(r.Lease.Expires.Time)
	})
	f.Until(t, a.Key, "hibernated", state(protocol.RecordHibernated))
}

func TestADifferingAcquireIsRefused(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	if r := a.Acquire(protocol.AcquireQuery{Requires: []protocol.Capability{protocol.CapabilityScreenshot}}); r.Error != nil {
		t.Fatal(r.Error)
	}
	for name, tc := range map[string]struct {
		q    protocol.AcquireQuery
		code protocol.Code
	}{
		"persistence":        {protocol.AcquireQuery{Persistence: protocol.PersistEphemeral}, protocol.CodeOwnerConflict},
		"no such policy":     {protocol.AcquireQuery{Policy: "wide"}, protocol.CodePolicyDenied},
		"missing capability": {protocol.AcquireQuery{Requires: []protocol.Capability{protocol.CapabilityCredential}}, protocol.CodeCapabilityUnsupported},
		"no capability":      {protocol.AcquireQuery{Requires: []protocol.Capability{"telepathy"}}, protocol.CodeCapabilityUnsupported},
		"no lease":           {protocol.AcquireQuery{Lease: "a.b"}, protocol.CodeInvalidArgument},
	} {
		if r := a.Acquire(tc.q); codeOf(r.Error) != tc.code || r.OK {
			t.Errorf("%s: %+v %v", name, r, r.Error)
		}
	}
}

func TestAnEphemeralEnvironmentLeavesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	objects := objectstore.NewMemory()
	f := Start(t, Options{Workers: 1, Objects: objects})
	a := f.Agent(t, "a", "one")
	r := a.Acquire(protocol.AcquireQuery{Lease: "l", Persistence: protocol.PersistEphemeral})
	if r.Error != nil || r.Persistence != protocol.PersistEphemeral || len(r.Capabilities) != 1 {
		t.Fatalf("%+v %v", r, r.Error)
	}
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	res := a.Do(protocol.KindFill, fill("e1"))
	expect(t, res, protocol.StatusOK, "")
	if len(res.Warnings) != 0 {
		t.Fatalf("warnings %v", res.Warnings)
	}
	if err := a.Life(protocol.ServiceClose, nil); err != nil {
		t.Fatal(err)
	}
	if rec := f.Record(t, a.Key); rec.State != protocol.RecordUnassigned {
		t.Fatalf("record %s", rec.State)
	}
	if entries, err := objects.List(t.Context(), "", ""); err != nil || len(entries) != 0 {
		t.Fatalf("left in the store: %v %v", entries, err)
	}
	res = a.Do(protocol.KindOpen, open(page))
	expect(t, res, protocol.StatusOK, "")
	if res.Generation != 2 || res.Restored == nil || res.Restored.From != "clean" || len(res.Restored.Lost) != 1 || !strings.Contains(res.Observation.Text, "Fills: 0.") {
		t.Fatalf("generation %d, %+v, %q", res.Generation, res.Restored, res.Observation.Text)
	}
}

func TestCloseAnswersWhatIsQueuedThenSavesAndEnds(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory(), Launcher: &simulated.Launcher{Latency: 50 * time.Millisecond}})
	a := f.Agent(t, "a", "one")
	ids := []protocol.RequestID{a.Send(protocol.KindOpen, open(page))}
	for range 5 {
		ids = append(ids, a.Send(protocol.KindFill, fill("e1")))
	}
	if err := a.Life(protocol.ServiceClose, nil); err != nil {
		t.Fatal(err)
	}
	if rec := f.Record(t, a.Key); rec.State != protocol.RecordHibernated {
		t.Fatalf("record %s", rec.State)
	}
	for _, id := range ids {
		expect(t, a.Await(id), protocol.StatusOK, "")
	}
	if err := a.Life(protocol.ServiceClose, nil); err != nil {
		t.Fatalf("closed again: %v", err)
	}
}

func TestADeletedOwnerLeavesNothingAndStaysDeleted(t *testing.T) {
	t.Parallel()
	for name, sleeps := range map[string]bool{"while it lives": false, "while it sleeps": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := objectstore.NewMemory()
			f := Start(t, Options{Workers: 2, Objects: objects})
			a := f.Agent(t, "a", "one")
			expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
			expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
			running := protocol.RequestID("")
			if sleeps {
				if err := a.Life(protocol.ServiceClose, nil); err != nil {
					t.Fatal(err)
				}
			} else {
				running = a.Send(protocol.KindOpen, open(page+"hang"))
				f.untilDispatched(t, running)
			}
			if err := a.Life(protocol.ServiceDelete, nil); err != nil {
				t.Fatal(err)
			}
			if running != "" {
				expect(t, a.Await(running), protocol.StatusOutcomeUnknown, protocol.CodeInterrupted)
			}
			if entries, err := objects.List(t.Context(), "", ""); err != nil || len(entries) != 0 {
				t.Fatalf("left in the store: %v %v", entries, err)
			}
			if rec := f.Record(t, a.Key); rec.State != protocol.RecordDeleted || rec.Erase || len(rec.Leases) != 0 {
				t.Fatalf("record %+v", rec)
			}
			expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusError, protocol.CodeEnvironmentDeleted)
			if r := a.Acquire(protocol.AcquireQuery{}); codeOf(r.Error) != protocol.CodeEnvironmentDeleted {
				t.Fatalf("acquired: %+v", r)
			}
			if err := a.Life(protocol.ServiceDelete, nil); err != nil {
				t.Fatalf("deleted again: %v", err)
			}
		})
	}
}

func TestWhatIsKeptOfADeletedOwnerIsRemovedWhenTheStoreIsBack(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	objects := objectstore.NewMemory()
	objects.Fault = func(string, string) error {
		if away.Load() {
			return objectstore.ErrUnavailable
		}
		return nil
	}
	f := Start(t, Options{Workers: 1, Objects: objects})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	away.Store(true)
	if err := a.Life(protocol.ServiceDelete, nil); codeOf(err) != protocol.CodeCheckpointStore {
		t.Fatalf("%v", err)
	}
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusError, protocol.CodeEnvironmentDeleted)
	away.Store(false)
	f.Until(t, a.Key, "erased", func(r *protocol.OwnerRecord) bool { return !r.Erase })
	if entries, err := objects.List(t.Context(), "", ""); err != nil || len(entries) != 0 {
		t.Fatalf("left in the store: %v %v", entries, err)
	}
}

// A holder that was overtaken while it wrote a checkpoint stores it after the owner
// was erased. It does not stay, and its neighbours' do.
func TestWhatAFormerHolderStoresAfterTheErasureIsRemoved(t *testing.T) {
	t.Parallel()
	objects := objectstore.NewMemory()
	f := Start(t, Options{Workers: 1, Objects: objects})
	a, neighbour := f.Agent(t, "a", "one"), f.Agent(t, "a", "two")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, neighbour.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	if err := a.Life(protocol.ServiceDelete, nil); err != nil {
		t.Fatal(err)
	}
	late := fmt.Sprintf("v1/%s/m/%020d", checkpoints.EnvIDOf(a.Key), 3)
	if err := objects.PutNew(t.Context(), late, []byte("late")); err != nil {
		t.Fatal(err)
	}
	conn := f.NATS.Fleet(t)
	rec, fence, err := ownerlog.Read(t.Context(), conn, 0, a.Key)
	if err != nil || rec.Erasures != 1 || time.Since(rec.Erased.Time) > wait {
		t.Fatalf("%+v %v", rec, err)
	}
	rec.Erased = protocol.At(time.Now().Add(-time.Hour))
	data, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.CAS(t.Context(), protocol.OwnSubject(0, a.Key), data, nil, fence); err != nil {
		t.Fatal(err)
	}
	f.Until(t, a.Key, "erased again", func(r *protocol.OwnerRecord) bool { return !r.Erase && r.Erasures == 2 })
	left, err := objects.List(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if !strings.Contains(e.Key, string(checkpoints.EnvIDOf(neighbour.Key))) {
			t.Errorf("left in the store: %s", e.Key)
		}
	}
	if len(left) == 0 {
		t.Error("a neighbour's checkpoints were removed")
	}
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusError, protocol.CodeEnvironmentDeleted)
}

func TestAPersonInControlHoldsActionsUpUntilItIsGivenBackOrExpires(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	control := func(op, holder string, ttl time.Duration) *protocol.Error {
		return f.operate(t, protocol.OpsControl, protocol.ControlQuery{
			V: protocol.Version, Key: a.Key, Op: op, Holder: holder, TTLMS: ttl.Milliseconds(),
		})
	}
	if err := control(protocol.ControlTake, "anna", time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := control(protocol.ControlTake, "bert", time.Minute); codeOf(err) != protocol.CodeOwnerConflict {
		t.Fatalf("taken from anna: %v", err)
	}
	held := a.Send(protocol.KindFill, fill("e1"))
	short := a.Send(protocol.KindFill, fill("e1"), func(r *protocol.Request) { r.QueueDeadlineMS = 1 })
	ping := a.Do(protocol.KindPing, nil)
	expect(t, ping, protocol.StatusOK, "")
	if !strings.Contains(string(ping.Data), "human_in_control") {
		t.Fatalf("ping: %s", ping.Data)
	}
	if n := len(f.Dispatched(t, held)); n != 0 {
		t.Fatal("dispatched while a person has control")
	}
	if err := control(protocol.ControlGive, "anna", 0); err != nil {
		t.Fatal(err)
	}
	expect(t, a.Await(held), protocol.StatusOK, "")
	expect(t, a.Await(short), protocol.StatusExpired, protocol.CodeExpired)
	if err := control(protocol.ControlTake, "bert", time.Second); err != nil {
		t.Fatal(err)
	}
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	if rec := f.Record(t, a.Key); rec.Control != nil {
		t.Fatalf("control %+v", rec.Control)
	}
}

func TestControlSurvivesTheWorkerAndASleepingOwnerIsWokenForIt(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	if err := a.Life(protocol.ServiceClose, nil); err != nil {
		t.Fatal(err)
	}
	take := protocol.ControlQuery{V: protocol.Version, Key: a.Key, Op: protocol.ControlTake, Holder: "anna"}
	if err := f.operate(t, protocol.OpsControl, take); err != nil {
		t.Fatal(err)
	}
	first := f.Holder(t, a.Key)
	f.Until(t, a.Key, "open", func(r *protocol.OwnerRecord) bool { return !r.Opening })
	first.CutOff()
	held := a.Send(protocol.KindOpen, open(page))
	f.Until(t, a.Key, "moved", func(r *protocol.OwnerRecord) bool {
		return r.State == protocol.RecordAssigned && r.Worker != first.ID && !r.Opening && r.Control != nil
	})
	expect(t, a.Do(protocol.KindPing, nil), protocol.StatusOK, "")
	if len(f.Dispatched(t, held)) != 0 {
		t.Fatal("dispatched while a person has control")
	}
	take.Op = protocol.ControlGive
	if err := f.operate(t, protocol.OpsControl, take); err != nil {
		t.Fatal(err)
	}
	expect(t, a.Await(held), protocol.StatusOK, "")
}

func TestARequestThatHibernationMissedWakesTheSameBrowser(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Objects: objectstore.NewMemory(), NoCoordinator: true, IdleTimeout: time.Second})
	wire := NewWire(t, strings.TrimPrefix(f.NATS.URL, "nats://"))
	f.through = wire.URL()
	stop := f.StartCoordinator(t)
	f.StartWorker(t)
	a := f.Agent(t, "a", "one")
	alone, sent := make(chan struct{}), make(chan protocol.RequestID, 1)
	var once sync.Once
	var deaf atomic.Bool
	hibernates := func(fr Frame) bool {
		if !strings.HasPrefix(fr.Subject, "bf.own.") || !strings.Contains(string(fr.Payload), `"hibernated"`) {
			return true
		}
		once.Do(func() { // the request is stored while the record is on its way
			<-alone
			sent <- a.Send(protocol.KindFill, fill("e1"))
		})
		return true
	}
	// Before the first action: its environment may be idle for long on a busy machine.
	wire.Watch(hibernates, func(fr Frame) bool { return !deaf.Load() || !strings.HasPrefix(fr.Subject, "bf.push.") })
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	// From here on nobody but the worker itself can notice a request.
	deaf.Store(true)
	stop()
	close(alone)
	select {
	case id := <-sent:
		res := a.Await(id)
		expect(t, res, protocol.StatusOK, "")
		if res.Generation != 1 || res.Restored != nil || len(f.Dispatched(t, id)) != 1 {
			t.Fatalf("generation %d, restored %+v", res.Generation, res.Restored)
		}
	case <-time.After(wait):
		t.Fatal("it never hibernated")
	}
}

func TestEffectsAfterADamagedCheckpointAreNamed(t *testing.T) {
	t.Parallel()
	objects := objectstore.NewMemory()
	f := Start(t, Options{Workers: 2, Objects: objects})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	lost := a.Send(protocol.KindFill, fill("e1"))
	expect(t, a.Await(lost), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindObserve, nil), protocol.StatusOK, "")
	entries, err := objects.List(t.Context(), "", "")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%v %v", entries, err)
	}
	if err := objects.Put(t.Context(), entries[len(entries)-1].Key, []byte("rust"), ""); err != nil {
		t.Fatal(err)
	}
	f.Until(t, a.Key, "written", func(r *protocol.OwnerRecord) bool { return r.InflightQ == nil })
	f.Holder(t, a.Key).CutOff()
	res := a.Do(protocol.KindOpen, open(page))
	expect(t, res, protocol.StatusOK, "")
	if res.Restored == nil || len(res.Restored.Skipped) != 1 || len(res.Restored.StateLost) != 1 || res.Restored.StateLost[0] != lost {
		t.Fatalf("restored %+v, want %s lost", res.Restored, lost)
	}
	if !strings.Contains(res.Observation.Text, "Fills: 1.") {
		t.Fatalf("%q", res.Observation.Text)
	}
}
