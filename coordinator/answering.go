package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// answerTimeout bounds one answering. A results' leader that stays behind takes
// four seconds of it. Whoever thinks that it takes too long takes the owner over.
const answerTimeout = 2 * decide.Restless

// errNothingDue leaves a record alone.
var errNothingDue = errors.New("nothing is due")

// answerDue makes this coordinator the holder of an owner that nobody else can
// hold, answers what is due (malformed, too old, expired, cancelled, of a failed
// or deleted owner), and lets go.
func (s *shard) answerDue(ctx context.Context, key protocol.OwnerKey) {
	s.answer(ctx, key, verdict{})
}

// verdict is what an owner's waiting requests are told.
type verdict struct {
	// all answers every one; nil answers what is due.
	all *protocol.Error
	// position of the owner in the line for a worker.
	position int
}

// of is a request's answer; nil when it may still wait.
func (v verdict) of(a *protocol.Admitted, state protocol.RecordState) *protocol.Error {
	why := decide.Due(a, state, time.Now())
	switch {
	case why == nil:
		return v.all
	case why.Code == protocol.CodeNoCapacity:
		why.Position, why.RetryAfterMS = v.position, decide.QuotaRetry.Milliseconds()
	}
	return why
}

// answer is answerDue with a verdict.
func (s *shard) answer(ctx context.Context, key protocol.OwnerKey, v verdict) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if due, err := s.anythingDue(ctx, key, v); err != nil || !due {
		if err != nil {
			s.log.Warn("cannot look for due requests", "owner", key.String(), "error", err)
		}
		return
	}
	var before protocol.RecordState
	h, err := ownerlog.Claim(ctx, s.streams(), s.id, key, func(rec *protocol.OwnerRecord, _ protocol.Seq) (*protocol.OwnerRecord, error) {
		if !decide.Answerable(rec, s.alive) {
			return nil, errNothingDue
		}
		next := &protocol.OwnerRecord{V: protocol.Version}
		if rec != nil {
			next, before = rec.Clone(), rec.State
		}
		if err := next.Move(decide.AnswerEvent(before), time.Now()); err != nil {
			return nil, err
		}
		next.Since, next.Worker, next.Epoch = protocol.At(time.Now()), s.c.cfg.ID, 0
		return next, nil
	})
	if err != nil {
		if !errors.Is(err, errNothingDue) && !errors.Is(err, ownerlog.ErrFenced) {
			s.log.Warn("cannot answer", "owner", key.String(), "error", err)
		}
		return
	}
	if alarm := h.Alarm(); alarm != nil {
		s.log.Error("a record does not fit its stream", "owner", key.String(), "error", alarm)
	}
	err = s.answerAll(ctx, h, before, v)
	if err == nil {
		err = h.Update(ctx, func(r *protocol.OwnerRecord) error { return decide.LetGo(r, time.Now()) })
	}
	if err != nil && !errors.Is(err, ownerlog.ErrFenced) {
		s.log.Warn("cannot answer", "owner", key.String(), "error", err)
	}
}

// anythingDue looks without holding the owner.
func (s *shard) anythingDue(ctx context.Context, key protocol.OwnerKey, v verdict) (bool, error) {
	conn := s.c.cfg.Conn
	rec, _, err := ownerlog.Read(ctx, conn, s.id, key)
	if err != nil {
		return false, err
	}
	stream, err := ownerlog.LookAt(ctx, conn, s.id)
	if err != nil {
		return false, err
	}
	if rec != nil {
		_ = stream.Settle(rec) // Claim says so, if it comes to that
	}
	peek, err := ownerlog.Peek(ctx, conn, s.id, key, rec, protocol.LaneControl)
	if err != nil || len(peek) > 0 {
		return len(peek) > 0, err
	}
	if peek, err = ownerlog.Peek(ctx, conn, s.id, key, rec, protocol.LaneQueue); err != nil || len(peek) == 0 {
		return false, err
	}
	a := protocol.Admit(peek[0], stream.Created)
	return (rec != nil && v.of(&a, rec.State) != nil) || v.of(&a, protocol.RecordNone) != nil, nil
}

