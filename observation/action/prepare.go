package action

import (
	"context"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// What the page's script checks for.
const (
	forClick  = "click"
	forHover  = "hover"
	forDrag   = "drag"
	forDrop   = "drop"
	forFill   = "fill"
	forSecret = "secret"
	forType   = "type"
	forSelect = "select"
	forCheck  = "check"
	forPress  = "press"
	forScroll = "scroll"
	forFrame  = "frame"
)

type prepareArgs struct {
	Doc      string   `json:"doc"`
	ID       int64    `json:"id"`
	Print    string   `json:"print"`
	Kind     string   `json:"kind"`
	Patience int64    `json:"patience"`
	Deadline int64    `json:"deadline"`
	Values   []string `json:"values,omitempty"`
	Value    string   `json:"value,omitempty"`
	Checked  bool     `json:"checked"`
	// X and Y are a point of a frame's viewport.
	X float64 `json:"x,omitempty"`
	Y float64 `json:"y,omitempty"`
	// Offset is a place in the element's box; nil is wherever it can be hit.
	Offset *protocol.Point `json:"offset,omitempty"`
	// Guard keeps from the page what lands elsewhere, until disarm.
	Guard bool `json:"guard,omitempty"`
}

// guarded: what presses at a point, see the guard of the page's script.
func (a prepareArgs) guarded() bool {
	return a.Kind == forClick || a.Kind == forCheck || a.Kind == forDrag
}

// aimed: what needs a point of the page.
func (a prepareArgs) aimed() bool { return a.guarded() || a.Kind == forHover || a.Kind == forDrop }

// prepared is what the checks found.
type prepared struct {
	refusal
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Writing string  `json:"writing"`
	// Scrolled: something was scrolled to bring it into view.
	Scrolled bool `json:"scrolled"`
	// Done: the element is as wanted already.
	Done bool `json:"done"`
	// Mark is the count of changes before the action.
	Mark int `json:"mark"`
}

// nodeArgs name an element in later calls of one action.
type nodeArgs struct {
	Doc string `json:"doc"`
	ID  int64  `json:"id"`
}

func nodeOf(t observation.Target) nodeArgs { return nodeArgs{Doc: t.Doc(), ID: t.NodeID()} }

// prepare resolves a ref and checks the element in one round trip: connected,
// unchanged since it was shown, in view, at rest, enabled, hit.
func (r *run) prepare(ctx context.Context, target protocol.Target, args prepareArgs) (observation.Target, prepared, *protocol.Error) {
	var p prepared
	t, refused := r.observer.Resolve(target.ElementRef, target.ObservationID)
	if refused != nil {
		return t, p, refused
	}
	args.Doc, args.ID = t.Doc(), t.NodeID()
	if !(args.Kind == forDrop && r.sent) { // a place to drop on may say that it is one
		args.Print = t.Print
	}
	args.Patience, args.Deadline = patience.Milliseconds(), restLimit.Milliseconds()
	r.frame, r.view, r.around = t.Frame, observation.Within(r.page, t.Frame), nil
	r.first, args.Guard = nil, args.guarded()
	if err := observation.Read(ctx, r.view, "prepare", args, &p); err != nil {
		return t, p, r.fail(ctx, "check "+string(t.Ref), err)
	}
	refused = named(t, p.refusal)
	r.armed = args.Guard && refused == nil && !p.Done
	if refused != nil || p.Done || t.Frame == "" {
		return t, p, refused
	}
	if args.aimed() {
		refused := r.reach(ctx, t, args, &p)
		if refused != nil {
			r.disarm()
		}
		return t, p, refused
	}
	return t, p, r.watchAround(ctx)
}

// named puts the ref before what is wrong with it.
func named(t observation.Target, f refusal) *protocol.Error {
	e := f.err()
	if e != nil {
		e.Message = string(t.Ref) + ": " + e.Message
	}
	return e
}
