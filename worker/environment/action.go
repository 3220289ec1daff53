package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// Causes that stop a running action.
var (
	errInterrupted = errors.New("interrupted by the agent")
	errBudget      = errors.New("its run budget is over")
)

// task is an action that is about to run.
type task struct {
	admitted *protocol.Admitted
	attempt  int
	begun    time.Time
	started  time.Duration // what START took
	// refusal: do not run it; only show the page as it is.
	refusal *protocol.Error
	header  nats.Header
}

// running is the action that has the browser: first its goroutine, then the look
// at the state that it left.
type running struct {
	admitted *protocol.Admitted
	browser  Browser
	stop     context.CancelCauseFunc
	// deadline is the end of its run budget.
	deadline time.Time
	// ended: the action itself is over; what remains is its checkpoint, which
	// has a bound of its own, and nothing can be overdue any more.
	ended atomic.Bool
	// overdue is when the browser is replaced if the action has not ended.
	overdue time.Time
	// doomed: it was told that its browser has to be replaced.
	doomed bool

	// end is what it came to; nil while it runs.
	end      *ending
	save     save
	answered bool
}

// ending is what a running action came to.
type ending struct {
	task   task
	result *protocol.Result
	span   *span
	wrote  bool // it was dispatched, and has effects
	at     time.Time
	// keeper is what the state is saved through; another one has followed if
	// the browser was lost meanwhile.
	keeper *checkpoints.Handle
}

// runAction starts the action's goroutine. It ends by sending to e.ended.
func (e *Environment) runAction(ctx context.Context, t task) {
	budget := t.admitted.Action.Budget()
	if t.refusal != nil {
		budget = protocol.DefaultRunBudget
	}
	if t.admitted.Lane == protocol.LaneControl {
		budget = min(budget, controlBudget)
	}
	ctx, stop := context.WithCancelCause(ctx)
	ctx, free := context.WithTimeoutCause(ctx, budget, errBudget)
	deadline := time.Now().Add(budget)
	e.running = &running{admitted: t.admitted, browser: e.browser, stop: stop, deadline: deadline, overdue: deadline.Add(grace)}
	e.step(Begin)
	a := actor{env: e, running: e.running, browser: e.browser, keeper: e.keeper, generation: e.holder.Record().Generation, epoch: e.holder.Record().Epoch}
	e.work.Go(func() {
		defer free()
		defer stop(nil)
		end := a.perform(ctx, t)
		e.ended <- end
		if end.saves() {
			e.captures <- a.capture(ctx, end.result)
		}
	})
}

// actor is what the action's goroutine may use of the environment.
type actor struct {
	env        *Environment
	running    *running // nil beside another action
	browser    Browser
	keeper     *checkpoints.Handle
	generation protocol.Generation
	epoch      protocol.Epoch
	dispatched bool
}

func (a *actor) perform(ctx context.Context, t task) ending {
	ctx, sp := startSpan(ctx, a.env.cfg.Tracer, t, a.env.cfg.Key)
	act := t.admitted.Action
	if t.refusal != nil {
		act = observeAction(t.admitted.Action.Observe)
	}
	out := a.browser.Run(ctx, &act, func() error { return a.dispatch(ctx, t) })
	a.running.ended.Store(true)
	res := t.admitted.NewResult(time.Now())
	a.fill(ctx, res, t, out)
	return ending{
		task: t, result: res, span: sp, keeper: a.keeper, at: time.Now(),
		wrote: a.dispatched && act.Info.Effect == protocol.EffectWrite,
	}
}

// observeAction looks at the page in place of a request that must not run.
func observeAction(opts *protocol.ObserveOptions) protocol.Action {
	info, _ := protocol.KindObserve.Lookup()
	return protocol.Action{
		Request: protocol.Request{V: protocol.Version, Kind: protocol.KindObserve, Observe: opts},
		Info:    info, Args: &protocol.ObserveArgs{},
	}
}

