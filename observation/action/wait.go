package action

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// waitDefault is how long a wait may take when its args do not say.
	waitDefault = 10 * time.Second
	// idle is how long the network has to be quiet for network-idle.
	idle = 500 * time.Millisecond
	// pollText is how long the page is asked for a text in one call.
	pollText = 2 * time.Second
	// pollElement is the pause between two looks at an element.
	pollElement = 50 * time.Millisecond
)

// errNotMet is the cause of a wait that ended without its condition.
var errNotMet = errors.New("the condition was not met in time")

// wait has no effect, so nothing is dispatched.
func (r *run) wait(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.WaitArgs)
	d := time.Duration(args.TimeoutMS) * time.Millisecond
	if d == 0 {
		d = waitDefault
	}
	waiting, cancel := context.WithTimeoutCause(ctx, d, errNotMet)
	defer cancel()
	var err error
	switch args.Until {
	case "load":
		_, err = observation.Until(waiting, r.page, func(s observation.State) bool { return s.Loaded && !s.Navigating })
	case "network-idle":
		err = r.waitIdle(waiting)
	case "quiet":
		err = r.waitQuiet(waiting)
	case "url":
		_, err = observation.Until(waiting, r.page, func(s observation.State) bool { return strings.Contains(s.URL, args.URL) })
	case "text":
		err = r.waitText(waiting, args.Text)
	default:
		if args.Role == "" {
			return r.waitElement(waiting, args)
		}
		err = r.waitNamed(waiting, args)
	}
	return r.waited(waiting, err)
}

func (r *run) waited(ctx context.Context, err error) *protocol.Error {
	switch {
	case err == nil:
		r.did.Settle = r.lap()
		r.did.Verdict = r.verdict(0)
		return nil
	case errors.Is(err, errNotMet), context.Cause(ctx) == errNotMet:
		return protocol.Errorf(protocol.CodeWaitTimeout, "")
	case errors.Is(err, observation.ErrDialog):
		r.did.Verdict = protocol.VerdictDialogOpened
		if r.page.State().DialogsOpened != r.before.DialogsOpened {
			return nil
		}
	}
	return r.fail(ctx, "wait", err)
}

// waitIdle waits until nothing was in flight for half a second from now on.
func (r *run) waitIdle(ctx context.Context) error {
	busy := func(s observation.State) bool { return s.InFlight > 0 || s.Navigating }
	for {
		if _, err := observation.Until(ctx, r.page, func(s observation.State) bool { return !busy(s) }); err != nil {
			return err
		}
		resting, cancel := context.WithTimeoutCause(ctx, idle, errTooLong)
		_, err := observation.Until(resting, r.page, busy)
		cancel()
		switch {
		case errors.Is(err, errTooLong) && ctx.Err() == nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// waitText asks the page again and again, also across documents.
func (r *run) waitText(ctx context.Context, text string) error {
	args := struct {
		Text  string `json:"text"`
		Limit int64  `json:"limit"`
	}{text, pollText.Milliseconds()}
	for {
		var answer struct {
			Met bool `json:"met"`
		}
		err := observation.Read(ctx, r.page, "waitForText", args, &answer)
		if err != nil || answer.Met {
			return err
		}
	}
}

// waitElement waits for a ref to be visible, or not to be. A ref whose document
// is gone is hidden; it will never be visible again.
func (r *run) waitElement(ctx context.Context, args *protocol.WaitArgs) *protocol.Error {
	t, refused := r.observer.Resolve(args.ElementRef, args.ObservationID)
	if refused != nil {
		return refused
	}
	pause := time.NewTicker(pollElement)
	defer pause.Stop()
	want := args.Until == "element-visible"
	view := observation.Within(r.page, t.Frame)
	for {
		var answer struct{ Shown, Stale bool }
		err := observation.Read(ctx, view, "isShown", nodeOf(t), &answer)
		if errors.Is(err, observation.ErrFrameGone) {
			err, answer.Stale = nil, true
		}
		switch {
		case err != nil || answer.Shown == want:
			return r.waited(ctx, err)
		case answer.Stale:
			return protocol.Errorf(protocol.CodeStaleRef, "%s is no longer on the page", t.Ref)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return r.waited(ctx, context.Cause(ctx))
		}
	}
}
