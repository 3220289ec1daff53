package decide

import (
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// AnswerEvent is how a coordinator begins to answer: failed and deleted owners
// stay what they are.
func AnswerEvent(s protocol.RecordState) protocol.RecordEvent {
	if s == protocol.RecordFailed || s == protocol.RecordDeleted {
		return protocol.RecordProgress
	}
	return protocol.RecordAnswer
}

// LetGo ends the answering.
func LetGo(r *protocol.OwnerRecord, now time.Time) error {
	if r.State != protocol.RecordAnswering {
		return nil
	}
	return r.Move(protocol.RecordLetGo, now)
}

// Due is what a request is answered with while nobody can run it; nil when it may
// still wait.
func Due(a *protocol.Admitted, state protocol.RecordState, now time.Time) *protocol.Error {
	switch {
	case a.Refused != nil:
		return a.Refused
	case state == protocol.RecordFailed:
		return protocol.Errorf(protocol.CodeEnvironmentFailed, "")
	case state == protocol.RecordDeleted:
		return protocol.Errorf(protocol.CodeEnvironmentDeleted, "")
	case a.Expired(now) != nil:
		return protocol.Errorf(protocol.CodeNoCapacity, "no worker could take the environment within its queue deadline of %s", a.Action.QueueDeadline())
	}
	return nil
}

// Began reports whether a former holder may have done what the request asks. What
// no holder would run was not.
func Began(in *protocol.Inflight, a *protocol.Admitted) bool {
	return a.Refused == nil && in.Names(a.Seq, a.ID) && in.Effect == protocol.EffectWrite
}

// Fail ends a result. no_capacity before its queue deadline is over is an error,
// not an expiry: the agent may have meant to wait.
func Fail(res *protocol.Result, a *protocol.Admitted, why *protocol.Error, now time.Time) {
	res.Fail(why)
	if why.Code == protocol.CodeNoCapacity && a.Expired(now) == nil {
		res.Status = protocol.StatusError
	}
}
