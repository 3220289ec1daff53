package environment

import (
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// serveQueue deals with the requests at the head of lane q, until one runs, or
// the next has to wait for something.
func (e *Environment) serveQueue(ctx context.Context) error {
	for e.running == nil && !e.isSuspended() {
		head, ok := e.queue.Head()
		if !ok {
			return nil
		}
		a := protocol.Admit(head, e.holder.StreamCreated())
		if e.mustWait(&a) {
			return nil
		}
		if err := e.begin(ctx, &a); err != nil {
			return err
		}
	}
	return nil
}

// mustWait reports whether the request needs a browser that is not there yet, or
// must not begin now. What can be answered without a browser never waits.
func (e *Environment) mustWait(a *protocol.Admitted) bool {
	if e.releasing != "" {
		return true
	}
	if e.answerable(a) != nil || e.holder.Record().IsDone(a.ID) {
		return false
	}
	switch e.state {
	case Idle:
		return false
	case Unavailable:
		// The pause is over: try again. Until then the request is answered with
		// what is wrong.
		if time.Now().After(e.retryAt) {
			e.wantOpen = true
			return true
		}
		return false
	default:
		return true
	}
}

// answerable is the refusal that needs neither browser nor page. What a former
// holder began does not expire: it ran, or may have.
func (e *Environment) answerable(a *protocol.Admitted) *protocol.Error {
	if a.Refused != nil || e.orphanOf(a) != nil {
		return a.Refused
	}
	return a.Expired(time.Now())
}

// begin deals with the head of the queue: START, then an answer or a running
// action.
func (e *Environment) begin(ctx context.Context, a *protocol.Admitted) error {
	orphan := e.orphanOf(a)
	attempt := 1
	if orphan != nil {
		attempt = orphan.Attempt + 1
	}
	message := e.queue.HeadMessage()
	begun := time.Now()
	if a.Seq > e.restAfter && len(e.closers) == 0 {
		e.rest = false // sent after the last release: the agent goes on
	}
	e.use(begun)
	started, err := e.holder.Start(ctx, a, attempt)
	behind := errors.Is(err, ownerlog.ErrBehind)
	if err != nil && !behind {
		return err
	}
	if behind {
		e.log.Error("cannot tell whether a request was answered before", "request", a.ID, "error", err)
	}
	if started.Done() {
		return e.repeat(a, started.Answered)
	}
	if refused := e.answerable(a); refused != nil {
		return e.refuse(ctx, a, refused)
	}
	refusal := e.pageRefusal(a, orphan)
	switch {
	case behind && refusal == nil && orphan == nil:
		return e.refuse(ctx, a, ownerlog.CannotTell())
	case behind && refusal == nil: // a read that a former holder began
		refusal = protocol.Errorf(protocol.CodeOutcomeUnknown, "")
	}
	if e.state == Unavailable {
		if refusal == nil || refusal.Code != protocol.CodeOutcomeUnknown {
			refusal = e.openErr
		}
		return e.refuse(ctx, a, refusal)
	}
	e.runAction(ctx, task{
		admitted: a, attempt: attempt, begun: begun, started: time.Since(begun),
		refusal: refusal, header: message.Header,
	})
	return nil
}

// use renews the leases and begins the idle time anew. It is written with the
// START.
func (e *Environment) use(began time.Time) {
	e.used = true
	e.stay()
	if len(e.holder.Record().Leases) > 0 {
		e.holder.Amend(func(r *protocol.OwnerRecord) { r.Use(began, time.Now()) })
	}
}

// orphanOf is the START of this request that the former holder left without a
// result, if it did.
func (e *Environment) orphanOf(a *protocol.Admitted) *protocol.Inflight {
	in := e.orphan
	if a.Lane == protocol.LaneControl {
		in = e.orphanC
	}
	if in.Names(a.Seq, a.ID) {
		return in
	}
	return nil
}

// maxReadAttempts: a read that was in flight when its holder died is run once
// more, not for ever.
const maxReadAttempts = 2

// pageRefusal is why the request must not run, although its answer shows the
// page as it is now.
func (e *Environment) pageRefusal(a *protocol.Admitted, orphan *protocol.Inflight) *protocol.Error {
	switch {
	case orphan != nil && (orphan.Effect != protocol.EffectRead || orphan.Attempt >= maxReadAttempts):
		return protocol.Errorf(protocol.CodeOutcomeUnknown, "")
	case e.holder.Record().Generation > 1 && a.Seq <= e.barrier && a.DependsOnPage():
		return protocol.Errorf(protocol.CodeGenerationChanged, "")
	}
	return nil
}

// repeat pushes the stored result of an answered request again.
func (e *Environment) repeat(a *protocol.Admitted, stored *natsx.Message) error {
	if stored != nil {
		if err := e.holder.Repeat(stored); err != nil {
			e.log.Warn("cannot repeat a result", "request", a.ID, "error", err)
		}
	}
	e.holder.Finish(a)
	e.queue.Drop()
	return nil
}

// refuse answers without touching the page.
func (e *Environment) refuse(ctx context.Context, a *protocol.Admitted, why *protocol.Error) error {
	res := a.NewResult(time.Now())
	res.Worker = e.cfg.Worker
	res.Fail(why)
	return e.answer(ctx, a, res, nil)
}

// answer creates the result of the head of the queue and moves on.
func (e *Environment) answer(ctx context.Context, a *protocol.Admitted, res *protocol.Result, span *span) error {
	tells := e.attachRestored(res)
	err := e.holder.Answer(ctx, a, res, span.header())
	span.end(res)
	theirs := errors.Is(err, ownerlog.ErrAnswered)
	if err != nil && !theirs {
		return err
	}
	e.drop(a)
	if theirs {
		// A former holder's result stands. The agent has not been told of the
		// restore: the next result of ours does.
		e.log.Info("another result stands", "request", a.ID)
		return nil
	}
	if tells {
		e.restored, e.told = nil, true
		if len(e.holder.Record().Unsaved) > 0 {
			e.holder.Amend(func(r *protocol.OwnerRecord) { r.Unsaved = nil })
		}
	}
	e.cfg.Observer.ActionDone(a.Action.Kind, res)
	e.event(res)
	e.logAction(res, span)
	if e.told {
		e.setBarrier(ctx)
	}
	return nil
}

// laneOf is the lane that the request waits in.
func (e *Environment) laneOf(a *protocol.Admitted) *ownerlog.Lane {
	if a.Lane == protocol.LaneControl {
		return e.control
	}
	return e.queue
}

// drop takes the request from the head of its lane. It is not there any more
// where the stream of requests was replaced while it ran.
func (e *Environment) drop(a *protocol.Admitted) {
	lane := e.laneOf(a)
	if head, ok := lane.Head(); ok && head.Seq == a.Seq && head.StoredAt.Equal(a.StoredAt) {
		lane.Drop()
	}
}

// attachRestored adds the fidelity report to the first result that shows the
// agent its new environment.
func (e *Environment) attachRestored(res *protocol.Result) bool {
	if e.restored == nil || e.browser == nil {
		return false
	}
	res.Restored = e.restored
	return true
}

// setBarrier marks what was stored before the agent was told of the restore:
// such requests may mean another page. Asking too late only refuses more.
func (e *Environment) setBarrier(ctx context.Context) {
	e.told = true
	e.queue.Suspect()
	if err := e.queue.Fill(ctx, true); err != nil {
		e.log.Warn("cannot read the queue after a restore", "error", err)
		return // the barrier stays at its highest: safe; the next answer tries again
	}
	e.barrier, e.told = e.queue.Last(), false
}

func (e *Environment) logAction(res *protocol.Result, s *span) {
	attrs := []any{
		"request", res.Request, "kind", res.Kind, "status", res.Status, "dispatched", res.Dispatched,
		"verdict", res.Verdict, "generation", res.Generation, "trace_id", s.traceID(),
	}
	if res.Error != nil {
		attrs = append(attrs, "code", res.Error.Code)
	}
	if res.Transition != nil {
		attrs = append(attrs, "total_ms", res.Transition.Timing.TotalMS)
	}
	e.log.Info("action", attrs...)
}
