package fleetmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
)

// owner is the one whose protocol is modelled: promises are made per owner.
// Neighbours appear in the streams only, as gaps in the sequences.
var (
	owner     = protocol.OwnerKey{Tenant: "a", Owner: "one"}
	neighbour = protocol.OwnerKey{Tenant: "a", Owner: "two"}
)

// world is everything: servers, processes, what is on its way between them, and
// what was promised. The test's goroutine is its scheduler; nothing happens in
// it but what the scheduler does.
type world struct {
	// mu guards all of it. Processes take it to enter a step, the scheduler
	// while one takes effect.
	mu       sync.Mutex
	servers  *servers
	objects  *objectstore.Memory
	keys     *checkpoints.Keyring
	storeOff bool // the object store is away
	// lag is by how many sequences followers are behind.
	lag protocol.Seq

	workers      []*worker
	coordinators []*coordinator
	booted       int // processes so far: boot nonces

	pending []*step
	pushes  []*pushed
	subs    []*subscription
	round   int

	// atOnce serves every step as it comes, without a scheduler.
	atOnce bool

	// idle is after how long an environment that nobody wants hibernates.
	idle time.Duration
	// armed is where the next process crashes.
	armed *crashPoint
	jobs  int // of coordinators so far

	promises *promises
	trace    []line
	count    map[string]int // see saw
	goes     sync.WaitGroup
}

// line of the trace; it is put into words when somebody reads it.
type line struct {
	at     time.Duration
	format string
	args   []any
}

func (l line) String() string {
	return fmt.Sprintf("%8.2fs ", l.at.Seconds()) + fmt.Sprintf(l.format, l.args...)
}

// jobNumber in a context tells the goroutines of one process apart.
type jobNumber struct{}

func newWorld(keys *checkpoints.Keyring) *world {
	w := &world{servers: newServers(time.Now()), objects: objectstore.NewMemory(), keys: keys, idle: idleTimeout, count: map[string]int{}}
	w.promises = newPromises(w)
	w.servers.republish = w.republish
	for range 3 {
		w.workers = append(w.workers, w.bootWorker())
	}
	for range 2 {
		w.coordinators = append(w.coordinators, w.bootCoordinator())
	}
	return w
}

func (w *world) say(format string, args ...any) {
	w.trace = append(w.trace, line{time.Since(epoch), format, args})
}

// saw counts what came about: coverage_test.go says how often it must.
func (w *world) saw(what string) { w.count[what]++ }

// epoch is when synctest's clock starts.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// process is what can crash, pause and be cut off.
type process struct {
	w      *world
	id     protocol.WorkerID
	ctx    context.Context
	kill   context.CancelFunc
	dead   bool
	cut    bool // from all servers
	quorum bool // its server answers, and stores nothing: cut off together
	paused bool
	// contact is when a server last heard it; cutAt when quorum began.
	contact, quorumAt time.Time
	pausedRound       int
	// disturbed is the last round in which one of its steps was not simply served.
	disturbed int
	// slept is the end of the stream of requests when its environment wrote that
	// it hibernates, sleptRound when that was.
	slept      protocol.Seq
	sleptRound int
}

// step is one operation on its way: it takes effect at most once, maybe long
// after its caller has given up.
type step struct {
	p       *process
	name    string
	job     int
	round   int
	effect  func(behind protocol.Seq) reply
	missing error // what the caller gets where no answer comes
	answer  chan reply
	given   bool // the caller has an answer, or does not wait any more
	held    *reply
}

type reply struct {
	value any
	err   error
}

// do makes an operation a step and waits for its answer.
func (p *process) do(ctx context.Context, name string, missing error, effect func(behind protocol.Seq) reply) reply {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 5*time.Second) // natsx's default
		defer cancel()
	}
	w := p.w
	w.mu.Lock()
	if p.dead || ctx.Err() != nil {
		w.mu.Unlock()
		return reply{err: missing}
	}
	if w.atOnce {
		defer w.mu.Unlock()
		return effect(0)
	}
	job, _ := ctx.Value(jobNumber{}).(int)
	s := &step{p: p, name: name, job: job, round: w.round, effect: effect, missing: missing, answer: make(chan reply, 1)}
	w.pending = append(w.pending, s)
	w.mu.Unlock()
	select {
	case r := <-s.answer:
		return r
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		s.given, p.disturbed = true, w.round
		return reply{err: missing}
	}
}

// order sorts what arrived in one round: goroutines that run at the same time
// enter in an order of their own.
func (w *world) order() {
	slices.SortStableFunc(w.pending, func(a, b *step) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.p.id, b.p.id), cmp.Compare(a.name, b.name), cmp.Compare(a.job, b.job))
	})
}

