package environment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// errAsked: what a page with an open dialog stores cannot be read.
var errAsked = errors.New("a dialog was open: what its page stored since the last checkpoint is lost, cookies are saved")

// onRelease saves the environment and lets the owner go. While an action runs,
// or the browser is still being opened, it does nothing: both end by coming here
// again. So does an attempt to save that failed, until it is time to give up;
// then the owner goes to its next holder with the state of its newest checkpoint,
// and whoever asked is told (ErrNotSaved).
func (e *Environment) onRelease(ctx context.Context) error {
	if e.running != nil || e.replying || e.state == Opening {
		return nil
	}
	if e.state != Closing {
		e.step(Release)
	}
	asked := e.asks()
	saved := e.saveBy(ctx)
	if fenced(saved) {
		return saved
	}
	if saved != nil {
		if e.saveAgain(saved) {
			return nil
		}
		e.log.Error("not saved: what changed since the last checkpoint is lost", "error", saved)
	}
	if saved == nil && asked {
		saved = errAsked
		e.log.Error("its page is not saved: it waits for an answer to a dialog, which is lost")
	}
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		r.Opening = false
		return r.Move(protocol.RecordRelease, time.Now())
	})
	if err != nil {
		return err
	}
	e.log.Info("released", "reason", e.releasing)
	if saved != nil {
		return fmt.Errorf("%w, and %w: %w", ErrReleased, ErrNotSaved, saved)
	}
	return ErrReleased
}

// saveBy saves, at most until the release has to give up.
func (e *Environment) saveBy(ctx context.Context) error {
	if h := e.handover.Load(); h != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, h.giveUp)
		defer cancel()
	}
	return e.save(ctx, checkpoints.ReasonDrain, unwanted)
}
