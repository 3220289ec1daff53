package action

import (
	"context"

	"github.com/chromedp/cdproto/input"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// key is what Chromium needs to know of a key.
type key struct {
	name string
	code string
	vk   int64
	text string
}

// keys are those of protocol.Keys. Enter and Space come with their text, without
// which Chromium submits no form and presses no button.
var keys = map[string]key{
	"Enter":      {"Enter", "Enter", 13, "\r"},
	"Escape":     {"Escape", "Escape", 27, ""},
	"Tab":        {"Tab", "Tab", 9, ""},
	"Backspace":  {"Backspace", "Backspace", 8, ""},
	"Delete":     {"Delete", "Delete", 46, ""},
	"Space":      {" ", "Space", 32, " "},
	"ArrowUp":    {"ArrowUp", "ArrowUp", 38, ""},
	"ArrowDown":  {"ArrowDown", "ArrowDown", 40, ""},
	"ArrowLeft":  {"ArrowLeft", "ArrowLeft", 37, ""},
	"ArrowRight": {"ArrowRight", "ArrowRight", 39, ""},
	"Home":       {"Home", "Home", 36, ""},
	"End":        {"End", "End", 35, ""},
	"PageUp":     {"PageUp", "PageUp", 33, ""},
	"PageDown":   {"PageDown", "PageDown", 34, ""},
}

func (r *run) press(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.PressArgs)
	k, ok := keys[args.Key]
	if !ok {
		return protocol.Errorf(protocol.CodeInvalidArgument, "key %q is unknown", args.Key)
	}
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	mark, refused := r.readyForKey(acting, args.Target)
	if refused != nil {
		return refused
	}
	if err := r.pipeline(acting, r.view, keyCommands(k)...); err != nil {
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

func keyCommands(k key) []command {
	down := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Key: k.name, Code: k.code,
		WindowsVirtualKeyCode: k.vk, NativeVirtualKeyCode: k.vk,
	}
	up := down
	up.Type = input.DispatchKeyEventTypeKeyUp
	if k.text != "" {
		down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, k.text, k.text
	}
	return []command{{input.CommandDispatchKeyEvent, down}, {input.CommandDispatchKeyEvent, up}}
}
