package environment

import (
	"errors"
	"time"
)

// ErrNotSaved: it was let go although what changed since its newest checkpoint
// could not be saved in time.
var ErrNotSaved = errors.New("what changed since its newest checkpoint is not saved")

// errDraining stops an action that would outlast its worker.
var errDraining = errors.New("its worker is drained")

// saveRetry spaces attempts to save an environment that is let go.
const saveRetry = 500 * time.Millisecond

// handover says how long letting go may take.
type handover struct {
	// interrupt is when an action that still runs is stopped; zero is never.
	interrupt time.Time
	// giveUp is when an environment that cannot be saved is let go all the same.
	giveUp time.Time
}

// ReleaseBy is Release with bounds: a running action is stopped at interrupt
// (zero: it is waited for), and a store that is away is asked again until giveUp.
// Then Run's error matches ErrNotSaved.
func (e *Environment) ReleaseBy(reason string, interrupt, giveUp time.Time) {
	e.handover.Store(&handover{interrupt, giveUp})
	e.Release(reason)
}

// saveAgain reports whether there is time for another attempt to save, and
// plans it.
func (e *Environment) saveAgain(err error) bool {
	h := e.handover.Load()
	if h == nil || time.Until(h.giveUp) < saveRetry {
		return false
	}
	if e.saveAt.IsZero() {
		e.log.Warn("cannot save the environment that is let go; trying again", "until", h.giveUp, "error", err)
	}
	e.saveAt = time.Now().Add(saveRetry)
	return true
}

// handoverDue wakes the loop to stop the action that runs, or to save again.
func (e *Environment) handoverDue() <-chan time.Time {
	h := e.handover.Load()
	switch {
	case e.releasing == "" || h == nil:
	case e.running == nil && e.state == Closing && !e.saveAt.IsZero():
		return time.After(time.Until(e.saveAt))
	case e.running != nil && !e.hurried && !h.interrupt.IsZero():
		return time.After(time.Until(h.interrupt))
	}
	return nil
}

// hurry stops the action that runs. What it may have dispatched stays
// dispatched; its own result says so.
func (e *Environment) hurry() {
	e.hurried = true
	if e.running.ended.Load() {
		return
	}
	e.log.Warn("stopping an action: its worker is drained", "request", e.running.admitted.ID)
	e.running.stop(errDraining)
	if late := time.Now().Add(grace); late.Before(e.running.overdue) {
		e.running.overdue = late
	}
}