// dispatch is the last gate before an effect: the servers have heard us within
// the last second, or a write of the record proves that the owner is ours; and
// the dispatch log has the line.
func (a *actor) dispatch(ctx context.Context, t task) error {
	e := a.env
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if e.isSuspended() || !e.cfg.Contact.Fresh() {
		if err := e.updateFrom(ctx, func(*protocol.OwnerRecord) error { return nil }); err != nil {
			return err
		}
		if err := e.awaitEgress(ctx); err != nil {
			return err
		}
	}
	if a.dispatched {
		return nil // a later step of a batch, which is one effect with one line
	}
	adm := t.admitted
	if t.refusal == nil {
		err := e.cfg.Dispatches.Dispatch(protocol.DispatchEntry{
			At: protocol.At(time.Now()), Key: adm.Key, Request: adm.ID, Seq: adm.Seq, Kind: adm.Action.Kind,
			Effect: adm.Action.Info.Effect, Worker: e.cfg.Worker, Epoch: a.epoch, Generation: a.generation, Attempt: t.attempt,
		})
		if err != nil {
			return fmt.Errorf("dispatch log: %w", err)
		}
	}
	a.dispatched = true
	return nil
}

const (
	// egressLimit is how long an action waits for its way out, after the record
	// said that the owner is ours: the worker's watch opens it within 250 ms.
	egressLimit = 2 * time.Second
	egressTick  = 10 * time.Millisecond
)

