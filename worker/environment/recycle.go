package environment

import (
	"context"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// wearing is a browser that may ask to be replaced by a new one: because of its
// age, its memory, or what it has done.
type wearing interface {
	// Tired is why; empty is not now. It returns at once, and is called while
	// nothing runs.
	Tired() string
}

// reasonRecycled is what the agent is told of a planned replacement.
const reasonRecycled = "recycled"

// recycle replaces a browser that asks for it, if nothing runs, nothing is queued
// and no dialog is open: its agent is between two actions. Without a checkpoint there
// is no replacement: the old browser has the only copy.
func (e *Environment) recycle(ctx context.Context) error {
	b, ok := e.browser.(wearing)
	if !ok || e.state != Idle || e.queue.Len() > 0 || e.keeper == nil || e.saving != nil || e.releasing != "" || e.isSuspended() {
		return nil
	}
	why := b.Tired()
	if why == "" || e.asks() {
		return nil
	}
	if err := e.save(ctx, checkpoints.ReasonRequested, unwanted); err != nil {
		if fenced(err) {
			return err
		}
		e.log.Warn("the browser should be replaced, but its state cannot be saved", "why", why, "error", err)
		return nil
	}
	e.log.Info("replacing the browser by a new one", "why", why)
	old := e.browser
	e.setBrowser(nil)
	e.keeper = nil
	e.step(Lost)
	e.startClose(old)
	e.reason, e.wantOpen = reasonRecycled, true
	return nil
}
