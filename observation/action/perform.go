package action

import (
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// Deadlines within the caller's own.
const (
	// actionLimit bounds an action on an element, up to its last input.
	actionLimit = 10 * time.Second
	// navigationLimit bounds what waits for a document.
	navigationLimit = 30 * time.Second
	// settleLimit bounds the wait for a page to come to rest.
	settleLimit = 5 * time.Second
	// loadSettleLimit bounds the same after DOMContentLoaded of a new document:
	// slow images and trackers are not worth more.
	loadSettleLimit = 1500 * time.Millisecond
	// quiet is how long nothing may change for a page to be at rest.
	quiet = 100 * time.Millisecond
	// patience is how long an obstacle (covered, disabled, hidden) may last.
	patience = 500 * time.Millisecond
	// restLimit is how long a moving target may take to come to rest.
	restLimit = 8 * time.Second
)

// Performed is what an action did.
type Performed struct {
	Verdict protocol.Verdict
	// Dispatched is no when there was nothing to do: a box that is checked
	// already, a wait.
	Dispatched protocol.Dispatched
	// Value is what a field holds after a fill or select; never of a secret.
	Value string
	// Prepare, Dispatch and Settle are how long the parts took.
	Prepare, Dispatch, Settle time.Duration
}

// run is one action on its way.
type run struct {
	page observation.Page
	// view is the page, or it as the target's frame has it.
	view  observation.Page
	frame protocol.FrameID
	// around are documents outside of the target's frame that are watched too.
	around   []watched
	observer *observation.Observer
	dispatch func() error
	// armed: the guard of the target's document is, and first is what it told
	// together with the first look at the page after a click.
	armed  bool
	first  *firstLook
	before observation.State
	sent   bool
	secret string
	ticks  int
	begun  time.Time
	last   time.Time
	did    Performed
}

type performer func(*run, context.Context, protocol.Action) *protocol.Error

var performers = map[protocol.Kind]performer{
	protocol.KindOpen:           (*run).open,
	protocol.KindClick:          (*run).click,
	protocol.KindHover:          (*run).hover,
	protocol.KindDrag:           (*run).drag,
	protocol.KindFill:           (*run).fill,
	protocol.KindFillCredential: (*run).fillCredential,
	protocol.KindPress:          (*run).press,
	protocol.KindType:           (*run).typeText,
	protocol.KindSelect:         (*run).choose,
	protocol.KindCheck:          (*run).check,
	protocol.KindScroll:         (*run).scroll,
	protocol.KindWait:           (*run).wait,
	protocol.KindBack:           (*run).back,
	protocol.KindForward:        (*run).forward,
	protocol.KindReload:         (*run).reload,
}

// Perform runs one action and waits for the page to settle. dispatch is called
// once, directly before the first command that can have an effect, and not at
// all when there is none; when it fails, nothing was sent. The error says
// truthfully whether the action was dispatched.
func Perform(ctx context.Context, page observation.Page, observer *observation.Observer, act protocol.Action, dispatch func() error) (Performed, *protocol.Error) {
	return perform(ctx, page, observer, act, "", dispatch)
}

// PerformCredential runs a fill_credential with the value that its name stands
// for. The value is in no error and in no Performed.
func PerformCredential(ctx context.Context, page observation.Page, observer *observation.Observer, act protocol.Action, secret string, dispatch func() error) (Performed, *protocol.Error) {
	return perform(ctx, page, observer, act, secret, dispatch)
}

func perform(ctx context.Context, page observation.Page, observer *observation.Observer, act protocol.Action, secret string, dispatch func() error) (Performed, *protocol.Error) {
	do, ok := performers[act.Kind]
	if !ok {
		return Performed{}, protocol.Errorf(protocol.CodeUnknownAction, "%s is no action on a page", act.Kind)
	}
	r := &run{
		page: page, view: page, observer: observer, dispatch: dispatch, secret: secret,
		before: page.State(), begun: time.Now(),
	}
	r.last = r.begun
	r.did.Dispatched = protocol.DispatchedNo
	if err := do(r, ctx, act); err != nil {
		if r.sent && err.Dispatched == protocol.DispatchedNo {
			err = err.WithDispatched(protocol.DispatchedUnknown)
		}
		r.did.Dispatched = err.Dispatched
		return r.did, err
	}
	if r.did.Verdict == "" {
		r.did.Verdict = protocol.VerdictNoneYet
	}
	return r.did, nil
}

// begin is the moment before the first effect. It returns what the caller of
// Perform wants answered when it refuses.
func (r *run) begin() *protocol.Error {
	if r.sent {
		return nil
	}
	r.did.Prepare = r.lap()
	if r.frameLeft(r.page.State()) {
		return r.fail(context.Background(), "begin", observation.ErrContextGone)
	}
	if err := r.dispatch(); err != nil {
		if refused := (*protocol.Error)(nil); errors.As(err, &refused) {
			return refused.WithDispatched(protocol.DispatchedNo)
		}
		return protocol.Errorf(protocol.CodeInternal, "not begun: %v", err).WithDispatched(protocol.DispatchedNo)
	}
	r.before = r.page.State() // the gate may have ended what was in the way
	r.sent = true
	return nil
}

// lap is the time since the last lap.
func (r *run) lap() time.Duration {
	now := time.Now()
	d := now.Sub(r.last)
	r.last = now
	return d
}

// limit bounds a part of an action below the caller's deadline.
func limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, errTooLong)
}
