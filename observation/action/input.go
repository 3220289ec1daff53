package action

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto/input"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// command is one CDP command that is queued with others, unanswered.
type command struct {
	method string
	params any
}

// pipeline queues commands in order and waits for the last one's answer. Their
// order is kept on one session; awaiting each would cost a frame (12 ms) for the
// mouse move alone.
//
// A dialog, a crash or the commit of a new document ends the wait: Chromium
// answers an input event only after the dialog that it opened, and never when
// its renderer was swapped.
func (r *run) pipeline(ctx context.Context, commands ...command) error {
	waiting := make([]*cdp.Pending, 0, len(commands))
	for _, c := range commands {
		pending, err := r.page.Send(c.method, c.params)
		if err != nil {
			return err
		}
		waiting = append(waiting, pending)
	}
	for _, pending := range waiting {
		if err := r.awaitInput(ctx, pending); err != nil {
			return err
		}
	}
	return nil
}

// errAway ends a wait for an input's answer, and is no failure.
var errAway = errors.New("the page went on")

func (r *run) awaitInput(ctx context.Context, pending *cdp.Pending) error {
	err := observation.AwaitUnless(ctx, r.page, pending, nil, func(s observation.State) error {
		switch {
		case s.Gone:
			return observation.ErrLost
		case s.Crashed:
			return observation.ErrCrashed
		case s.Dialog != nil, s.Commits != r.before.Commits:
			return errAway
		}
		return nil
	})
	if errors.Is(err, errAway) {
		return nil
	}
	return err
}

// clickAt is a click of the left button.
func clickAt(x, y float64) []command {
	moved := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y}
	pressed := input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y,
		Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1,
	}
	released := input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMouseReleased, X: x, Y: y,
		Button: input.MouseButtonLeft, ClickCount: 1,
	}
	return []command{
		{input.CommandDispatchMouseEvent, moved},
		{input.CommandDispatchMouseEvent, pressed},
		{input.CommandDispatchMouseEvent, released},
	}
}