// awaitEgress waits until pages may reach the network: a worker that was stopped for
// a while finds its owner still its own before its gates are open again, and a
// navigation would be refused by our own proxy.
func (e *Environment) awaitEgress(ctx context.Context) error {
	if e.cfg.Live == nil {
		return nil
	}
	limit := time.NewTimer(egressLimit)
	defer limit.Stop()
	tick := time.NewTicker(egressTick)
	defer tick.Stop()
	for !e.cfg.Live() || e.isSuspended() {
		select {
		case <-tick.C:
		case <-limit.C:
			err := protocol.Errorf(protocol.CodeUnavailable, "the worker has just lost contact with the servers: nothing leaves the browser").
				WithDispatched(protocol.DispatchedNo)
			err.RecommendedAction = "send it again, with a new id"
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// updateFrom lets the loop write the record for another goroutine.
func (e *Environment) updateFrom(ctx context.Context, change func(*protocol.OwnerRecord) error) error {
	u := update{change: change, reply: make(chan error, 1)}
	select {
	case e.updates <- u:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-u.reply:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fill turns an outcome into a result.
func (a *actor) fill(ctx context.Context, res *protocol.Result, t task, out *Outcome) {
	res.Worker, res.Generation, res.Attempt = a.env.cfg.Worker, a.generation, t.attempt
	res.Observation, res.Extraction, res.Screenshot = out.Observation, out.Extraction, out.Screenshot
	res.Transition, res.Verdict, res.Warnings, res.Data = out.Transition, out.Verdict, out.Warnings, out.Data
	res.Steps = out.Steps
	switch {
	case t.refusal != nil:
		res.Verdict, res.Transition = "", nil
		if t.refusal.Code == protocol.CodeOutcomeUnknown {
			res.Verdict = protocol.VerdictUnknown
		}
		if out.Err != nil {
			res.Warnings = append(res.Warnings, protocol.Warning{Code: out.Err.Code, Message: "no observation: " + out.Err.Message})
		}
		res.Fail(t.refusal)
	case out.Err != nil && ctx.Err() != nil:
		res.Fail(a.stopped(ctx, out.Err))
	case out.Err != nil:
		res.Fail(out.Err)
	default:
		res.Status, res.Dispatched = protocol.StatusOK, cmp.Or(out.Dispatched, protocol.DispatchedYes)
	}
	res.FinishedAt = protocol.At(time.Now())
}

// stopped names why an action was stopped, and whether it may have had an effect.
func (a *actor) stopped(ctx context.Context, err *protocol.Error) *protocol.Error {
	dispatched := protocol.DispatchedNo
	if a.dispatched {
		dispatched = protocol.DispatchedUnknown
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errInterrupted) && !a.dispatched:
		return protocol.Errorf(protocol.CodeCancelled, "")
	case errors.Is(cause, errInterrupted):
		return protocol.Errorf(protocol.CodeInterrupted, "").WithDispatched(dispatched)
	case errors.Is(cause, errDoomed):
		return protocol.Errorf(protocol.CodeBrowserLost, "%v", cause).WithDispatched(dispatched)
	case errors.Is(cause, errDraining):
		return protocol.Errorf(protocol.CodeInterrupted, "%v", cause).WithDispatched(dispatched)
	case errors.Is(cause, errBudget) && err.Code != protocol.CodeRendererUnresponsive:
		return protocol.Errorf(protocol.CodeActionTimeout, "%s", err.Message).WithDispatched(dispatched)
	}
	return err.WithDispatched(dispatched)
}

// onEnded takes what the action came to. settleAction answers it.
func (e *Environment) onEnded(end ending) {
	r := e.running
	r.end, r.save.capturing = &end, end.saves()
	if end.wrote && end.keeper == e.keeper {
		e.last = &checkpoints.LastAction{StreamSeq: end.result.Seq, ActionID: end.result.Request}
	}
}

// settleAction answers the action that ended, once its state is saved, cannot be,
// or was waited for long enough; and makes room for the next one when nothing of
// it uses the browser any more.
func (e *Environment) settleAction(ctx context.Context) error {
	r := e.running
	if r == nil || r.end == nil {
		return nil
	}
	if !r.answered {
		if r.end.saves() && !r.save.settled && time.Now().Before(e.answerAt()) {
			return nil
		}
		r.answered = true
		if err := e.answerEnded(ctx, r); err != nil {
			return err
		}
	}
	if r.save.capturing {
		return nil
	}
	e.running = nil
	if e.state == Running {
		e.step(End)
	}
	switch {
	case e.deleting != nil:
		return e.delete(ctx)
	case e.failing:
		return e.fail(ctx)
	case e.releasing != "":
		return e.onRelease(ctx)
	}
	return nil
}

// answerEnded answers the action that ended.
func (e *Environment) answerEnded(ctx context.Context, r *running) error {
	end, res := r.end, r.end.result
	timing(res, end)
	notSaved := end.saves() && (!r.save.settled || r.save.err != nil)
	if notSaved {
		res.Warnings = append(res.Warnings, r.save.warning())
	}
	if err := e.answer(ctx, r.admitted, res, end.span); err != nil {
		return err
	}
	if notSaved {
		e.holder.Amend(func(r *protocol.OwnerRecord) { r.AddUnsaved(res.Seq, res.Request) })
	}
	if res.Status == protocol.StatusOK {
		e.completed()
	}
	e.use(end.task.begun)
	return nil
}

// timing completes the evidence's times.
func timing(res *protocol.Result, end *ending) {
	if res.Transition == nil {
		return
	}
	t, tm := end.task, &res.Transition.Timing
	tm.QueueMS = max(0, t.begun.Sub(t.admitted.StoredAt).Milliseconds())
	tm.StartMS = ms(t.started)
	if end.saves() {
		tm.SaveMS = ms(time.Since(end.at))
	}
	tm.TotalMS = ms(time.Since(t.begun))
}

// ms is d in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// overdue fires when an action that was told to end has not.
func (e *Environment) overdue() <-chan time.Time {
	if e.running == nil || e.running.ended.Load() {
		return nil
	}
	return time.After(time.Until(e.running.overdue))
}

// onOverdue replaces the browser: the action's calls fail when it is gone.
func (e *Environment) onOverdue() error {
	if e.running.ended.Load() {
		return nil
	}
	e.log.Error("an action did not end; replacing its browser", "request", e.running.admitted.ID)
	e.running.overdue = time.Now().Add(time.Hour)
	e.startClose(e.running.browser) // another one may be open by now
	return nil
}

// startClose ends a browser that is not used any more, without waiting for it.
func (e *Environment) startClose(b Browser) {
	e.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			e.log.Error("close the browser", "error", err)
		}
	})
}
