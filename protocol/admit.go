package protocol

import (
	"time"
)

// Stored is a request as the stream holds it.
type Stored struct {
	Key      OwnerKey
	Lane     Lane
	Seq      Seq
	StoredAt time.Time
	Data     []byte
}

// Admitted is a stored request with the name under which it is answered.
type Admitted struct {
	Stored
	// ID names its result: the request's own id, or one made of its sequence.
	ID RequestID
	// Action is complete only where Refused is nil.
	Action Action
	// Refused is why the request cannot run, whatever the page says. It holds
	// only if the request was not answered already: the id decides first.
	Refused *Error
}

// Admit reads a stored request. It is pure: the same message always gets the
// same name, so that whoever answers it, the server refuses a second answer.
func Admit(m Stored, streamCreated time.Time) Admitted {
	a := Admitted{Stored: m}
	action, err := ParseAction(m.Data, m.Lane)
	if _, known := action.Kind.Lookup(); !known {
		// The record and the result name kinds of the table only: what somebody
		// else wrote there could be as long as a message.
		action.Kind = ""
	}
	a.Action, a.Refused = action, err
	id, at, idErr := ParseRequestID(string(action.ID))
	switch {
	case action.ID == "":
		a.ID = SequenceRequestID(m.Seq, streamCreated)
	case idErr != nil:
		a.ID = SequenceRequestID(m.Seq, streamCreated)
		a.Refused = Errorf(CodeInvalidRequest, "id: %v", idErr)
	default:
		a.ID = id
		// Sub saturates at 292 years, and the negative of its minimum is itself:
		// each difference is taken in the direction in which it is positive.
		if late := m.StoredAt.Sub(at); late > ResendHorizon {
			a.Refused = Errorf(CodeRequestTooOld, "stored %s after its id was made; at most %s", late.Round(time.Second), ResendHorizon)
		} else if ahead := at.Sub(m.StoredAt); ahead > FutureHorizon {
			a.Refused = Errorf(CodeRequestFromFuture, "its id lies %s ahead of the server's time; at most %s", ahead.Round(time.Second), FutureHorizon)
		}
	}
	return a
}

// Expired reports whether the request waited too long by now.
func (a *Admitted) Expired(now time.Time) *Error {
	waited := now.Sub(a.StoredAt)
	if limit := a.Action.QueueDeadline(); a.Refused == nil && waited > limit {
		return Errorf(CodeExpired, "waited %s; its queue deadline is %s", waited.Round(time.Millisecond), limit)
	}
	return nil
}

// DependsOnPage reports whether the request means something only on the page
// that its agent was shown.
func (a *Admitted) DependsOnPage() bool {
	if a.Action.Info.NeedsPage || a.Action.Tab != "" { // tabs have other ids after a restore
		return true
	}
	if t, ok := a.Action.Args.(*TabsArgs); ok {
		return t.Index != nil || t.Action == TabsClose
	}
	if s, ok := a.Action.Args.(*ScreenshotArgs); ok && s.ElementRef != "" {
		return true
	}
	o, ok := a.Action.Args.(*ObserveArgs)
	return ok && o.Region()
}

// NewResult begins the request's answer.
func (a *Admitted) NewResult(now time.Time) *Result {
	return &Result{
		V: Version, Tenant: a.Key.Tenant, Owner: a.Key.Owner, Request: a.ID, Lane: a.Lane, Seq: a.Seq,
		Kind: a.Action.Kind, StoredAt: At(a.StoredAt), FinishedAt: At(now), Dispatched: DispatchedNo,
	}
}

// Fail ends the result with an error; the status follows from its code.
func (r *Result) Fail(e *Error) {
	r.Error, r.Dispatched = e, e.Dispatched
	switch e.Code {
	case CodeExpired, CodeNoCapacity:
		r.Status = StatusExpired
	case CodeCancelled:
		r.Status = StatusCancelled
	case CodeOutcomeUnknown, CodeInterrupted, CodeBrowserLost:
		r.Status = StatusOutcomeUnknown
		if e.Dispatched == DispatchedNo {
			r.Status = StatusError
		}
	default:
		r.Status = StatusError
	}
	switch {
	case r.Verdict != "":
	case e.Dispatched == DispatchedNo:
		r.Verdict = VerdictRefused
	case e.Dispatched == DispatchedUnknown:
		r.Verdict = VerdictUnknown
	}
}
