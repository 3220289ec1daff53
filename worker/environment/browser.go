package environment

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// Browser is one environment's live browser. Its methods are called from one
// goroutine at a time, but for Suspend, Lost and Close.
type Browser interface {
	// Run performs one action. It calls dispatch directly before the first thing
	// that can have an effect, and a batch before that of each step; if it fails,
	// nothing of it was sent and the error is the outcome's, or the step's. It returns
	// soon after ctx ends.
	Run(ctx context.Context, a *protocol.Action, dispatch func() error) *Outcome
	// Capture reads the state that outlives the browser.
	Capture(ctx context.Context) (checkpoints.State, error)
	// Suspend stops its egress at once: nothing new, and tunnels forward
	// nothing. Resume lets it go on.
	Suspend()
	Resume()
	// Lost is closed when the browser has died or does not answer any more.
	Lost() <-chan struct{}
	// Close ends its processes and removes what they left.
	Close(ctx context.Context) error
}

// Launcher opens browsers.
type Launcher interface {
	// Open starts a browser and restores what was loaded. The report says what
	// came back.
	Open(ctx context.Context, spec Spec) (Browser, *checkpoints.FidelityReport, error)
}

// Spec is what an environment's browser is opened with.
type Spec struct {
	Key        protocol.OwnerKey
	Generation protocol.Generation
	Policy     string
	// Dialogs says who answers dialogs; empty is the launcher's default.
	Dialogs protocol.DialogPolicy
	// Live reports whether there is contact with the servers. Egress asks it before
	// each write. It may be nil.
	Live func() bool
	// Tell is called with what happens in the browser as it happens, from a
	// goroutine that Close waits for; it never waits long. It may be nil.
	Tell    func(protocol.Event)
	Setting protocol.Setting
	// Loaded is what is kept of the environment; its zero value is nothing.
	Loaded *checkpoints.Loaded
}

// Outcome is what an action came to.
type Outcome struct {
	Err *protocol.Error
	// Dispatched is of a success; empty means yes.
	Dispatched  protocol.Dispatched
	Verdict     protocol.Verdict
	Observation *protocol.Observation
	Extraction  *protocol.Extraction
	Screenshot  *protocol.Screenshot
	Data        json.RawMessage
	Steps       []protocol.StepResult
	Transition  *protocol.Transition
	Warnings    []protocol.Warning
}

// NotDispatched is what an action is answered with whose dispatch was refused.
func NotDispatched(err error) *protocol.Error {
	if refused := (*protocol.Error)(nil); errors.As(err, &refused) {
		return refused.WithDispatched(protocol.DispatchedNo)
	}
	return protocol.Errorf(protocol.CodeActionFailed, "not dispatched: %v", err).WithDispatched(protocol.DispatchedNo)
}
