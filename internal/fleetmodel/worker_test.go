package fleetmodel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// What contact means on a worker: package worker has the same numbers.
const (
	freshLimit  = time.Second
	pongLimit   = 2 * time.Second
	quorumLimit = 12 * time.Second
	// streamsEvery is how often the streams of requests are looked at.
	streamsEvery = 2 * time.Second
)

// idleTimeout is after how long without a request an environment hibernates.
const idleTimeout = 3 * time.Second

// worker is package worker reduced to what the protocol sees of it: it takes
// assignments and runs the real environment.
type worker struct {
	*process
	full bool // refuses assignments
	held *held
	// suspended: its environment was told that contact is lost.
	suspended bool
	streamsAt time.Time // when it last looked at the streams
}

// held is an environment with what follows it.
type held struct {
	env     *environment.Environment
	hold    *hold
	fence   protocol.Seq
	stop    context.CancelCauseFunc
	follow  *protocol.Assignment
	browser *browser
}

func (w *world) boot(kind string) *process {
	w.booted++
	ctx, kill := context.WithCancel(context.Background())
	return &process{
		w: w, id: protocol.WorkerID(fmt.Sprintf("%s-%02d", kind, w.booted)), ctx: ctx, kill: kill, contact: time.Now(),
	}
}

func (w *world) bootWorker() *worker { return &worker{process: w.boot("w")} }

// crash ends a process as kill -9 does: nothing more of it is sent. What is on
// its way may still arrive.
func (p *process) crash() {
	p.w.mu.Lock()
	p.dead = true
	p.w.mu.Unlock()
	p.kill()
}

// assign takes an owner, as worker.assign does. It runs within a step.
func (wk *worker) assign(a protocol.Assignment) *protocol.Error {
	switch {
	case wk.held != nil:
		if h := wk.held; a.Fence > h.fence && (h.follow == nil || a.Fence > h.follow.Fence) {
			h.follow = &a
			h.stop(ownerlog.ErrFenced)
		}
		return nil
	case wk.full:
		return protocol.Errorf(protocol.CodeNoCapacity, "full")
	}
	wk.start(a)
	return nil
}

// start begins an environment's life. Callers hold the world's lock.
func (wk *worker) start(a protocol.Assignment) {
	h := &held{fence: a.Fence, hold: &hold{p: wk.process}}
	wk.w.promises.holds = append(wk.w.promises.holds, h.hold)
	life, stop := context.WithCancelCause(wk.ctx)
	h.stop = stop
	h.env = environment.New(environment.Config{
		Conn: &client{wk.process, h.hold}, Worker: wk.id, Shard: 0, Key: owner, Fence: a.Fence, Reason: a.Reason,
		Launcher:    &launcher{wk, h},
		Checkpoints: checkpoints.New(&store{wk.process, h.hold}, wk.w.keys),
		IdleTimeout: wk.w.idle,
		Contact:     wk, Dispatches: &dispatchLog{wk.process, h.hold},
		Tracer: noop.NewTracerProvider().Tracer(""), Logger: slog.New(slog.DiscardHandler), Observer: deaf{},
	})
	wk.held = h
	if wk.suspended {
		h.env.Suspend()
	}
	wk.w.goes.Go(func() {
		defer stop(nil)
		wk.ended(h, h.env.Run(life))
	})
}

// ended begins what was to follow.
func (wk *worker) ended(h *held, err error) {
	wk.w.mu.Lock()
	defer wk.w.mu.Unlock()
	wk.w.say("%s: its environment ended: %v", wk.id, err)
	if errors.Is(err, ownerlog.ErrFenced) {
		h.hold.fenced = true
	}
	if errors.Is(err, environment.ErrHibernated) {
		wk.w.promises.sleeps(h.hold)
	}
	wk.held = nil
	if h.follow != nil && !wk.dead {
		wk.start(*h.follow)
	}
}

// Written implements environment.Contact: contact is the world's to give and take.
func (*worker) Written(time.Time) {}

// Fresh implements environment.Contact. It is called under no lock.
func (wk *worker) Fresh() bool {
	wk.w.mu.Lock()
	defer wk.w.mu.Unlock()
	return wk.fresh()
}

func (wk *worker) fresh() bool {
	if wk.quorum && time.Since(wk.quorumAt) > quorumLimit {
		return false
	}
	return time.Since(wk.contact) < freshLimit
}

// watch is a worker's view of its contact after time has passed.
func (wk *worker) watch() {
	if wk.dead || wk.paused {
		return
	}
	wk.w.mu.Lock()
	if !wk.cut {
		wk.contact = time.Now()
	}
	lost := time.Since(wk.contact) > pongLimit || (wk.quorum && time.Since(wk.quorumAt) > quorumLimit)
	changed := lost != wk.suspended
	wk.suspended = lost
	h := wk.held
	told := !wk.cut && !wk.quorum && time.Since(wk.streamsAt) > streamsEvery
	if told {
		wk.streamsAt = time.Now()
	}
	created := wk.w.servers.streams[protocol.ActStream(0)].created
	wk.w.mu.Unlock()
	if h != nil && told {
		h.env.StreamMade(created)
	}
	if h == nil || !changed {
		return
	}
	if lost {
		h.env.Suspend()
	} else {
		h.env.Resume()
	}
}

// cutOff ends contact now: with all servers, or with all but its own.
func (wk *worker) cutOff(quorum bool) {
	wk.w.mu.Lock()
	defer wk.w.mu.Unlock()
	wk.disturbed = wk.w.round
	if quorum {
		wk.quorum, wk.quorumAt = true, time.Now()
	} else {
		wk.cut = true
	}
}

// mend brings contact back. A reconnect makes the environment look at what it
// missed, also one so short that contact was never lost. Until the next beat
// the worker's last contact is still an old one.
func (wk *worker) mend() {
	wk.w.mu.Lock()
	was := wk.cut
	wk.cut, wk.quorum = false, false
	h := wk.held
	wk.w.mu.Unlock()
	if was && h != nil && !wk.suspended {
		h.env.Resume()
	}
}

// pause stops the process; wake lets it go on.
func (wk *worker) pause() {
	wk.w.mu.Lock()
	defer wk.w.mu.Unlock()
	wk.paused, wk.pausedRound, wk.disturbed = true, wk.w.round, wk.w.round
}

type deaf struct{}

func (deaf) ActionDone(protocol.Kind, *protocol.Result) {}
func (deaf) Fenced()                                    {}
func (deaf) PushGap()                                   {}

// dispatchLog tells the promises of each dispatch.
type dispatchLog struct {
	p    *process
	hold *hold
}

// Dispatch implements environment.DispatchLog.
func (l *dispatchLog) Dispatch(e protocol.DispatchEntry) error {
	w := l.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.p.dead {
		return errors.New("dead")
	}
	w.say("%s DISPATCH %s %s at %d", l.p.id, e.Kind, short(e.Request), e.Seq)
	fresh := true
	for _, wk := range w.workers {
		if wk.process == l.p {
			fresh = wk.fresh()
		}
	}
	w.promises.dispatch(l.hold, e, fresh)
	return nil
}
