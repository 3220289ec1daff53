package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

// Exit statuses; the package comment explains them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitNoAnswer    = 4
	exitInterrupted = 130
)

// exitError is an error with its exit status.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(err error) error       { return &exitError{exitUsage, err} }
func unreachableError(err error) error { return &exitError{exitUnreachable, err} }

// failed says that the answer was printed and is not good: nothing more to say.
var failed = &exitError{exitFailed, errors.New("")}

// fail prints an error, with what to do next, and returns the exit status.
func (a *app) fail(err error) int {
	if err == nil {
		return exitOK
	}
	if text := err.Error(); text != "" {
		// Further lines are indented: what a page wrote must not look like ours.
		fmt.Fprintf(a.err, "browserfleet: %s\n", strings.ReplaceAll(view.Text(text), "\n", "\n    "))
	}
	if done := effect(err); done != "" {
		fmt.Fprintf(a.err, "  dispatched: %s\n", done)
	}
	if next := advice(err); next != "" {
		fmt.Fprintf(a.err, "  next: %s\n", view.Line(next, 300))
	}
	return status(err)
}

// effect says whether the page saw the action, for a failed action.
func effect(err error) string {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Dispatched {
	case protocol.DispatchedNo:
		return "no, the page saw nothing of it"
	case protocol.DispatchedYes:
		return "yes"
	case protocol.DispatchedUnknown:
		return "unknown, it may have happened"
	}
	return ""
}

// status is an error's exit status.
func status(err error) int {
	var exit *exitError
	var none *client.NoResult
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, devfleet.ErrNotRunning):
		return exitUnreachable
	case errors.As(err, &none) && none.Err.Code == protocol.CodeUnavailable:
		if none.Err.Dispatched == protocol.DispatchedNo {
			return exitUnreachable
		}
		return exitNoAnswer
	case client.Code(err) == protocol.CodeUnavailable:
		return exitUnreachable
	}
	return exitFailed
}

// advice is what to do next.
func advice(err error) string {
	var none *client.NoResult
	var e *protocol.Error
	switch {
	case errors.Is(err, devfleet.ErrNotRunning):
		return "start a fleet with `browserfleet dev`, or name one with --data, --nats or --nats-context"
	case errors.As(err, &none) && none.Err.Code == protocol.CodeUnavailable && none.Err.Dispatched != protocol.DispatchedNo:
		return fmt.Sprintf("ask again with `browserfleet result %s`", none.Request)
	case errors.As(err, &e):
		return e.RecommendedAction
	}
	return ""
}
