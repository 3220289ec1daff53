package chaos

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/relay"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/loadtest/check"
	"github.com/browserfleet/browserfleet/protocol"
)

const page = "http://simulated.invalid/"

// zombieWait bounds every wait for the fleet: a takeover on a loaded machine.
const zombieWait = 4 * time.Minute

// zombies are points at which a worker is stopped (SIGSTOP) until another has its
// owner. When it goes on, it may land the one effect that it had STARTed.
var zombies = []struct {
	name string
	run  func(s *scene)
}{
	{"while it waits for work", func(s *scene) {
		s.freeze()
		res := s.do(protocol.KindOpen, &protocol.OpenArgs{URL: page})
		s.want(res, protocol.StatusOK)
		s.thaw()
		s.dispatchedByZombie()
	}},
	{"between START and dispatch", func(s *scene) {
		s.tap().full()
		effect := s.send(protocol.KindOpen, &protocol.OpenArgs{URL: page})
		s.untilStarted(effect)
		s.freeze()
		s.want(s.answer(effect), protocol.StatusOutcomeUnknown)
		s.thaw()
		s.dispatchedByZombie(effect.id) // written late, and dispatched, or neither
	}},
	{"between START and dispatch, and its connection stays", func(s *scene) {
		s.tap().full()
		effect := s.send(protocol.KindOpen, &protocol.OpenArgs{URL: page})
		s.untilStarted(effect)
		s.freeze()
		s.untilMoved()
		s.thaw()
		// Its START lets it tell what became of the effect, if it is the first to
		// answer; else nobody knows. The one answer stands.
		s.want(s.answer(effect), protocol.StatusOutcomeUnknown, protocol.StatusOK)
		s.dispatchedByZombie(effect.id)
	}},
	{"in an effect, with more in the queue", func(s *scene) {
		s.tap().read()
		effect := s.send(protocol.KindOpen, &protocol.OpenArgs{URL: page + "slow?ms=2000"})
		s.untilDispatched(effect)
		queued := []*asked{
			s.send(protocol.KindOpen, &protocol.OpenArgs{URL: page}),
			s.send(protocol.KindObserve, nil),
		}
		s.freeze()
		s.want(s.answer(effect), protocol.StatusOutcomeUnknown)
		for _, a := range queued {
			s.want(s.answer(a), protocol.StatusOK)
		}
		s.thaw()
		s.dispatchedByZombie(effect.id)
	}},
	{"while it saves a checkpoint", func(s *scene) {
		store := s.storeLink(s.zombie)
		store.Hold(true)
		effect := s.send(protocol.KindFill, &protocol.FillArgs{Target: protocol.Target{ElementRef: "e1"}, Value: "late"})
		s.untilDispatched(effect)
		s.freeze()
		s.want(s.answer(effect), protocol.StatusOutcomeUnknown)
		s.fills(1) // its checkpoint never came
		store.Hold(false)
		s.thaw()
		s.dispatchedByZombie(effect.id)
	}},
	{"while it opens the environment", func(s *scene) {
		links := map[string]*relay.Relay{}
		for _, name := range workers {
			links[name] = s.storeLink(name)
			links[name].Hold(true)
		}
		s.newOwner("fresh")
		effect := s.send(protocol.KindOpen, &protocol.OpenArgs{URL: page})
		s.zombie = s.untilHeld()
		s.freeze()
		for name, link := range links {
			if name != s.zombie {
				link.Hold(false)
			}
		}
		s.want(s.answer(effect), protocol.StatusOK)
		links[s.zombie].Hold(false)
		s.thaw()
		s.dispatchedByZombie()
	}},
}

func TestZombies(t *testing.T) {
	t.Parallel()
	r := startZombieFleet(t)
	for n, z := range zombies {
		t.Run(z.name, func(t *testing.T) {
			s := &scene{t: t, fleetUnderTest: r}
			s.newOwner(fmt.Sprintf("zombie-%d", n))
			s.fill("before")
			s.zombie = s.untilHeld()
			z.run(s)
			s.goesOn()
		})
	}
	r.judge(t)
}

