package fleettest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

// spy is a launcher that remembers what was done to its browsers.
type spy struct {
	simulated.Launcher
	// gate holds back every opening until it is closed, and opening is closed by
	// the first one. Nil holds back nothing.
	gate, opening chan struct{}
	openingOnce   sync.Once
	mu            sync.Mutex // guards browsers
	browsers      []*spied
}

func gatedSpy() *spy { return &spy{gate: make(chan struct{}), opening: make(chan struct{})} }

type spied struct {
	environment.Browser
	suspended, closed chan struct{}
	once, closeOnce   sync.Once
}

func (s *spy) Open(ctx context.Context, spec environment.Spec) (environment.Browser, *checkpoints.FidelityReport, error) {
	if s.gate != nil {
		s.openingOnce.Do(func() { close(s.opening) })
		select {
		case <-s.gate:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	b, report, err := s.Launcher.Open(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	watched := &spied{Browser: b, suspended: make(chan struct{}), closed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers = append(s.browsers, watched)
	return watched, report, nil
}

func (s *spy) first() *spied {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.browsers[0]
}

func (s *spy) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.browsers)
}

func (b *spied) Suspend() { b.once.Do(func() { close(b.suspended) }); b.Browser.Suspend() }

func (b *spied) Close(ctx context.Context) error {
	b.closeOnce.Do(func() { close(b.closed) })
	return b.Browser.Close(ctx)
}

func await(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(wait):
		t.Fatalf("%s did not happen", what)
	}
}

func TestAWorkerThatComesBackFromACutNetworkDoesNothingMore(t *testing.T) {
	t.Parallel()
	eyes := &spy{}
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory(), Launcher: eyes})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	zombie := f.Holder(t, a.Key)
	effect := a.Send(protocol.KindOpen, open(page+"hang"))
	f.untilDispatched(t, effect)
	zombie.Network.Cut()
	await(t, "the suspension of the cut-off browser", eyes.first().suspended)
	res := a.Await(effect)
	expect(t, res, protocol.StatusOutcomeUnknown, protocol.CodeOutcomeUnknown)
	if res.Worker == zombie.ID {
		t.Fatal("answered by the zombie")
	}
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "")
	zombie.Network.Heal()
	await(t, "the end of the zombie's browser", eyes.first().closed)
	res = a.Do(protocol.KindObserve, nil)
	expect(t, res, protocol.StatusOK, "")
	if res.Worker == zombie.ID || !strings.Contains(res.Observation.Text, "Fills: 2.") {
		t.Fatalf("%s: %q", res.Worker, res.Observation.Text)
	}
	if n := f.Results(t, a.Key, effect); n != 1 {
		t.Fatalf("%d results", n)
	}
}

func TestAShortCutKeepsTheBrowserAndTheOwner(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	w := f.Holder(t, a.Key)
	w.Network.Cut()
	id := a.Send(protocol.KindFill, fill("e1"))
	w.Network.Heal()
	res := a.Await(id)
	expect(t, res, protocol.StatusOK, "")
	if res.Generation != 1 {
		t.Fatalf("generation %d", res.Generation)
	}
}

func TestTheNextHolderReadsCancelsBeforeItActs(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	f.Holder(t, a.Key).CutOff()
	queued := a.Send(protocol.KindOpen, open(page+"?queued"))
	cancel := a.Send(protocol.KindCancel, &protocol.CancelArgs{Request: queued})
	f.StartWorker(t)
	expect(t, a.Await(cancel), protocol.StatusOK, "")
	expect(t, a.Await(queued), protocol.StatusCancelled, protocol.CodeCancelled)
	if n := len(f.Dispatched(t, queued)); n != 0 {
		t.Fatalf("dispatched %d times", n)
	}
}

func TestARawPublishUnderAWildcardTokenHarmsNobody(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	waiting := a.Send(protocol.KindOpen, open(page))
	for _, token := range []string{"*", "a.b", "{x}", "ä"} {
		if _, err := f.NATS.Tenant(t, "a").Request("act."+token+".q", []byte(`{"v":1,"kind":"observe"}`), time.Second); err != nil {
			t.Logf("%q: %v", token, err)
		}
	}
	f.StartWorker(t)
	expect(t, a.Await(waiting), protocol.StatusOK, "")
	for range 2 * protocol.QueueDepth {
		expect(t, a.Do(protocol.KindObserve, nil), protocol.StatusOK, "")
	}
}

func TestACoordinatorThatDiesIsReplacedAndNothingIsAssignedTwice(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 2, Objects: objectstore.NewMemory(), NoCoordinator: true})
	stop := f.StartCoordinator(t)
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	before := f.Record(t, a.Key)
	stop()
	expect(t, a.Do(protocol.KindFill, fill("e1")), protocol.StatusOK, "") // nobody is needed for this
	f.StartCoordinator(t)
	other := f.Agent(t, "a", "two")
	expect(t, other.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	after := f.Record(t, a.Key)
	if after.Epoch != before.Epoch || after.Worker != before.Worker {
		t.Fatalf("the owner moved: %s/%d to %s/%d", before.Worker, before.Epoch, after.Worker, after.Epoch)
	}
}
