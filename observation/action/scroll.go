package action

import (
	"context"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

type scrollArgs struct {
	nodeArgs
	To    string  `json:"to"`
	Pages float64 `json:"pages"`
}

// scroll moves what scrolls at the element, or in the middle of the page.
func (r *run) scroll(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.ScrollArgs)
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	move := scrollArgs{To: args.To, Pages: args.Pages}
	if move.Pages == 0 {
		move.Pages = 1
	}
	mark, refused := r.readyToScroll(acting, args.Target, &move)
	if refused != nil {
		return refused
	}
	if refused := r.begin(); refused != nil {
		return refused
	}
	var moved struct {
		refusal
		Moved bool `json:"moved"`
	}
	if err := observation.Invoke(acting, r.view, "scrollPage", move, &moved); err != nil && !r.wentOn(err) {
		return r.fail(acting, "scroll", err)
	}
	if refused := moved.err(); refused != nil {
		return refused
	}
	failed := r.settle(ctx, mark)
	if failed == nil && moved.Moved && r.did.Verdict == protocol.VerdictNoneYet {
		r.did.Verdict = protocol.VerdictDOMChanged
	}
	return failed
}

func (r *run) readyToScroll(ctx context.Context, target protocol.Target, move *scrollArgs) (int, *protocol.Error) {
	if target.ElementRef == "" {
		return r.watch(ctx)
	}
	t, p, refused := r.prepare(ctx, target, prepareArgs{Kind: forScroll})
	move.nodeArgs = nodeOf(t)
	return p.Mark, refused
}
