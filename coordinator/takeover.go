package coordinator

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// reset brings a failed owner back. An agent has to wait a while, so that a
// program that resets in a loop does not kill browsers in a loop; an operator
// does not.
func (s *shard) reset(ctx context.Context, key protocol.OwnerKey, operator bool) (protocol.AcquireReply, bool) {
	rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
	switch {
	case err != nil:
		return unreached(err), false
	case rec == nil:
		return refusal(protocol.Errorf(protocol.CodeNotFound, "owner %s is not known", key.Owner)), true
	case rec.State == protocol.RecordDeleted:
		return refusal(protocol.Errorf(protocol.CodeEnvironmentDeleted, "")), true
	case rec.State != protocol.RecordFailed:
		return done()
	}
	if left := protocol.ResetPause - time.Since(rec.Since.Time); !operator && left > 0 {
		err := protocol.Errorf(protocol.CodeEnvironmentFailed, "it failed a moment ago; an agent may reset it %s after that", protocol.ResetPause)
		err.Retryable, err.RetryAfterMS = true, left.Milliseconds()+1
		return refusal(err), true
	}
	next := rec.Clone()
	if err := next.Move(protocol.RecordReset, time.Now()); err != nil {
		return unreached(err), false
	}
	next.Failures, next.Worker = nil, ""
	if err := s.rewrite(ctx, key, next, fence); err != nil {
		return unreached(err), false
	}
	s.log.Info("reset", "owner", key.String(), "by_operator", operator)
	return done()
}

// controlling takes an environment over for a person, which opens it, or gives
// it back.
func controlling(q protocol.ControlQuery) life {
	waits := &patient{as: protocol.ControlWant(q.Holder)}
	return func(ctx context.Context, s *shard, key protocol.OwnerKey) (protocol.AcquireReply, bool) {
		rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
		switch {
		case err != nil:
			return unreached(err), false
		case rec == nil:
			return refusal(protocol.Errorf(protocol.CodeNotFound, "owner %s is not known", key.Owner)), true
		}
		reply, ok := s.toHolder(ctx, key, rec, protocol.HolderQuery{Op: protocol.HolderControl, Control: &q})
		switch {
		case ok || held(rec):
			return reply, ok
		case q.Op == protocol.ControlTake:
			return waits.step(ctx, s, key, rec, fence)
		case rec.State == protocol.RecordMoving || rec.State == protocol.RecordAnswering:
			return refusal(wait("the owner is on its way to a worker")), false
		}
		next := rec.Clone()
		if err := next.SetControl(&q, time.Now()); err != nil {
			return refusal(err), true
		}
		if err := s.rewrite(ctx, key, next, fence); err != nil {
			return unreached(err), false
		}
		return done()
	}
}
