package action

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/input"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

type focusArgs struct {
	nodeArgs
	Empty  bool `json:"empty"`
	Secret bool `json:"secret"`
}

type valueArgs struct {
	nodeArgs
	Value  string `json:"value"`
	Secret bool   `json:"secret"`
}

// filled is what became of a fill.
type filled struct {
	refusal
	Equal     bool   `json:"equal"`
	Kept      bool   `json:"kept"`
	Shortened bool   `json:"shortened"`
	Empty     bool   `json:"empty"`
	Value     string `json:"value"`
}

func (r *run) fill(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.FillArgs)
	return r.fillField(ctx, args.Target, args.Value, prepareArgs{Kind: forFill, Value: args.Value})
}

func (r *run) fillCredential(ctx context.Context, act protocol.Action) *protocol.Error {
	if r.secret == "" {
		return protocol.Errorf(protocol.CodeCredentialUnavailable, "")
	}
	args := act.Args.(*protocol.FillCredentialArgs)
	return r.fillField(ctx, args.Target, r.secret, prepareArgs{Kind: forSecret})
}

// fillField replaces what is in a field. The text is inserted only after the page has
// confirmed that the field has the focus: in one pipeline with the focus it
// would go to whatever a page's handler moved the focus to.
func (r *run) fillField(ctx context.Context, target protocol.Target, value string, args prepareArgs) *protocol.Error {
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	t, p, refused := r.prepare(acting, target, args)
	if refused != nil {
		return refused
	}
	if refused := r.begin(); refused != nil {
		return refused
	}
	secret := args.Kind == forSecret
	read, failed := r.write(acting, t, p.Writing, value, secret)
	if failed != nil {
		return failed
	}
	if read != nil {
		if refused := r.judge(t, read, value, secret); refused != nil {
			return refused
		}
		r.did.Value = read.Value
	}
	return r.settle(ctx, p.Mark)
}

// write does it and reads it back; nil when the page went away meanwhile.
func (r *run) write(ctx context.Context, t observation.Target, writing, value string, secret bool) (*filled, *protocol.Error) {
	node := nodeOf(t)
	var first refusal
	var err error
	if writing == "native" {
		err = observation.Invoke(ctx, r.view, "setField", valueArgs{nodeArgs: node, Value: value}, &first)
	} else {
		err = observation.Invoke(ctx, r.view, "focusField", focusArgs{nodeArgs: node, Empty: value == "", Secret: secret}, &first)
	}
	if err == nil {
		if refused := named(t, first); refused != nil {
			return nil, refused.WithDispatched(protocol.DispatchedYes)
		}
		if writing != "native" && value != "" {
			err = r.pipeline(ctx, r.view, command{input.CommandInsertText, input.InsertTextParams{Text: value}})
		}
	}
	if err == nil && !r.isNavigating() && !r.frameLeft(r.page.State()) {
		var read filled
		if err = observation.Invoke(ctx, r.view, "readField", valueArgs{nodeArgs: node, Value: value, Secret: secret}, &read); err == nil {
			return &read, nil
		}
	}
	if err == nil || r.wentOn(err) {
		return nil, nil
	}
	return nil, r.fail(ctx, "fill", err)
}

// judge says whether the field took the value. Another value that is neither the
// old one nor a part of the wanted one is a mask at work: that is fine, and told.
func (r *run) judge(t observation.Target, read *filled, value string, secret bool) *protocol.Error {
	if refused := read.err(); refused != nil {
		if refused.Code == protocol.CodeStaleRef {
			return nil // the page replaced the field: the settled page tells
		}
		return refused.WithDispatched(protocol.DispatchedYes)
	}
	var e *protocol.Error
	switch {
	case read.Equal:
		return nil
	case read.Kept:
		e = protocol.Errorf(protocol.CodeNoEffect, "%s kept its former value", t.Ref)
	case read.Shortened:
		e = protocol.Errorf(protocol.CodeBadValue, "%s took only a part of the %d characters", t.Ref, len([]rune(value)))
	case secret:
		e = protocol.Errorf(protocol.CodeBadValue, "%s holds something else than the credential", t.Ref)
	case read.Empty && value != "":
		e = protocol.Errorf(protocol.CodeBadValue, "%s is empty after the fill", t.Ref)
	default:
		return nil
	}
	return e.WithDispatched(protocol.DispatchedYes)
}

// wentOn: the page navigated or opened a dialog, which is an outcome, no failure.
func (r *run) wentOn(err error) bool {
	s := r.page.State()
	if s.Gone || s.Crashed {
		return false
	}
	return s.Dialog != nil || s.Commits != r.before.Commits || observation.WentAway(err)
}

// String keeps the value out of logs.
func (a valueArgs) String() string { return fmt.Sprintf("value of %d", a.ID) }
