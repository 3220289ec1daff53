package environment

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// serveControl answers all of lane c. It never waits for the running action.
func (e *Environment) serveControl(ctx context.Context) error {
	for !e.isSuspended() && !e.controlBusy() {
		head, ok := e.control.Head()
		if !ok {
			return nil
		}
		a := protocol.Admit(head, e.holder.StreamCreated())
		attempt, begun := 1, time.Now()
		if in := e.orphanOf(&a); in != nil {
			attempt = in.Attempt + 1
		}
		started, err := e.holder.Start(ctx, &a, attempt)
		behind := errors.Is(err, ownerlog.ErrBehind)
		if err != nil && !behind {
			return err
		}
		if behind {
			e.log.Error("cannot tell whether a request was answered before", "request", a.ID, "error", err)
		}
		if started.Done() {
			if started.Answered != nil {
				if err := e.holder.Repeat(started.Answered); err != nil {
					e.log.Warn("cannot repeat a result", "request", a.ID, "error", err)
				}
			}
			e.holder.Finish(&a)
		} else if err := e.answerControl(ctx, &a, attempt, begun, behind); err != nil {
			return err
		}
		if !e.controlBusy() {
			e.control.Drop()
		}
	}
	return nil
}

// answerControl answers the head of lane c, or begins what answers it later.
// behind: whether it was answered before cannot be told, so nothing is done.
func (e *Environment) answerControl(ctx context.Context, a *protocol.Admitted, attempt int, begun time.Time, behind bool) error {
	res := a.NewResult(time.Now())
	res.Worker, res.Attempt = e.cfg.Worker, attempt
	failed := e.answerable(a)
	// What no holder would do, the former one did not. A cancel of what is queued may
	// be done any number of times: its target has one result, and the record must know
	// that it has.
	if in := e.orphanOf(a); in != nil && a.Refused == nil && in.Kind != protocol.KindCancel &&
		(in.Effect != protocol.EffectRead || in.Attempt >= maxReadAttempts) {
		failed = protocol.Errorf(protocol.CodeOutcomeUnknown, "")
	}
	if failed == nil && behind {
		failed = ownerlog.CannotTell()
	}
	if _, ok := a.Action.Args.(*protocol.DialogArgs); ok && failed == nil {
		failed = e.beginDialog(ctx, a, task{admitted: a, attempt: attempt, begun: begun, started: time.Since(begun), header: e.control.HeadMessage().Header})
		if failed == nil {
			return nil
		}
	}
	if failed == nil {
		var err error
		if failed, err = e.doControl(ctx, a, res); err != nil {
			return err
		}
	}
	if failed != nil {
		res.Fail(failed)
	} else {
		res.Status, res.Dispatched = protocol.StatusOK, protocol.DispatchedYes
	}
	res.FinishedAt = protocol.At(time.Now())
	if err := e.holder.Answer(ctx, a, res, nil); !errors.Is(err, ownerlog.ErrAnswered) {
		return err
	}
	return nil
}

// doControl does what a control request asks. Its claim (the START) is written.
func (e *Environment) doControl(ctx context.Context, a *protocol.Admitted, res *protocol.Result) (*protocol.Error, error) {
	switch args := a.Action.Args.(type) {
	case *protocol.CancelArgs:
		if e.stopRunning(args.Request) {
			res.Data = json.RawMessage(`{"cancelled":"running"}`)
			return nil, nil
		}
		found, err := e.holder.CancelQueued(ctx, a, e.queue, args.Request, e.cfg.Worker)
		if err != nil || found {
			res.Data = ownerlog.CancelledQueued
			return nil, err
		}
		res.Data = nil
		return protocol.Errorf(protocol.CodeStaleControl, "request %s is neither queued nor running", args.Request), nil
	case *protocol.InterruptArgs:
		if !e.stopRunning(args.Request) {
			return protocol.Errorf(protocol.CodeStaleControl, "request %s is not running", args.Request), nil
		}
		return nil, nil
	}
	data, err := json.Marshal(map[string]any{
		"state": e.state, "queued": e.queue.Len(), "generation": e.holder.Record().Generation,
	})
	res.Data = data
	return nil, err
}

// stopRunning stops the action if it is the named one. What it may have
// dispatched stays dispatched; its own result says so. Of one that has ended by
// itself only the checkpoint is waited for: then the wait ends.
func (e *Environment) stopRunning(id protocol.RequestID) bool {
	r := e.running
	if r == nil || r.admitted.ID != id || r.answered {
		return false
	}
	r.save.hurried = true
	if r.ended.Load() {
		return true
	}
	r.stop(errInterrupted)
	if late := time.Now().Add(grace); late.Before(r.overdue) {
		r.overdue = late
	}
	return true
}
