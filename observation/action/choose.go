package action

import (
	"context"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

type chooseArgs struct {
	nodeArgs
	Values []string `json:"values"`
}

// choose selects options of a native select, through its own properties and
// with the events of a user: the list that a click opens is not of the page.
func (r *run) choose(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.SelectArgs)
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	t, p, refused := r.prepare(acting, args.Target, prepareArgs{Kind: forSelect, Values: args.Values})
	if refused != nil {
		return refused
	}
	if refused := r.begin(); refused != nil {
		return refused
	}
	var c struct {
		refusal
		Kept  bool   `json:"kept"`
		Value string `json:"value"`
	}
	err := observation.Invoke(acting, r.view, "choose", chooseArgs{nodeArgs: nodeOf(t), Values: args.Values}, &c)
	switch {
	case err != nil && !r.wentOn(err):
		return r.fail(acting, "select", err)
	case err == nil && c.Refused != "":
		return named(t, c.refusal).WithDispatched(protocol.DispatchedUnknown)
	case err == nil && !c.Kept:
		return protocol.Errorf(protocol.CodeNoEffect, "%s went back to another option", t.Ref).WithDispatched(protocol.DispatchedYes)
	}
	r.did.Value = c.Value
	return r.settle(ctx, p.Mark)
}
