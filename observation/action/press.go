package action

import (
	"context"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

func (r *run) press(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.PressArgs)
	commands, ok := chordCommands(args.Key)
	if !ok {
		return protocol.Errorf(protocol.CodeInvalidArgument, "key %q is unknown", args.Key)
	}
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	mark, refused := r.readyForKey(acting, args.Target)
	if refused != nil {
		return refused
	}
	if err := r.pipeline(acting, r.view, commands...); err != nil {
		return r.fail(acting, "press", err)
	}
	return r.settle(ctx, mark)
}

// readyForKey focuses the element, if one is named, and begins.
func (r *run) readyForKey(ctx context.Context, target protocol.Target) (int, *protocol.Error) {
	if target.ElementRef == "" {
		mark, refused := r.watch(ctx)
		if refused != nil {
			return 0, refused
		}
		return mark, r.begin()
	}
	t, p, refused := r.prepare(ctx, target, prepareArgs{Kind: forPress})
	if refused != nil {
		return 0, refused
	}
	if refused := r.begin(); refused != nil {
		return 0, refused
	}
	var f struct {
		refusal
		Focused bool `json:"focused"`
	}
	if err := observation.Invoke(ctx, r.view, "focusElement", nodeOf(t), &f); err != nil {
		return 0, r.fail(ctx, "focus", err)
	}
	if refused := named(t, f.refusal); refused != nil {
		return 0, refused.WithDispatched(protocol.DispatchedYes)
	}
	if !f.Focused {
		e := protocol.Errorf(protocol.CodeNotEditable, "%s does not take the focus, so a key would go elsewhere", t.Ref)
		return 0, e.WithDispatched(protocol.DispatchedYes)
	}
	return p.Mark, nil
}

// watch begins to count changes where no element is prepared.
func (r *run) watch(ctx context.Context) (int, *protocol.Error) {
	var w struct {
		Mark int `json:"mark"`
	}
	if err := observation.Read(ctx, r.page, "watch", struct{}{}, &w); err != nil {
		return 0, r.fail(ctx, "look at the page", err)
	}
	return w.Mark, nil
}
