package cdp

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed: the connection ended, by Close or by the browser.
	ErrClosed = errors.New("cdp: connection closed")
	// ErrDetached: the session no longer exists.
	ErrDetached = errors.New("cdp: session detached")
	// ErrCrashed: the session's target crashed. Chromium keeps the session and
	// never answers what was in flight.
	ErrCrashed = errors.New("cdp: target crashed")
	// ErrBusy: too many commands wait to be written; nothing was sent.
	ErrBusy = errors.New("cdp: too many commands wait to be written")
	// ErrOverflow: events came faster than the handler took them, and one that
	// must not be lost did not fit.
	ErrOverflow = errors.New("cdp: event queue overflow")
	// errAbandoned: nobody waited for the call for abandonAfter.
	errAbandoned = errors.New("cdp: call abandoned")
)

// Codes of JSON-RPC and of Chromium that mean "refused before it ran".
const (
	codeParse           = -32700
	codeInvalidRequest  = -32600
	codeSessionNotFound = -32001
)

// Error is a reply of the browser that carries an error.
type Error struct {
	Method  string
	Code    int64
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("cdp: %s: %s (%d)", e.Method, e.Message, e.Code)
}

// Is makes the reply "session not found" match ErrDetached: after a detach the
// browser answers later calls so, instead of leaving them open.
func (e *Error) Is(target error) bool {
	return target == ErrDetached && e.Code == codeSessionNotFound
}

// LostError is a call that got no reply.
type LostError struct {
	Method string
	// Cause is one of the Err values above, or the cause of the caller's context.
	Cause error
	// MayHaveExecuted is false only if the command was never written.
	MayHaveExecuted bool
}

func (e *LostError) Error() string {
	sent := "not sent"
	if e.MayHaveExecuted {
		sent = "sent, outcome unknown"
	}
	return fmt.Sprintf("cdp: %s (%s): %v", e.Method, sent, e.Cause)
}

func (e *LostError) Unwrap() error { return e.Cause }

// MayHaveExecuted says whether the command behind err may have had an effect. It
// is false for nil and true for an error that it does not know.
func MayHaveExecuted(err error) bool {
	if err == nil {
		return false
	}
	if lost := (*LostError)(nil); errors.As(err, &lost) {
		return lost.MayHaveExecuted
	}
	if reply := (*Error)(nil); errors.As(err, &reply) {
		refused := reply.Code >= codeParse && reply.Code <= codeInvalidRequest
		return !refused && reply.Code != codeSessionNotFound
	}
	return true
}
