package environment

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// Causes that end an environment from outside.
var (
	// ErrReleased: it was saved and let go on purpose.
	ErrReleased = errors.New("the environment was released")
	// ErrNotOurs: the record names another worker, or another assignment.
	ErrNotOurs = errors.New("the owner is not assigned to this worker")
)

// Contact says whether the servers have heard this worker lately.
type Contact interface {
	// Fresh: a server answered within the last second.
	Fresh() bool
	// Written tells that a write which was sent then was stored.
	Written(sent time.Time)
}

// Streams is the owner's log, with the pushes of its requests. *natsx.Conn is one.
type Streams interface {
	ownerlog.Log
	// Listen delivers what is pushed on a subject, at most once, until stop.
	Listen(subject string, ch chan *nats.Msg) (stop func(), err error)
}

var _ Streams = (*natsx.Conn)(nil)

// DispatchLog is written before each dispatch.
type DispatchLog interface {
	Dispatch(protocol.DispatchEntry) error
}

// Config is what an environment needs of its worker.
type Config struct {
	Conn        Streams
	Worker      protocol.WorkerID
	Shard       protocol.Shard
	Key         protocol.OwnerKey
	Fence       protocol.Seq // of the assignment
	Reason      string       // of the assignment
	Launcher    Launcher
	Checkpoints *checkpoints.Store
	// IdleTimeout is how long nothing may happen until the environment
	// hibernates; 0 is never. A client lease keeps it awake for as long as the
	// lease lives.
	IdleTimeout time.Duration
	// CheckpointWait is how long an answer waits at most until the state after its
	// action is saved; 0 is DefaultCheckpointWait.
	CheckpointWait time.Duration
	// Capabilities of the worker's environments.
	Capabilities []protocol.Capability
	Contact      Contact
	// Live is for the browser's egress; it may be nil.
	Live       func() bool
	Dispatches DispatchLog
	Tracer     trace.Tracer
	Logger     *slog.Logger
	Observer   Observer
}

// Observer hears what is worth counting.
type Observer interface {
	ActionDone(kind protocol.Kind, res *protocol.Result)
	Fenced()
	PushGap()
}

// Timings of the loop.
const (
	idleFlush = 200 * time.Millisecond
	sweepGap  = 5 * time.Second
	// grace is how long an interrupted or overdue action may take to end before
	// the browser is replaced.
	grace = 5 * time.Second
	// openTimeout bounds fetching the state and starting the browser.
	openTimeout = 60 * time.Second
	// gapPause spaces attempts to repair a gap that could not be repaired.
	gapPause     = 500 * time.Millisecond
	closeTimeout = 10 * time.Second
)

// Environment is one owner's live environment. Run owns everything in it; other
// goroutines only send to its channels, or read Status.
type Environment struct {
	cfg Config
	log *slog.Logger

	pushes chan *nats.Msg
	opened chan opening
	ended  chan ending
	// captures and commits are what the two parts of a save came to.
	captures chan captured
	commits  chan committed
	updates  chan update
	release  chan string // the reason
	resume   chan struct{}
	demands  chan *demand
	replies  chan reply
	streams  chan struct{} // the stream of requests may be another

	holder  *ownerlog.Holder
	queue   *ownerlog.Lane
	control *ownerlog.Lane
	state   State

	// orphan and orphanC are the STARTs that the former holder left, maybe without
	// a result.
	orphan, orphanC *protocol.Inflight
	// restored is told to the agent in the next result; barrier is the last
	// request that may have been made without knowing of it.
	restored *protocol.Restored
	barrier  protocol.Seq
	// told: the agent knows, and the barrier is to be set.
	told bool

	browser Browser
	keeper  *checkpoints.Handle
	saved   checkpoints.Digest // of the data in the newest checkpoint
	// saving is being written to the store; newest follows it.
	saving, newest *snapshot
	reason         string // why it is opened
	because        string // more of that, for the agent; empty mostly
	wantOpen       bool
	stored         int // checkpoints of this hold
	openErr        *protocol.Error
	retryAt        time.Time
	failures       int
	releasing      string
	running        *running
	replying       bool // a dialog is being answered for lane c beside the running action

	// handover bounds the release; saveAt is when a save that failed is tried
	// again, hurried says that the running action was stopped for it.
	handover atomic.Pointer[handover]
	saveAt   time.Time
	hurried  bool

	// failing: it died once too often; openAt is when it may be opened again
	// after a death.
	failing bool
	openAt  time.Time
	// last is the newest effect that the present state holds.
	last *checkpoints.LastAction

	// waiters want a lease as soon as there is a browser, closers the end.
	waiters, closers []*demand
	deleting         *demand
	// rest: hibernate as soon as nothing waits; restAfter is the last request that
	// was sent before. used: something was done.
	rest, used               bool
	leaving                  bool // its state is saved, to close the browser
	restAfter                protocol.Seq
	idleSince, restNotBefore time.Time

	// mu guards suspended with the browser that it applies to: Suspend comes
	// from another goroutine and must not wait for the loop.
	mu        sync.Mutex
	suspended bool
	egress    Browser

	status atomic.Pointer[Status]
	work   sync.WaitGroup // openings and actions
}