// servable are the steps that the servers can get now.
func (w *world) servable() []*step {
	w.order()
	return slices.DeleteFunc(slices.Clone(w.pending), func(s *step) bool {
		if s.p.dead {
			return false // sent before its death: it may still arrive
		}
		return s.held != nil || s.p.cut || s.p.quorum || (s.p.paused && s.round > s.p.pausedRound)
	})
}

// fate is what happens to a step.
type fate int

const (
	served      fate = iota
	lostRequest      // never arrives
	lostReply        // takes effect, and the caller is not told
	duplicated       // takes effect, and a second copy arrives later
	stale            // a replica that is behind answers
)

// meet lets a step meet its fate.
func (w *world) meet(s *step, f fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget(s)
	point := w.crashes(s)
	if point != nil && !point.after {
		w.saw(point.String())
		w.kill(s.p)
		return
	}
	if f != served {
		s.p.disturbed = w.round
	}
	if f == lostRequest {
		w.saw("requests lost")
		w.say("%s %s: the request is lost", s.p.id, s.name)
		w.tell(s, reply{err: s.missing})
		return
	}
	behind := w.lag
	if f == stale {
		behind = 2
	}
	r := s.effect(behind)
	w.say("%s %s: %v", s.p.id, s.name, r)
	if errors.Is(r.err, natsx.ErrConflict) {
		w.saw("conflicts")
	}
	if s.p.dead {
		w.saw("steps that arrived after their sender's death")
	}
	if point != nil {
		w.saw(point.String())
		w.kill(s.p)
		return
	}
	if f == duplicated {
		w.saw("copies")
		again := &step{p: s.p, name: s.name + " (copy)", round: w.round, effect: s.effect, missing: s.missing, answer: make(chan reply, 1), given: true}
		w.pending = append(w.pending, again)
	}
	if f == lostReply {
		w.saw("answers lost")
		w.say("%s %s: the answer is lost", s.p.id, s.name)
		r = reply{err: s.missing}
	}
	w.tell(s, r)
}

func (r reply) String() string {
	if r.err != nil {
		return r.err.Error()
	}
	return "ok"
}

// tell answers the caller; one that is paused gets it later.
func (w *world) tell(s *step, r reply) {
	switch {
	case s.given || s.p.dead:
	case s.p.paused:
		s.held, s.p.disturbed = &r, w.round
		w.pending = append(w.pending, s)
	default:
		s.given = true
		s.answer <- r
	}
}

func (w *world) forget(s *step) {
	w.pending = slices.DeleteFunc(w.pending, func(o *step) bool { return o == s })
}

// wake ends a pause: held answers arrive.
func (w *world) wake(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.paused = false
	for _, s := range slices.Clone(w.pending) {
		if s.p == p && s.held != nil {
			w.forget(s)
			w.tell(s, *s.held)
		}
	}
}

// subscription is one interest in pushes.
type subscription struct {
	p       *process
	subject string
	ch      chan *nats.Msg
	stopped bool
}

// pushed is a message on its way to a subscriber.
type pushed struct {
	to *subscription
	m  *nats.Msg
}

// republish runs under mu, within the step that stored the message.
func (w *world) republish(m *nats.Msg) {
	for _, s := range w.subs {
		if !s.stopped && s.subject == m.Subject {
			w.pushes = append(w.pushes, &pushed{to: s, m: m})
		}
	}
}

// deliver hands over the push, or drops it.
func (w *world) deliver(i int, drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pushes[i]
	w.pushes = slices.Delete(w.pushes, i, i+1)
	if to := p.to; drop || to.stopped || to.p.dead || to.p.cut || to.p.quorum {
		w.saw("pushes lost")
		w.say("a push to %s is lost", to.p.id)
		return
	}
	w.say("a push to %s: %s", p.to.p.id, p.m.Header["Nats-Sequence"])
	select {
	case p.to.ch <- p.m:
	default:
	}
}

// settle waits until every process waits for the scheduler or for time.
func (w *world) settle() {
	synctest.Wait()
	w.mu.Lock()
	w.round++
	w.mu.Unlock()
}

// pass lets time pass, and with it contact.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	w.settle()
	for _, wk := range w.workers {
		wk.watch()
	}
	w.settle()
}

// end stops everything and waits for every goroutine.
func (w *world) end() {
	for _, wk := range w.workers {
		wk.crash()
	}
	for _, c := range w.coordinators {
		c.crash()
	}
	for range 10 {
		time.Sleep(time.Minute)
	}
	w.goes.Wait()
}
