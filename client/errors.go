package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/protocol"
)

// NoResult is the error of a request whose result is not known here.
type NoResult struct {
	// Request is the id to reattach with.
	Request protocol.RequestID
	// Err says what is known, and what to do next.
	Err *protocol.Error
	// Cause is the context's, or the connection's; it may be nil.
	Cause error
}

// Error is one line for people.
func (e *NoResult) Error() string { return e.Err.Error() }

// Unwrap lets errors.As find the *protocol.Error, and errors.Is the cause.
func (e *NoResult) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// Err is nil for a result that is ok, and its error otherwise.
func Err(res *protocol.Result) error {
	switch {
	case res == nil:
		return errors.New("no result")
	case res.Status == protocol.StatusOK:
		return nil
	case res.Error != nil:
		return res.Error
	}
	return protocol.Errorf(protocol.CodeInternal, "status %s without an error", res.Status).WithDispatched(res.Dispatched)
}

// Code is the code of an error of this package, or empty.
func Code(err error) protocol.Code {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// unreachable is a *protocol.Error with what caused it.
type unreachable struct {
	err   *protocol.Error
	cause error
}

func (e *unreachable) Error() string   { return e.err.Error() }
func (e *unreachable) Unwrap() []error { return []error{e.err, e.cause} }

// What to do where nothing is stored.
const (
	askAgain  = "see that the fleet can be reached, and ask again"
	sendAgain = "nothing was sent: see that the fleet can be reached, and send it again"
)

// unreached says that the fleet, or the server before it, does not answer. The
// text of cause is shown: it names addresses and never credentials.
func unreached(cause error, format string, args ...any) error {
	e := protocol.Errorf(protocol.CodeUnavailable, "%s: %v", fmt.Sprintf(format, args...), cause)
	e.RecommendedAction = askAgain // there is no request that fleet.result could be asked for
	return &unreachable{e, cause}
}

// ended is why a wait ended with its context.
func ended(ctx context.Context, id protocol.RequestID, d protocol.Dispatched) *NoResult {
	what := "the request is not known to be stored"
	if d == protocol.DispatchedUnknown {
		what = "the result did not come"
	}
	e := protocol.Errorf(protocol.CodeUnavailable, "%s before the wait ended (%v)", what, context.Cause(ctx)).WithDispatched(d)
	if d == protocol.DispatchedNo {
		e.RecommendedAction = sendAgain
	}
	return &NoResult{Request: id, Err: e, Cause: context.Cause(ctx)}
}
