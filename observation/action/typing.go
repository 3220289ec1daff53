package action

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

type typedArgs struct {
	nodeArgs
	Text string `json:"text"`
}

// typed is what became of a text.
type typed struct {
	refusal
	Kept      bool   `json:"kept"`
	Shortened bool   `json:"shortened"`
	Value     string `json:"value"`
}

// typeText types key by key: each is answered before the next one is sent, so that
// none goes to what a key has opened or led to.
func (r *run) typeText(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.TypeArgs)
	text := []rune(args.Text)
	delay := time.Duration(args.DelayMS) * time.Millisecond
	acting, cancel := limit(ctx, actionLimit+time.Duration(len(text))*delay)
	defer cancel()
	node, mark, refused := r.readyToType(acting, args.Target)
	if refused != nil {
		return refused
	}
	sent, err := r.typeKeys(acting, text, delay)
	if err != nil {
		return r.fail(acting, "type", err)
	}
	if failed := r.whole(acting, node, text, sent); failed != nil {
		if refused := r.settle(ctx, mark); refused != nil {
			return refused
		}
		return failed.WithDispatched(protocol.DispatchedYes)
	}
	return r.settle(ctx, mark)
}

// readyToType gives the named element the keys, or finds out what has them.
func (r *run) readyToType(ctx context.Context, target protocol.Target) (nodeArgs, int, *protocol.Error) {
	if target.ElementRef == "" {
		var f struct {
			refusal
			nodeArgs
			Mark int `json:"mark"`
		}
		if err := observation.Read(ctx, r.page, "focusedElement", struct{}{}, &f); err != nil {
			return nodeArgs{}, 0, r.fail(ctx, "look for the focus", err)
		}
		if refused := f.err(); refused != nil {
			return nodeArgs{}, 0, refused
		}
		return f.nodeArgs, f.Mark, r.begin()
	}
	t, p, refused := r.prepare(ctx, target, prepareArgs{Kind: forType})
	if refused != nil {
		return nodeArgs{}, 0, refused
	}
	if refused := r.begin(); refused != nil {
		return nodeArgs{}, 0, refused
	}
	var f refusal
	if err := observation.Invoke(ctx, r.view, "focusTyping", nodeOf(t), &f); err != nil {
		return nodeArgs{}, 0, r.fail(ctx, "focus", err)
	}
	if refused := named(t, f); refused != nil {
		return nodeArgs{}, 0, refused.WithDispatched(protocol.DispatchedYes)
	}
	return nodeOf(t), p.Mark, nil
}

// typeKeys says how many it has sent when the page went on or opened a dialog.
func (r *run) typeKeys(ctx context.Context, text []rune, delay time.Duration) (int, error) {
	for i, char := range text {
		if i > 0 && delay > 0 {
			pause := time.NewTimer(delay)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return i, context.Cause(ctx)
			}
		}
		if err := r.pipeline(ctx, r.view, typedCommands(char)...); err != nil {
			return i, err
		}
		s := r.page.State()
		if r.isAsked(s) || r.isNavigating() || r.frameLeft(s) {
			return i + 1, nil
		}
	}
	return len(text), nil
}

// whole says what is wrong with a text that was not typed to its end, or that its field
// has not taken. A page that went on with the last key is left to the observation.
func (r *run) whole(ctx context.Context, node nodeArgs, text []rune, sent int) *protocol.Error {
	if sent < len(text) {
		return protocol.Errorf(protocol.CodeActionFailed, "the page went on, or asked something, after %d of %d characters; the others were not typed", sent, len(text))
	}
	s := r.page.State()
	if r.isAsked(s) || r.isNavigating() || r.frameLeft(s) {
		return nil
	}
	var read typed
	err := observation.Invoke(ctx, r.view, "readTyped", typedArgs{node, string(text)}, &read)
	switch {
	case err != nil && r.wentOn(err), err == nil && read.Refused != "":
		return nil
	case err != nil:
		return r.fail(ctx, "read the text back", err)
	}
	r.did.Value = read.Value
	switch {
	case read.Shortened:
		return protocol.Errorf(protocol.CodeBadValue, "the field took only a part of the %d characters", len(text))
	case read.Kept && text[len(text)-1] != '\n': // what Enter sends off is cleared
		return protocol.Errorf(protocol.CodeNoEffect, "the field kept its former value")
	}
	return nil
}
