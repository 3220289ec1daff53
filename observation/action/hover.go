package action

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// hover moves the pointer over an element and looks whether it came there: nothing
// keeps a page from moving away under it.
func (r *run) hover(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.HoverArgs)
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	check := prepareArgs{Kind: forHover, Offset: args.Offset}
	begun := time.Now()
	for try := 1; ; try++ {
		t, p, refused := r.prepare(acting, args.Target, check)
		if refused != nil {
			return refused
		}
		if refused := r.begin(); refused != nil {
			return refused
		}
		if err := r.pipeline(acting, r.page, moveTo(p.X, p.Y, 0)); err != nil {
			return r.fail(acting, "hover", err)
		}
		var h struct{ Gone, Hovered bool }
		err := observation.Invoke(acting, r.view, "isHovered", nodeOf(t), &h)
		switch {
		case err != nil && !r.wentOn(err):
			return r.fail(acting, "hover", err)
		case err != nil, h.Gone, h.Hovered:
			return r.settle(ctx, p.Mark)
		case enough(try, begun):
			return protocol.Errorf(protocol.CodeNoEffect, "the pointer was moved to %s and is not over it", t.Ref).WithDispatched(protocol.DispatchedYes)
		}
		if err := r.nextPicture(acting); err != nil {
			return r.fail(acting, "hover", err)
		}
	}
}

// nextPicture waits until two frames are drawn: the browser aims by the last one.
func (r *run) nextPicture(ctx context.Context) error {
	return observation.Read(ctx, r.page, "firstLook", lookArgs{}, nil)
}
