package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/hostload"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// Config is what a worker needs.
type Config struct {
	ID          protocol.WorkerID
	Host        string
	PID         int
	Slots       int
	Browser     string // product and version, for heartbeats
	Conn        *natsx.Conn
	Launcher    environment.Launcher
	Checkpoints *checkpoints.Store
	Dispatches  environment.DispatchLog
	Observer    environment.Observer
	Tracer      trace.Tracer
	Logger      *slog.Logger
	// Meter may be nil.
	Meter Meter
	// Ready is why no browser can be opened here, or nil; nil itself is always.
	Ready func() error
	// HostLoad reads the load of the host; nil is hostload.Read.
	HostLoad  func() hostload.Load
	Admission Admission
	// Labels are the operator's, for placement.
	Labels map[string]string
	// PreemptionFile drains the worker when it appears; empty is none.
	PreemptionFile string
	// DrainTimeout bounds handing over all owners; what is not handed over then
	// is named and closed.
	DrainTimeout time.Duration
	// IdleTimeout is how long nothing may happen in an environment until it
	// hibernates; 0 is never.
	IdleTimeout time.Duration
	// CheckpointWait is how long an answer waits at most for its checkpoint; 0 is
	// environment.DefaultCheckpointWait.
	CheckpointWait time.Duration
	// Capabilities of its environments.
	Capabilities []protocol.Capability
}

// Worker runs environments.
type Worker struct {
	cfg     Config
	log     *slog.Logger
	contact *Contact
	started time.Time

	draining atomic.Bool
	// drain is closed when a drain was asked for.
	drain     chan struct{}
	drainOnce sync.Once
	meter     Meter
	load      atomic.Pointer[hostload.Load] // the newest reading

	mu   sync.Mutex // guards held, lives, unsaved and beats
	held map[protocol.OwnerKey]*held
	// beats are the heartbeats that have looked at it.
	beats uint64
	// unsaved were let go without their newest state.
	unsaved []protocol.OwnerKey
	// lives counts environments that have not ended; it is waited for.
	lives sync.WaitGroup
}

// held is an environment with what replaces it when it has ended.
type held struct {
	env    *environment.Environment
	shard  protocol.Shard
	fence  protocol.Seq
	stop   context.CancelCauseFunc
	follow *protocol.Assignment
}

// NewID is a worker's id: its name and a boot nonce. A restarted worker is
// another worker: what the former one held is not its.
func NewID(name string) protocol.WorkerID {
	var b [4]byte
	rand.Read(b[:])
	return protocol.WorkerID(name + "-" + hex.EncodeToString(b[:]))
}

// New prepares a worker; Run makes it live.
func New(cfg Config) *Worker {
	log := cfg.Logger.With("worker", cfg.ID)
	if cfg.HostLoad == nil {
		cfg.HostLoad = hostload.Read
	}
	w := &Worker{
		cfg: cfg, log: log, contact: newContact(cfg.Conn, cfg.ID, log), started: time.Now(),
		drain: make(chan struct{}), held: map[protocol.OwnerKey]*held{}, meter: cfg.Meter,
	}
	if w.meter == nil {
		w.meter = noMeter{}
	}
	w.readLoad()
	return w
}

// Run serves until ctx ends or a drain was asked for; both hand over every owner
// first. When it returns, no environment of it lives.
func (w *Worker) Run(ctx context.Context) error {
	life, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var loops sync.WaitGroup
	defer loops.Wait()
	background, end := context.WithCancel(life)
	defer end()
	loops.Go(func() { w.contact.runPings(background) })
	loops.Go(func() { w.contact.runWrites(background) })
	loops.Go(func() { w.contact.runWatch(background, w.suspend, w.resume) })
	loops.Go(func() { w.contact.runReconnects(background, w.resume) })
	loops.Go(func() { w.runHeartbeats(background) })
	loops.Go(func() { w.runStreams(background) })
	if w.cfg.PreemptionFile != "" {
		loops.Go(func() { w.runPreemption(background) })
	}
	sub, err := w.listen(life)
	if err != nil {
		return err
	}
	w.log.Info("worker is up", "slots", w.cfg.Slots, "browser", w.cfg.Browser)
	select {
	case <-ctx.Done():
		w.Drain(context.Cause(ctx).Error())
	case <-w.drain:
	}
	w.handOver(stop)
	// The connection may be gone; then there is nothing to take back.
	_ = sub.Unsubscribe()
	return nil
}

