package action

import (
	"context"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// maxReaches is how often the way to an element is looked at again because
// something had to be scrolled on it.
const maxReaches = 3

// watched is a document whose changes count for an action in a frame below it.
type watched struct {
	page observation.Page
	mark int
}

// reach follows a point of the target's frame outwards: in each document around it
// the frame is brought into view and hit at that point. In the end p has the point
// in the coordinates of the page.
func (r *run) reach(ctx context.Context, t observation.Target, args prepareArgs, p *prepared) *protocol.Error {
	for try := 1; ; try++ {
		x, y, scrolled, refused := r.outwards(ctx, t, p.X, p.Y, args.Guard)
		if refused != nil {
			return refused
		}
		if !scrolled || try == maxReaches {
			p.X, p.Y = x, y
			return nil
		}
		// What was scrolled may have moved or loaded something: look once more.
		*p = prepared{}
		if err := observation.Read(ctx, r.view, "prepare", args, p); err != nil {
			return r.fail(ctx, "check "+string(t.Ref), err)
		}
		if refused := named(t, p.refusal); refused != nil || p.Done {
			return refused
		}
	}
}

// outwards maps a point of the target's frame to the page.
func (r *run) outwards(ctx context.Context, t observation.Target, inX, inY float64, guarded bool) (x, y float64, scrolled bool, refused *protocol.Error) {
	holders, known := r.observer.Holders(t.Frame)
	if !known {
		return 0, 0, false, r.fail(ctx, "check "+string(t.Ref), observation.ErrFrameGone)
	}
	x, y = inX, inY
	r.around = nil
	for _, h := range holders {
		var p prepared
		view := observation.Within(r.page, h.Parent)
		args := prepareArgs{
			Doc: h.Doc, ID: h.ID, Kind: forFrame, X: x, Y: y, Guard: guarded,
			Patience: patience.Milliseconds(), Deadline: restLimit.Milliseconds(),
		}
		if err := observation.Read(ctx, view, "prepare", args, &p); err != nil {
			return 0, 0, false, r.fail(ctx, "check the frame of "+string(t.Ref), err)
		}
		if refused := named(t, p.refusal); refused != nil {
			return 0, 0, false, refused
		}
		x, y, scrolled = p.X, p.Y, scrolled || p.Scrolled
		r.around = append(r.around, watched{view, p.Mark})
	}
	return x, y, scrolled, nil
}

// watchAround begins to count the changes of the page that the target's frame is in.
func (r *run) watchAround(ctx context.Context) *protocol.Error {
	mark, refused := r.watch(ctx)
	if refused == nil {
		r.around = []watched{{r.page, mark}}
	}
	return refused
}

// looksAround asks the target's document and those around it at the same time. The
// tick is the page's. A frame that went away has changed.
func (r *run) looksAround(ctx context.Context, function string, args lookArgs, l *look) error {
	tick := args.Tick
	calls := make([]observation.Call, 0, 1+len(r.around))
	args.Tick = ""
	sum := look{Quiet: true}
	if r.frameLeft(r.page.State()) {
		sum.Changes++
	} else {
		calls = append(calls, observation.Begin(r.view, function, args))
	}
	for i, w := range r.around {
		args.Mark = w.mark
		if i == len(r.around)-1 {
			args.Tick = tick
		}
		calls = append(calls, observation.Begin(w.page, function, args))
	}
	for i := range calls {
		var one look
		err := calls[i].Once(ctx, &one)
		switch {
		case err == nil:
			sum.Changes += max(0, one.Changes) // fewer than the mark: another document
			sum.Quiet = sum.Quiet && one.Quiet
		case i < len(calls)-1 && observation.WentAway(err):
			sum.Changes++
		default:
			for _, c := range calls[i+1:] {
				c.Forget()
			}
			return err
		}
	}
	*l = sum
	return nil
}