// Status is what others may know of an environment.
type Status struct {
	Key        protocol.OwnerKey
	State      State
	Epoch      protocol.Epoch
	Generation protocol.Generation
	// Stream is the creation of the stream of requests that it reads; zero before
	// it holds its owner.
	Stream time.Time
}

// New prepares an environment; Run makes it live.
func New(cfg Config) *Environment {
	cfg.CheckpointWait = cmp.Or(cfg.CheckpointWait, DefaultCheckpointWait)
	e := &Environment{
		cfg:      cfg,
		log:      cfg.Logger.With("owner", cfg.Key.String()),
		pushes:   make(chan *nats.Msg, 2*protocol.QueueDepth),
		opened:   make(chan opening, 1),
		ended:    make(chan ending, 1),
		captures: make(chan captured, 1),
		commits:  make(chan committed, 1),
		updates:  make(chan update),
		release:  make(chan string, 1),
		resume:   make(chan struct{}, 1),
		demands:  make(chan *demand, maxDemands),
		replies:  make(chan reply, 1),
		streams:  make(chan struct{}, 1),

		idleSince: time.Now(),
		state:     Opening,
		reason:    cfg.Reason,
	}
	e.status.Store(&Status{Key: cfg.Key, State: Opening})
	return e
}

// Release asks the environment to save, let go and end. The reason is for logs.
func (e *Environment) Release(reason string) {
	select {
	case e.release <- reason:
	default: // asked already
	}
}

// Suspend stops the environment's egress at once. Nothing is dispatched until
// Resume and a write of the record have shown that the owner is still ours.
func (e *Environment) Suspend() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.suspended = true
	if e.egress != nil {
		e.egress.Suspend()
	}
}

// Resume lets the loop find out whether the owner is still ours, and what it
// missed.
func (e *Environment) Resume() {
	select {
	case e.resume <- struct{}{}:
	default:
	}
}

// Status is the newest state that the loop published.
func (e *Environment) Status() Status { return *e.status.Load() }

func (e *Environment) publishStatus() {
	rec := e.holder.Record()
	e.status.Store(&Status{Key: e.cfg.Key, State: e.state, Epoch: rec.Epoch, Generation: rec.Generation, Stream: e.holder.StreamCreated()})
}

// step applies an event to the state machine. An illegal one is a defect that
// must be seen, and must not take other owners down.
func (e *Environment) step(ev Event) {
	to, err := next(e.state, ev)
	if err != nil {
		e.log.Error("illegal transition", "error", err)
		return
	}
	e.state = to
	e.publishStatus()
}

func (e *Environment) isSuspended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.suspended
}

// confirmOurs proves by a write of the record that the owner is ours, which ends
// a suspension.
func (e *Environment) confirmOurs(ctx context.Context) error {
	sent := time.Now()
	if err := e.holder.Confirm(ctx); err != nil {
		return err
	}
	e.cfg.Contact.Written(sent)
	e.unsuspend()
	return nil
}

// unsuspend follows a write of the record that stands.
func (e *Environment) unsuspend() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.suspended {
		return
	}
	e.suspended = false
	if e.egress != nil {
		e.egress.Resume()
	}
}

// setBrowser makes b the environment's browser, with the egress that is right
// now.
func (e *Environment) setBrowser(b Browser) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.browser, e.egress = b, b
	if b != nil && e.suspended {
		b.Suspend()
	}
}
