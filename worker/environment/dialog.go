package environment

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// answering is a browser whose dialogs can be answered while an action runs: the
// action may be waiting for just that.
type answering interface {
	// Answer answers a dialog and waits until the browser has taken the answer. It
	// is called from another goroutine than Run, and at the same time.
	Answer(ctx context.Context, args *protocol.DialogArgs) *protocol.Error
}

// asking is a browser that knows whether a dialog waits for its agent. Closing it then
// would answer the dialog for the agent, and its page's storage cannot be read.
type asking interface {
	// Asks may be called from any goroutine, and never waits.
	Asks() bool
}

// asks reports whether a dialog waits for the agent.
func (e *Environment) asks() bool {
	b, ok := e.browser.(asking)
	return ok && b.Asks()
}

// controlBudget bounds an answer on lane c with the look at what followed: what
// comes after it on the lane, a cancel for instance, waits so long.
const controlBudget = 10 * time.Second

// reply is what an answer on lane c beside a running action came to.
type reply struct {
	admitted *protocol.Admitted
	result   *protocol.Result
}

// beginDialog answers a dialog for lane c, whose claim (the START) is written.
// Where nothing runs it is an action like others, and its result shows the page
// that followed; beside a running action it only answers, and that action's result
// shows the page. It returns the refusal, if nothing has begun.
func (e *Environment) beginDialog(ctx context.Context, a *protocol.Admitted, t task) *protocol.Error {
	args := a.Action.Args.(*protocol.DialogArgs)
	generation, _ := args.DialogID.Generation()
	now := e.holder.Record().Generation
	switch c := e.holder.Record().Controlled(time.Now()); {
	case e.browser == nil || generation != now:
		return protocol.Errorf(protocol.CodeStaleControl, "dialog %s ended with generation %d; this is %d", args.DialogID, generation, now)
	case c != nil:
		return protocol.Errorf(protocol.CodeOwnerConflict, "%s has control", c.Holder)
	case e.leaving:
		return goingAway()
	case e.running != nil:
		return e.runAnswer(ctx, t)
	case e.state == Idle:
		e.runAction(ctx, t)
		return nil
	}
	return goingAway()
}

// runAnswer answers beside the running action. It ends by sending to e.replies.
func (e *Environment) runAnswer(ctx context.Context, t task) *protocol.Error {
	b, ok := e.browser.(answering)
	if !ok {
		return protocol.Errorf(protocol.CodeCapabilityUnsupported, "this browser shows no dialogs")
	}
	e.replying = true
	beside := e.running.admitted.ID
	ctx, cancel := context.WithTimeoutCause(ctx, controlBudget, errBudget)
	a := actor{env: e, browser: e.browser, generation: e.holder.Record().Generation, epoch: e.holder.Record().Epoch}
	e.work.Go(func() {
		defer cancel()
		res := t.admitted.NewResult(time.Now())
		res.Worker, res.Generation, res.Attempt = e.cfg.Worker, a.generation, t.attempt
		if failed := a.answer(ctx, b, t); failed != nil {
			res.Fail(failed)
		} else {
			res.Status, res.Dispatched = protocol.StatusOK, protocol.DispatchedYes
			// Strings alone: it always encodes.
			res.Data, _ = json.Marshal(map[string]any{"shown_by": beside})
		}
		res.FinishedAt = protocol.At(time.Now())
		e.replies <- reply{admitted: t.admitted, result: res}
	})
	return nil
}

// answer passes the gate, and answers.
func (a *actor) answer(ctx context.Context, b answering, t task) *protocol.Error {
	if err := a.dispatch(ctx, t); err != nil {
		return NotDispatched(err)
	}
	return b.Answer(ctx, t.admitted.Action.Args.(*protocol.DialogArgs))
}

// onReply stores the result of an answer beside a running action.
func (e *Environment) onReply(ctx context.Context, r reply) error {
	e.replying = false
	err := e.holder.Answer(ctx, r.admitted, r.result, nil)
	if err != nil && !errors.Is(err, ownerlog.ErrAnswered) {
		return err
	}
	e.drop(r.admitted)
	e.event(r.result)
	if e.releasing != "" {
		return e.onRelease(ctx)
	}
	return nil
}

// controlBusy: what is at the head of lane c is being answered.
func (e *Environment) controlBusy() bool {
	return e.replying || e.running != nil && e.running.admitted.Lane == protocol.LaneControl
}