// assign takes an owner that the record assigns to this worker. It is a hint:
// the environment reads the record itself.
func (w *Worker) assign(ctx context.Context, a protocol.Assignment) *protocol.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining.Load() {
		return protocol.Errorf(protocol.CodeNoCapacity, "worker %s is draining", w.cfg.ID)
	}
	if h, ok := w.held[a.Key]; ok {
		if a.Fence > h.fence && (h.follow == nil || a.Fence > h.follow.Fence) {
			// Another assignment of the same owner: the present environment is
			// fenced, or ends at its next write; the new one follows it.
			h.follow = &a
			h.stop(ownerlog.ErrFenced)
		}
		return nil
	}
	if why := w.why(); why != "" {
		return protocol.Errorf(protocol.CodeNoCapacity, "worker %s takes no owner now: %s", w.cfg.ID, why)
	}
	if len(w.held) >= w.cfg.Slots {
		return protocol.Errorf(protocol.CodeNoCapacity, "worker %s has no free slot (%d)", w.cfg.ID, w.cfg.Slots)
	}
	w.startEnvironment(ctx, a)
	return nil
}

// startEnvironment begins an environment's life. Callers hold mu.
func (w *Worker) startEnvironment(ctx context.Context, a protocol.Assignment) {
	env := environment.New(environment.Config{
		Conn: w.cfg.Conn, Worker: w.cfg.ID, Shard: a.Shard, Key: a.Key, Fence: a.Fence, Reason: a.Reason,
		Launcher: w.cfg.Launcher, Checkpoints: w.cfg.Checkpoints, Contact: w.contact, Live: w.contact.ok, Dispatches: w.cfg.Dispatches,
		Tracer: w.cfg.Tracer, Logger: w.log, Observer: w.cfg.Observer,
		IdleTimeout: w.cfg.IdleTimeout, CheckpointWait: w.cfg.CheckpointWait, Capabilities: w.cfg.Capabilities,
	})
	life, stop := context.WithCancelCause(ctx)
	h := &held{env: env, shard: a.Shard, fence: a.Fence, stop: stop}
	w.held[a.Key] = h
	if !w.contact.ok() {
		env.Suspend()
	}
	w.lives.Go(func() {
		defer stop(nil)
		err := env.Run(life)
		w.ended(ctx, a, h, err)
	})
}

// ended forgets an environment, and begins the one that was to follow it.
func (w *Worker) ended(ctx context.Context, a protocol.Assignment, h *held, err error) {
	switch {
	case errors.Is(err, environment.ErrReleased), errors.Is(err, environment.ErrNotOurs),
		errors.Is(err, environment.ErrHibernated), errors.Is(err, environment.ErrDeleted):
		w.log.Info("environment ended", "owner", a.Key.String(), "why", err)
	default:
		w.log.Warn("environment ended", "owner", a.Key.String(), "why", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, environment.ErrNotSaved) {
		w.unsaved = append(w.unsaved, a.Key)
	}
	delete(w.held, a.Key)
	if h.follow != nil && !w.draining.Load() {
		w.startEnvironment(ctx, *h.follow)
	}
}

func (w *Worker) suspend() {
	w.meter.Suspended()
	w.each(func(e *environment.Environment) { e.Suspend() })
}

func (w *Worker) resume() {
	w.each(func(e *environment.Environment) { e.Resume() })
}

func (w *Worker) each(do func(*environment.Environment)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.held {
		do(h.env)
	}
}

// release lets one owner go.
func (w *Worker) release(key protocol.OwnerKey) *protocol.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok := w.held[key]
	if !ok {
		return protocol.Errorf(protocol.CodeNotFound, "worker %s does not hold %s", w.cfg.ID, key)
	}
	// An action that runs is waited for: its owner is moved, not the worker.
	_, giveUp := bounds(time.Now(), w.cfg.DrainTimeout)
	h.env.ReleaseBy("asked to", time.Time{}, giveUp)
	return nil
}

// String names the worker in logs.
func (w *Worker) String() string { return fmt.Sprintf("worker %s", w.cfg.ID) }
