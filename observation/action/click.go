package action

import (
	"context"

	"github.com/browserfleet/browserfleet/protocol"
)

// click is two round trips: the checks, and the three mouse events.
func (r *run) click(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.ClickArgs)
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	_, p, refused := r.prepare(acting, args.Target, prepareArgs{Kind: forClick})
	if refused != nil {
		return refused
	}
	if refused := r.begin(); refused != nil {
		return refused
	}
	if err := r.pipeline(acting, clickAt(p.X, p.Y)...); err != nil {
		return r.fail(acting, "click", err)
	}
	return r.settle(ctx, p.Mark)
}