// fleetUnderTest is the fleet that all scenes share, one after the other.
type fleetUnderTest struct {
	*fleet
	network *relays
	agents  *client.Client
	taps    map[string]*tap
	ledger  *check.Ledger
	writes  *writes
	kept    *checkpoints.Store
}

func startZombieFleet(t *testing.T) *fleetUnderTest {
	t.Helper()
	net := newRelays()
	r := &fleetUnderTest{
		network: net, taps: map[string]*tap{},
		fleet: &fleet{program: fleettest.Program(t), folder: folder{devfleet.Folder(t.TempDir())}, slots: 16, network: net},
	}
	t.Cleanup(func() { r.end(t) })
	if err := r.folder.prepare(); err != nil {
		t.Fatal(err)
	}
	for _, name := range workers {
		r.taps[name] = newTap(t, r.folder.Path("dispatches", name+"-0.jsonl"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	if err := startFleet(ctx, r.fleet); err != nil {
		t.Fatal(err)
	}
	a, err := r.access(deploy.TenantUser(tenants[0]))
	if err != nil {
		t.Fatal(err)
	}
	r.agents, err = client.Connect(ctx, client.Options{URL: a.URL, User: a.User, Password: client.Secret(a.Password), InboxPrefix: a.InboxPrefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.agents.Close)
	if r.ledger, err = check.NewLedger(ctx, r.operator, nil); err != nil {
		t.Fatal(err)
	}
	stop, err := check.Watch(ctx, r.operator, r.ledger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	r.writes = watchWrites(ctx, t, r.operator)
	r.kept = openStore(t, r.fleet)
	return r
}

// openStore reads the fleet's checkpoints from outside, with its keys.
func openStore(t *testing.T, f *fleet) *checkpoints.Store {
	t.Helper()
	env := map[string]string{}
	if err := f.storeSettings(member{host: hub}, env); err != nil {
		t.Fatal(err)
	}
	objects, err := (&service.ObjectStore{
		StoreEndpoint: env["STORE_ENDPOINT"], StoreBucket: storeBucket,
		StoreAccessKeyFile: env["STORE_ACCESS_KEY_FILE"], StoreSecretKeyFile: env["STORE_SECRET_KEY_FILE"],
	}).Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	keys, err := checkpoints.LoadKeyring(f.folder.Path("secrets", "keyring"))
	if err != nil {
		t.Fatal(err)
	}
	return checkpoints.New(objects, keys)
}

// storeBucket is the services' default.
const storeBucket = "browserfleet"

func (r *fleetUnderTest) end(t *testing.T) {
	for _, name := range r.stop() {
		t.Errorf("%s did not end when it was asked to", name)
	}
	_ = r.network.close()
}

// judge holds everything that happened against the rules.
func (r *fleetUnderTest) judge(t *testing.T) {
	t.Helper()
	logs := t.TempDir() + "/"
	var files []string
	for name, tap := range r.taps {
		tap.save(logs + name)
		files = append(files, logs+name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), zombieWait)
	defer cancel()
	e, err := check.Gather(ctx, check.Sources{Conn: r.operator, Ledger: r.ledger, DispatchLogs: files, Grace: zombieWait / 2, Skew: skew})
	if err != nil {
		t.Fatal(err)
	}
	if v := check.Judge(e); v.Promises.Broken() {
		t.Errorf("%+v", v.Findings)
	}
	for _, err := range r.fallen() {
		t.Error(err)
	}
	for _, what := range r.writes.wrong() {
		t.Error(what)
	}
}

// scene is one owner and the worker that becomes a zombie.
type scene struct {
	t *testing.T
	*fleetUnderTest
	key    protocol.OwnerKey
	zombie string
}

// asked is a request whose answer comes later.
type asked struct {
	id     protocol.RequestID
	answer chan answer
}

type answer struct {
	res *protocol.Result
	err error
}

func (s *scene) newOwner(name string) {
	s.key = protocol.OwnerKey{Tenant: tenants[0], Owner: protocol.Owner(name)}
}

func (s *scene) tap() *tap { return s.taps[s.zombie] }

func (s *scene) storeLink(worker string) *relay.Relay {
	return s.network.links[link{hostOf(worker), place{hub, portStore}}]
}

func (s *scene) send(kind protocol.Kind, args protocol.Args) *asked {
	s.t.Helper()
	req, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	a := &asked{req.ID, make(chan answer, 1)}
	ctx, cancel := context.WithTimeout(s.t.Context(), zombieWait)
	go func() {
		defer cancel()
		res, err := s.agents.Owner(s.key.Owner).Run(ctx, req)
		a.answer <- answer{res, err}
	}()
	return a
}

func (s *scene) answer(a *asked) *protocol.Result {
	s.t.Helper()
	got := <-a.answer // Run has a deadline
	if got.err != nil {
		s.t.Fatal(got.err)
	}
	return got.res
}

func (s *scene) do(kind protocol.Kind, args protocol.Args) *protocol.Result {
	s.t.Helper()
	return s.answer(s.send(kind, args))
}

func (s *scene) want(res *protocol.Result, oneOf ...protocol.Status) {
	s.t.Helper()
	if !slices.Contains(oneOf, res.Status) {
		s.t.Fatalf("%s: %s, want %s (%+v)", res.Kind, res.Status, oneOf, res.Error)
	}
	if s.zombie != "" && s.process(s.zombie).paused && strings.HasPrefix(string(res.Worker), s.zombie+"-") {
		s.t.Fatalf("%s was answered by the worker that is stopped", res.Kind)
	}
}

// until waits until the owner's record satisfies ok.
func (s *scene) until(what string, ok func(*protocol.OwnerRecord) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), zombieWait)
	defer cancel()
	err := s.await(ctx, what, func(ctx context.Context) error {
		rec, _, err := ownerlog.Read(ctx, s.operator, 0, s.key)
		if err == nil && (rec == nil || !ok(rec)) {
			err = fmt.Errorf("the record is %+v", rec)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// untilHeld is the worker that the owner is assigned to.
func (s *scene) untilHeld() (name string) {
	s.t.Helper()
	s.until("the owner is assigned", func(rec *protocol.OwnerRecord) bool {
		name = ""
		if n := strings.LastIndex(string(rec.Worker), "-"); rec.State == protocol.RecordAssigned && n > 0 {
			name = string(rec.Worker[:n])
		}
		return slices.Contains(workers, name)
	})
	return name
}

func (s *scene) untilMoved() {
	s.t.Helper()
	s.until("another worker has the owner", func(rec *protocol.OwnerRecord) bool {
		return rec.State == protocol.RecordAssigned && !strings.HasPrefix(string(rec.Worker), s.zombie+"-")
	})
}

func (s *scene) untilStarted(a *asked) {
	s.t.Helper()
	s.until("the request is STARTed", func(rec *protocol.OwnerRecord) bool {
		in := rec.Inflight(protocol.LaneQueue)
		return in != nil && in.Request == a.id
	})
}

func (s *scene) untilDispatched(a *asked) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), zombieWait)
	defer cancel()
	if err := s.await(ctx, "the dispatch", func(context.Context) error {
		if !slices.Contains(s.tap().of(s.key), a.id) {
			return fmt.Errorf("%s is not dispatched", a.id)
		}
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) freeze() {
	s.t.Helper()
	zombie := s.process(s.zombie)
	s.t.Cleanup(func() { _ = zombie.pause(false) })
	if err := zombie.pause(true); err != nil {
		s.t.Fatal(err)
	}
	testkit.Pause(s.t, zombie.cmd.Process.Pid) // until it stands still
}

// thaw lets the zombie go on when another has its owner, and waits until it has
// found that out.
func (s *scene) thaw() {
	s.t.Helper()
	s.untilMoved()
	if err := s.process(s.zombie).pause(false); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), zombieWait)
	defer cancel()
	if err := s.await(ctx, "the zombie lets go", func(context.Context) error {
		s.tap().read()
		text, err := os.ReadFile(s.folder.Log(s.zombie))
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if strings.Contains(line, "fenced") && strings.Contains(line, "owner="+s.key.String()) {
				return nil
			}
		}
		return fmt.Errorf("%s has not found out that it lost %s", s.zombie, s.key)
	}); err != nil {
		s.t.Fatal(err)
	}
}

// dispatchedByZombie checks that since the scene's preparation the zombie has
// dispatched at most these.
func (s *scene) dispatchedByZombie(may ...protocol.RequestID) {
	s.t.Helper()
	got := s.tap().of(s.key)
	if n := len(got) - len(may); len(may) > 0 && n >= 0 && cmp.Equal(may, got[n:]) {
		got = got[:n]
	}
	if len(got) > prepared {
		s.t.Errorf("the zombie dispatched %v, and may have dispatched %v", got, may)
	}
}

// prepared is how many actions an owner takes before its worker is stopped.
const prepared = 2

// fills looks at the page: fills are what checkpoints carry.
func (s *scene) fills(want int) {
	s.t.Helper()
	res := s.do(protocol.KindOpen, &protocol.OpenArgs{URL: page})
	s.want(res, protocol.StatusOK)
	if text := fmt.Sprintf("Fills: %d.", want); res.Observation == nil || !strings.Contains(res.Observation.Text, text) {
		s.t.Fatalf("the page does not say %q: %+v", text, res.Observation)
	}
}

// fill fills the field once, and tells how often it was filled before. On a loaded
// machine the owner may move in between; then the fill was not dispatched.
func (s *scene) fill(value string) (before int) {
	s.t.Helper()
	for {
		res := s.do(protocol.KindOpen, &protocol.OpenArgs{URL: page})
		s.want(res, protocol.StatusOK)
		if _, err := fmt.Sscanf(res.Observation.Text, "A simulated page. Fills: %d.", &before); err != nil {
			s.t.Fatalf("%q: %v", res.Observation.Text, err)
		}
		res = s.do(protocol.KindFill, &protocol.FillArgs{Target: protocol.Target{ElementRef: "e1"}, Value: value})
		if res.Error == nil || res.Error.Code != protocol.CodeGenerationChanged {
			s.want(res, protocol.StatusOK)
			return before
		}
	}
}

// goesOn: the owner works, and keeps its work when it moves once more, so no
// checkpoint of the zombie became the newest.
func (s *scene) goesOn() {
	s.t.Helper()
	before := s.fill("after")
	s.newestIsNotTheZombies()
	s.zombie = s.untilHeld()
	s.freeze()
	s.fills(before + 1)
	s.thaw()
	s.fill("at the end")
	s.newestIsNotTheZombies()
	if got := s.writes.moves(s.key); got < moves {
		s.t.Errorf("the records show %d moves, want %d", got, moves)
	}
}

// moves of an owner in a scene, at least.
const moves = 2

// newestIsNotTheZombies: the checkpoint from which the owner would go on is of
// the worker that has it, which has answered since it took it over.
func (s *scene) newestIsNotTheZombies() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), zombieWait)
	defer cancel()
	newest, err := s.kept.Load(ctx, checkpoints.EnvIDOf(s.key))
	if err != nil || newest.Manifest == nil {
		s.t.Fatalf("the newest checkpoint: %+v, %v", newest, err)
	}
	// On a loaded machine the zombie may have got the owner back by now.
	if by := string(newest.Manifest.WriterID); strings.HasPrefix(by, s.zombie+"-") && s.untilHeld() != s.zombie {
		s.t.Errorf("the newest checkpoint, %d of epoch %d, was written by the zombie: %s", newest.Manifest.Seq, newest.Manifest.Epoch, by)
	}
}
