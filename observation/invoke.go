package observation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserfleet/browserfleet/observation/pagejs"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// maxReply bounds what one call of the page's script may answer, in bytes. By
// value, a string costs the page's main thread about 0.1 ms per KB.
const maxReply = 4 << 20

// maxReplaced is how often a read follows a document that is replaced under it.
const maxReplaced = 8

var errNotInstalled = errors.New("the page's script is not installed")

// Read calls a function of the page's script that has no effect. When the
// document is replaced meanwhile, it asks the new one, as long as ctx allows.
func Read(ctx context.Context, page Page, function string, args, result any) error {
	for try := 0; ; try++ {
		err := Invoke(ctx, page, function, args, result)
		if !errors.Is(err, ErrContextGone) || try >= maxReplaced {
			return err
		}
		old := page.State().World
		if _, err := Until(ctx, page, func(s State) bool { return s.World != old && s.World.Unique != "" }); err != nil {
			return err
		}
	}
}

// Invoke calls a function of the page's script once and decodes its answer.
func Invoke(ctx context.Context, page Page, function string, args, result any) error {
	s, err := awaitWorld(ctx, page)
	if err != nil {
		return err
	}
	if err := s.blocked(); err != nil {
		return err
	}
	pending, err := SendInvoke(page, s.World, function, args)
	if err != nil {
		return err
	}
	err = AwaitInvoke(ctx, page, pending, result)
	if !errors.Is(err, errNotInstalled) {
		return err
	}
	if err := install(ctx, page, s.World); err != nil {
		return err
	}
	if pending, err = SendInvoke(page, s.World, function, args); err != nil {
		return err
	}
	return AwaitInvoke(ctx, page, pending, result)
}

// SendInvoke queues a call without waiting, for pipelining.
func SendInvoke(page Page, world World, function string, args any) (*cdp.Pending, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", function, err)
	}
	yes := true
	params := runtime.CallFunctionOnParams{
		FunctionDeclaration: pagejs.Caller,
		UniqueContextID:     world.Unique,
		Arguments:           []*runtime.CallArgument{{Value: jsonv2.Value(`"` + function + `"`)}, {Value: jsonv2.Value(raw)}},
		ReturnByValue:       &yes,
		AwaitPromise:        &yes,
	}
	pending, err := page.SendTo(world.Session, runtime.CommandCallFunctionOn, params)
	return pending, translate(page, err)
}

// AwaitInvoke takes the answer of SendInvoke.
func AwaitInvoke(ctx context.Context, page Page, pending *cdp.Pending, result any) error {
	var reply runtime.CallFunctionOnResult
	if err := Await(ctx, page, pending, &reply); err != nil {
		return replaced(page, err)
	}
	if reply.ExceptionDetails != nil {
		return fmt.Errorf("page script: %s", describeException(reply.ExceptionDetails))
	}
	if reply.Result == nil || len(reply.Result.Value) > maxReply {
		return fmt.Errorf("page script: answer missing or over %d bytes", maxReply)
	}
	var text string
	if err := json.Unmarshal(reply.Result.Value, &text); err != nil {
		return fmt.Errorf("page script: answer is no string: %w", err)
	}
	if text == "" {
		return errNotInstalled
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(text), result); err != nil {
		return fmt.Errorf("page script: answer: %w", err)
	}
	return nil
}

// Call is a call of the page's script on its way, so that several are at a time.
type Call struct {
	page     Page
	function string
	args     any
	pending  *cdp.Pending
}

// Begin sends at once where there is a world; what ends the call does the rest.
func Begin(page Page, function string, args any) Call {
	c := Call{page: page, function: function, args: args}
	if s := page.State(); s.World.Unique != "" && s.blocked() == nil {
		c.pending, _ = SendInvoke(page, s.World, function, args) // met again at the end
	}
	return c
}

// finish is Read of a call that was begun.
func (c *Call) finish(ctx context.Context, result any) error {
	err := c.Once(ctx, result)
	if !errors.Is(err, ErrContextGone) {
		return err
	}
	return Read(ctx, c.page, c.function, c.args, result)
}

// Once is Invoke of a call that was begun.
func (c *Call) Once(ctx context.Context, result any) error {
	if c.pending != nil {
		if err := AwaitInvoke(ctx, c.page, c.pending, result); !errors.Is(err, errNotInstalled) {
			return err
		}
	}
	return Invoke(ctx, c.page, c.function, c.args, result)
}

// Forget drops the call.
func (c *Call) Forget() {
	if c.pending != nil {
		c.pending.Forget()
	}
}

// install runs the script where the new-document script did not.
func install(ctx context.Context, page Page, world World) error {
	params := runtime.EvaluateParams{Expression: pagejs.Source(), UniqueContextID: world.Unique}
	pending, err := page.SendTo(world.Session, runtime.CommandEvaluate, params)
	if err != nil {
		return translate(page, err)
	}
	var reply runtime.EvaluateResult
	if err := Await(ctx, page, pending, &reply); err != nil {
		return replaced(page, err)
	}
	if reply.ExceptionDetails != nil {
		return fmt.Errorf("page script: install: %s", describeException(reply.ExceptionDetails))
	}
	return nil
}

// replaced recognises that the world went away. Chromium has one code for all of
// its server errors (-32000), so only the text tells.
func replaced(page Page, err error) error {
	var reply *cdp.Error
	if !errors.As(err, &reply) {
		return err
	}
	for _, text := range []string{
		"Cannot find context with specified id", "Execution context was destroyed",
		"Inspected target navigated or closed", "uniqueContextId not found", "Cannot find execution context",
		"Session with given id not found",
	} {
		if strings.Contains(reply.Message, text) {
			return fmt.Errorf("%w: %w", ErrContextGone, err)
		}
	}
	if lost := page.State().blocked(); lost != nil {
		return lost
	}
	return err
}

// describeException is a line for logs: our own script threw. Its text may quote
// the page, so it is bounded.
func describeException(d *runtime.ExceptionDetails) string {
	text := d.Text
	if d.Exception != nil && d.Exception.Description != "" {
		text = d.Exception.Description
	}
	return Cut(text, 400)
}
