package action

import (
	"context"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// What the page's script checks for.
const (
	forClick  = "click"
	forFill   = "fill"
	forSecret = "secret"
	forSelect = "select"
	forCheck  = "check"
	forPress  = "press"
	forScroll = "scroll"
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
}

// prepared is what the checks found.
type prepared struct {
	refusal
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Writing string  `json:"writing"`
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
	args.Doc, args.ID, args.Print = t.Doc(), t.NodeID(), t.Print
	args.Patience, args.Deadline = patience.Milliseconds(), restLimit.Milliseconds()
	if err := observation.Read(ctx, r.page, "prepare", args, &p); err != nil {
		return t, p, r.fail(ctx, "check "+string(t.Ref), err)
	}
	return t, p, named(t, p.refusal)
}

// named puts the ref before what is wrong with it.
func named(t observation.Target, f refusal) *protocol.Error {
	e := f.err()
	if e != nil {
		e.Message = string(t.Ref) + ": " + e.Message
	}
	return e
}
