package action

import (
	"context"
	"errors"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// command is one CDP command that is queued with others, unanswered.
type command struct {
	method string
	params any
}

// pipeline queues commands in order and waits for the last one's answer. Clicks are
// the page's; text and keys go to the session of the frame that has the focus, since
// the browser hears of a focus that moves between processes later than we do. Their
// order is kept on one session; awaiting each would cost a frame (12 ms) for the
// mouse move alone.
//
// A dialog, a crash or a new document, of the page or the target's frame, ends it: Chromium
// answers an input event only after the dialog that it opened, and never when
// its renderer was swapped.
func (r *run) pipeline(ctx context.Context, to observation.Page, commands ...command) error {
	waiting := make([]*cdp.Pending, 0, len(commands))
	for _, c := range commands {
		pending, err := to.Send(c.method, c.params)
		if err != nil {
			return err
		}
		waiting = append(waiting, pending)
	}
	for _, pending := range waiting {
		if err := r.awaitInput(ctx, to, pending); err != nil {
			return err
		}
	}
	return nil
}

// errAway ends a wait for an input's answer, and is no failure.
var errAway = errors.New("the page went on")

func (r *run) awaitInput(ctx context.Context, to observation.Page, pending *cdp.Pending) error {
	err := observation.AwaitUnless(ctx, to, pending, nil, func(s observation.State) error {
		switch {
		case s.Gone:
			return observation.ErrLost
		case s.Crashed:
			return observation.ErrCrashed
		case s.Dialog != nil, s.Commits != r.before.Commits, r.frameLeft(s):
			return errAway
		}
		return nil
	})
	if errors.Is(err, errAway) || r.frame != "" && observation.WentAway(err) {
		return nil
	}
	return err
}

// frameLeft: the target's frame got another document, or is gone.
func (r *run) frameLeft(s observation.State) bool {
	return r.frame != "" && s.Left(r.frame, r.before)
}
