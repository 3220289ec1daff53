package action

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// Steps of the pointer on its way, in parts of it: pages begin a drag after the first
// few pixels, and look where it is when the pointer comes to rest.
var dragSteps = []float64{0.02, 0.05, 0.2, 0.4, 0.6, 0.8, 0.97, 1, 1}

// point is a place of the page's viewport.
type point struct{ x, y float64 }

// drag takes an element, moves and lets go. Chromium makes of that what the page wants:
// pointer events, or a drag of its own with its events and data.
func (r *run) drag(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.DragArgs)
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	if refused := r.destination(args); refused != nil {
		return refused
	}
	drop := prepareArgs{Kind: forDrop, Offset: args.ToOffset}
	to := protocol.Target{ElementRef: args.ToRef, ObservationID: args.ObservationID}
	if args.By == nil { // before anything is done
		if _, _, refused := r.prepare(acting, to, drop); refused != nil {
			return refused
		}
	}
	from, mark, refused := r.take(acting, args)
	if refused != nil {
		return refused
	}
	end := from
	if args.By != nil {
		end.x, end.y = from.x+args.By.X, from.y+args.By.Y
	} else {
		_, p, refused := r.prepare(acting, to, drop)
		if refused != nil {
			r.letGo(ctx, from)
			return refused.WithDispatched(protocol.DispatchedYes)
		}
		end = point{p.X, p.Y}
	}
	if failed := r.carry(acting, from, end); failed != nil {
		r.letGo(ctx, from)
		return failed
	}
	failed := r.dropped(acting)
	if settled := r.settle(ctx, mark); failed == nil {
		failed = settled
	}
	return failed
}

// destination: both ends are in one document.
func (r *run) destination(args *protocol.DragArgs) *protocol.Error {
	from, refused := r.observer.Resolve(args.ElementRef, args.ObservationID)
	if refused != nil || args.By != nil {
		return refused
	}
	to, refused := r.observer.Resolve(args.ToRef, args.ObservationID)
	if refused != nil {
		return refused
	}
	if from.Frame != to.Frame {
		return protocol.Errorf(protocol.CodeInvalidArgument, "%s and %s are in different frames; drag within one", from.Ref, to.Ref)
	}
	return nil
}

// take presses the button on the element. A press that came to something else was kept
// from the page, and is tried again.
func (r *run) take(ctx context.Context, args *protocol.DragArgs) (point, int, *protocol.Error) {
	begun := time.Now()
	for try := 1; ; try++ {
		t, p, refused := r.prepare(ctx, args.Target, prepareArgs{Kind: forDrag, Offset: args.Offset})
		if refused != nil {
			return point{}, 0, refused
		}
		if refused := r.begin(); refused != nil {
			r.disarm()
			return point{}, 0, refused
		}
		at := point{p.X, p.Y}
		all := leftOnce.at(at.x, at.y)
		err := r.pipeline(ctx, r.page, all[:2]...)
		var c came
		if err == nil {
			err = observation.Invoke(ctx, r.view, "watchDrag", struct{}{}, &c)
		}
		heard := c.Hits > 0 || !c.Armed || r.frame != "" && c.Missed == ""
		if err == nil && heard {
			r.disarm()
			return at, p.Mark, nil
		}
		r.letGo(ctx, at)
		r.disarm()
		switch {
		case err != nil:
			return at, 0, r.fail(ctx, "drag", err)
		case c.Missed == "":
			return at, 0, protocol.Errorf(protocol.CodeActionFailed, "%s: no press came to its document; something may have slid in front of it", t.Ref)
		case enough(try, begun):
			return at, 0, protocol.Errorf(protocol.CodeCovered, "%s: the press came to %s instead and was kept from the page", t.Ref, observation.Cut(c.Missed, maxMessage))
		}
		if err := r.nextPicture(ctx); err != nil {
			return at, 0, r.fail(ctx, "drag", err)
		}
	}
}

// carry moves step by step, each answered before the next one: Chromium would make one
// of those that come within a frame.
func (r *run) carry(ctx context.Context, from, to point) *protocol.Error {
	for _, part := range dragSteps {
		moved := input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMouseMoved, Button: input.MouseButtonLeft, Buttons: 1,
			X: from.x + (to.x-from.x)*part, Y: from.y + (to.y-from.y)*part,
		}
		if err := r.pipeline(ctx, r.page, command{input.CommandDispatchMouseEvent, moved}); err != nil {
			return r.fail(ctx, "drag", err)
		}
		if s := r.page.State(); r.isAsked(s) || r.isNavigating() {
			return protocol.Errorf(protocol.CodeActionFailed, "the page went on, or asked something, before the element was dropped").
				WithDispatched(protocol.DispatchedYes)
		}
	}
	if err := r.pipeline(ctx, r.page, release(to)); err != nil {
		return r.fail(ctx, "drop", err)
	}
	return nil
}

func release(at point) command {
	return command{input.CommandDispatchMouseEvent, input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMouseReleased, X: at.x, Y: at.y, Button: input.MouseButtonLeft, ClickCount: 1,
	}}
}

// letGo releases the button after what failed, without waiting: it must not stay down.
func (r *run) letGo(ctx context.Context, at point) {
	c := release(at)
	if pending, err := r.page.Send(c.method, c.params); err == nil && ctx.Err() == nil {
		pending.Forget()
	}
}

// dropped waits for the end of what the browser itself dragged, and says whether it was
// taken.
func (r *run) dropped(ctx context.Context) *protocol.Error {
	if s := r.page.State(); r.isAsked(s) || r.isNavigating() {
		return nil
	}
	var d struct{ Started, Ended, Taken bool }
	err := observation.Invoke(ctx, r.view, "dragged", struct{}{}, &d)
	switch {
	case err != nil && r.wentOn(err), err == nil && !d.Started:
		return nil
	case err != nil:
		return r.fail(ctx, "drop", err)
	case !d.Ended:
		return protocol.Errorf(protocol.CodeActionFailed, "the browser did not end the drag")
	case !d.Taken:
		return protocol.Errorf(protocol.CodeNoEffect, "nothing at the place of the drop takes what was dragged").WithDispatched(protocol.DispatchedYes)
	}
	return nil
}
