package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/browserfleet/browserfleet/protocol"
)

// The usual kinds, with their usual arguments. Everything else goes through Do.

func at(ref protocol.Ref) protocol.Target { return protocol.Target{ElementRef: ref} }

// Open navigates to a URL.
func (o *Owner) Open(ctx context.Context, url string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindOpen, &protocol.OpenArgs{URL: url}, opts...)
}

// Observe looks at the page.
func (o *Owner) Observe(ctx context.Context, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindObserve, &protocol.ObserveArgs{}, opts...)
}

// ObservePart looks at a part of the page, or searches it.
func (o *Owner) ObservePart(ctx context.Context, args protocol.ObserveArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindObserve, &args, opts...)
}

// ObserveNext shows the next slice of the newest observation, as the page was then.
func (o *Owner) ObserveNext(ctx context.Context, next protocol.Continuation, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindObserveNext, &protocol.ObserveNextArgs{Continuation: next}, opts...)
}

// Click clicks an element.
func (o *Owner) Click(ctx context.Context, ref protocol.Ref, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindClick, &protocol.ClickArgs{Target: at(ref)}, opts...)
}

// ClickWith clicks with another button, several times, with keys held or at a place in
// the element's box.
func (o *Owner) ClickWith(ctx context.Context, args protocol.ClickArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindClick, &args, opts...)
}

// Hover moves the pointer over an element.
func (o *Owner) Hover(ctx context.Context, ref protocol.Ref, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindHover, &protocol.HoverArgs{Target: at(ref)}, opts...)
}

// Drag drags an element to another one.
func (o *Owner) Drag(ctx context.Context, ref, to protocol.Ref, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindDrag, &protocol.DragArgs{Target: at(ref), ToRef: to}, opts...)
}

// Fill replaces the value of a text field. Not for secrets.
func (o *Owner) Fill(ctx context.Context, ref protocol.Ref, value string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindFill, &protocol.FillArgs{Target: at(ref), Value: value}, opts...)
}

// FillCredential fills a secret that the fleet knows by this name.
func (o *Owner) FillCredential(ctx context.Context, ref protocol.Ref, name string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindFillCredential, &protocol.FillCredentialArgs{Target: at(ref), CredentialRef: name}, opts...)
}

// Type types a text key by key, at an element or where the focus is (ref empty). Not for
// secrets.
func (o *Owner) Type(ctx context.Context, ref protocol.Ref, text string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindType, &protocol.TypeArgs{Target: at(ref), Text: text}, opts...)
}

// Press presses a key or a chord (Control+A) at an element, or where the focus is (ref empty).
func (o *Owner) Press(ctx context.Context, ref protocol.Ref, key string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindPress, &protocol.PressArgs{Target: at(ref), Key: key}, opts...)
}

// Select chooses options by value or label.
func (o *Owner) Select(ctx context.Context, ref protocol.Ref, values []string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindSelect, &protocol.SelectArgs{Target: at(ref), Values: values}, opts...)
}

// Check sets a checkbox, radio or switch.
func (o *Owner) Check(ctx context.Context, ref protocol.Ref, checked bool, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindCheck, &protocol.CheckArgs{Target: at(ref), Checked: &checked}, opts...)
}

// Step makes a step of a batch.
func Step(kind protocol.Kind, args protocol.Args) (protocol.BatchStep, error) {
	step := protocol.BatchStep{Kind: kind}
	if args == nil {
		return step, nil
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return step, fmt.Errorf("args of %s: %w", kind, err)
	}
	step.Args = raw
	return step, nil
}

// Batch performs steps one after the other, as one effect; the first that fails ends it.
func (o *Owner) Batch(ctx context.Context, steps []protocol.BatchStep, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindBatch, &protocol.BatchArgs{Steps: steps}, opts...)
}

// Back goes back in the history.
func (o *Owner) Back(ctx context.Context, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindBack, nil, opts...)
}

// Forward goes forward in the history.
func (o *Owner) Forward(ctx context.Context, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindForward, nil, opts...)
}

// Reload loads the page again.
func (o *Owner) Reload(ctx context.Context, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindReload, nil, opts...)
}

// Screenshot takes a picture.
func (o *Owner) Screenshot(ctx context.Context, args protocol.ScreenshotArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindScreenshot, &args, opts...)
}

// ExtractTable reads a table's rows.
func (o *Owner) ExtractTable(ctx context.Context, args protocol.ExtractArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindExtractTable, &args, opts...)
}

// ExtractList reads a list's items.
func (o *Owner) ExtractList(ctx context.Context, args protocol.ExtractArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindExtractList, &args, opts...)
}

// ExtractArticle reads the text that the page is about.
func (o *Owner) ExtractArticle(ctx context.Context, args protocol.ExtractArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindExtractArticle, &args, opts...)
}

// ExtractLinks reads the links.
func (o *Owner) ExtractLinks(ctx context.Context, args protocol.ExtractArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindExtractLinks, &args, opts...)
}

// Ping asks the environment whether it is there, past its queue.
func (o *Owner) Ping(ctx context.Context, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindPing, nil, opts...)
}

// Cancel asks that a request not run, or stop.
func (o *Owner) Cancel(ctx context.Context, id protocol.RequestID, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindCancel, &protocol.CancelArgs{Request: id}, opts...)
}

// Interrupt stops the request that runs now, if it is the named one.
func (o *Owner) Interrupt(ctx context.Context, id protocol.RequestID, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindInterrupt, &protocol.InterruptArgs{Request: id}, opts...)
}
