package action

import (
	"context"

	"github.com/chromedp/cdproto/input"

	"github.com/browserfleet/browserfleet/protocol"
)

// click is two round trips: the checks, and the mouse events.
func (r *run) click(ctx context.Context, act protocol.Action) *protocol.Error {
	args := act.Args.(*protocol.ClickArgs)
	acting, cancel := limit(ctx, actionLimit)
	defer cancel()
	check := prepareArgs{Kind: forClick, Offset: args.Offset}
	t, p, refused := r.prepare(acting, args.Target, check)
	if refused != nil {
		return refused
	}
	if refused := r.begin(); refused != nil {
		r.disarm()
		return refused
	}
	if failed := r.clickIn(acting, t, check, &p, pressesOf(args)); failed != nil {
		return failed
	}
	return r.settle(ctx, p.Mark)
}

// presses are what is pressed, how often, and with which keys held.
type presses struct {
	button    input.MouseButton
	buttons   int64 // the bit of button among those that are down
	count     int
	modifiers int64
}

// leftOnce is a plain click.
var leftOnce = presses{button: input.MouseButtonLeft, buttons: 1, count: 1}

func pressesOf(args *protocol.ClickArgs) presses {
	p := leftOnce
	switch args.Button {
	case protocol.ButtonRight:
		p.button, p.buttons = input.MouseButtonRight, 2
	case protocol.ButtonMiddle:
		p.button, p.buttons = input.MouseButtonMiddle, 4
	}
	p.count, p.modifiers = max(1, args.Count), modifiersOf(args.Modifiers)
	return p
}

// modifiersOf are the bits of the keys that are held.
func modifiersOf(names []string) (all int64) {
	for _, name := range names {
		all |= held[name]
	}
	return all
}

// at is the pointer's way to a point, and the presses there.
func (p presses) at(x, y float64) []command {
	all := []command{moveTo(x, y, p.modifiers)}
	for n := 1; n <= p.count; n++ {
		pressed := input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Modifiers: p.modifiers,
			Button: p.button, Buttons: p.buttons, ClickCount: int64(n),
		}
		released := pressed
		released.Type, released.Buttons = input.DispatchMouseEventTypeMouseReleased, 0
		all = append(all, command{input.CommandDispatchMouseEvent, pressed}, command{input.CommandDispatchMouseEvent, released})
	}
	return all
}

func moveTo(x, y float64, modifiers int64) command {
	moved := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Modifiers: modifiers}
	return command{input.CommandDispatchMouseEvent, moved}
}
