package environment

import (
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// doomed is a browser that can become a trap: it still answers, but the next thing
// that touches its page may stop the whole process.
type doomed interface {
	// Doomed is closed when it has to be replaced at once.
	Doomed() <-chan struct{}
	// Doom is why, for the agent, after Doomed.
	Doom() string
}

// errDoomed stops an action in such a browser.
var errDoomed = errors.New("the browser has to be replaced")

// reasonLost is what the agent is told of a browser that it lost.
const reasonLost = "browser_lost"

// doom fires when the browser has to be replaced, once for each action that runs.
func (e *Environment) doom() <-chan struct{} {
	b, ok := e.browser.(doomed)
	switch {
	case !ok || e.running != nil && e.running.doomed:
		return nil
	case e.state == Idle, e.state == Running, e.state == HumanInControl:
		return b.Doomed()
	}
	return nil
}

// onDoom stops what runs; then it saves what the browser still tells, cookies
// above all, and replaces it. That is no death: the agent's own choice of pages
// does not fail its owner.
func (e *Environment) onDoom(ctx context.Context) error {
	if e.running != nil {
		e.running.doomed = true
		if !e.running.ended.Load() {
			e.running.stop(errDoomed)
			if late := time.Now().Add(grace); late.Before(e.running.overdue) {
				e.running.overdue = late
			}
		}
		return nil
	}
	why := e.browser.(doomed).Doom()
	if err := e.save(ctx, checkpoints.ReasonRequested, unwanted); err != nil {
		if fenced(err) {
			return err
		}
		e.log.Warn("the state of a browser that has to be replaced cannot be saved", "why", why, "error", err)
	}
	e.log.Warn("replacing the browser", "why", why)
	old := e.browser
	e.setBrowser(nil)
	e.keeper = nil
	e.step(Lost)
	e.startClose(old)
	e.reason, e.because, e.wantOpen = reasonLost, why, true
	return nil
}