// answerAll reads lane c to its end, then lane q up to the first request that
// may still wait.
func (s *shard) answerAll(ctx context.Context, h *ownerlog.Holder, before protocol.RecordState, v verdict) error {
	orphan, orphanC := h.Record().InflightQ, h.Record().InflightC
	control, queue := h.NewLane(protocol.LaneControl), h.NewLane(protocol.LaneQueue)
	if err := errors.Join(control.Fill(ctx, true), queue.Fill(ctx, true)); err != nil {
		return err
	}
	for _, waiting := range control.Waiting() {
		a := protocol.Admit(waiting, h.StreamCreated())
		err := s.answerOne(ctx, h, &a, func(res *protocol.Result, behind bool) (*protocol.Error, error) {
			switch {
			case decide.Began(orphanC, &a):
				return protocol.Errorf(protocol.CodeOutcomeUnknown, ""), nil
			case behind && a.Refused == nil:
				return ownerlog.CannotTell(), nil
			}
			return s.decideControl(ctx, h, queue, &a, before, res)
		})
		if err != nil {
			return err
		}
	}
	for _, waiting := range queue.Waiting() {
		a := protocol.Admit(waiting, h.StreamCreated())
		why := v.of(&a, before)
		if why == nil {
			return nil
		}
		if decide.Began(orphan, &a) {
			why = protocol.Errorf(protocol.CodeOutcomeUnknown, "")
		}
		err := s.answerOne(ctx, h, &a, func(*protocol.Result, bool) (*protocol.Error, error) { return why, nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// ruling is what a request is answered (nil: ok), and fills in the result. behind:
// it cannot be told whether it was answered before.
type ruling func(res *protocol.Result, behind bool) (*protocol.Error, error)

// answerOne is START, then the answer. Nothing is run here, so a results' leader
// that stays behind keeps nobody from one: the server refuses it where another
// stands, and knows the results again when it has stored it.
func (s *shard) answerOne(ctx context.Context, h *ownerlog.Holder, a *protocol.Admitted, judge ruling) error {
	attempt := 1
	if in := h.Record().Inflight(a.Lane); in != nil && in.Request == a.ID {
		attempt = in.Attempt // nothing is run here
	}
	started, err := h.Start(ctx, a, attempt)
	behind := errors.Is(err, ownerlog.ErrBehind)
	if err != nil && !behind {
		return err
	}
	if behind {
		s.log.Error("cannot tell whether a request was answered before", "owner", a.Key.String(), "request", a.ID, "error", err)
	}
	if started.Done() {
		h.Finish(a)
		if started.Answered == nil {
			return nil
		}
		return h.Repeat(started.Answered)
	}
	res := a.NewResult(time.Now())
	res.Worker = s.c.cfg.ID
	why, err := judge(res, behind)
	if err != nil {
		return err
	}
	if why != nil {
		decide.Fail(res, a, why, time.Now())
		s.c.cfg.Observer.AnsweredByCoordinator(why.Code)
	} else {
		res.Status, res.Dispatched = protocol.StatusOK, protocol.DispatchedYes
		s.c.cfg.Observer.AnsweredByCoordinator("")
	}
	if err := h.Answer(ctx, a, res, nil); !errors.Is(err, ownerlog.ErrAnswered) {
		return err
	}
	// It was answered before, and START could not tell.
	stored, err := h.Stored(ctx, a.ID)
	if err != nil || stored == nil {
		return err
	}
	return h.Repeat(stored)
}

// decideControl is what a control request comes to while no environment lives.
func (s *shard) decideControl(ctx context.Context, h *ownerlog.Holder, queue *ownerlog.Lane, a *protocol.Admitted, before protocol.RecordState, res *protocol.Result) (*protocol.Error, error) {
	if a.Refused != nil {
		return a.Refused, nil
	}
	switch args := a.Action.Args.(type) {
	case *protocol.CancelArgs:
		found, err := h.CancelQueued(ctx, a, queue, args.Request, s.c.cfg.ID)
		if err != nil || !found {
			return protocol.Errorf(protocol.CodeStaleControl, "request %s is not queued", args.Request), err
		}
		res.Data = ownerlog.CancelledQueued
		return nil, nil
	case *protocol.InterruptArgs:
		return protocol.Errorf(protocol.CodeStaleControl, "request %s is not running", args.Request), nil
	case *protocol.DialogArgs:
		return protocol.Errorf(protocol.CodeStaleControl, "dialog %s ended with its environment", args.DialogID), nil
	}
	data, err := json.Marshal(map[string]any{"state": before, "queued": queue.Len()})
	res.Data = data
	return nil, err
}
