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
	check := prepareArgs{Kind: forClick}
	t, p, refused := r.prepare(acting, args.Target, check)
	if refused != nil {
		return refused
	}
	if refused := r.begin(); refused != nil {
		r.disarm()
		return refused
	}
	if failed := r.clickIn(acting, t, check, &p); failed != nil {
		return failed
	}
	return r.settle(ctx, p.Mark)
}
