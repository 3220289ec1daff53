package client

import (
	"context"
	"encoding/json"

	"github.com/browserfleet/browserfleet/protocol"
)

// WithTab acts on another tab than the one that is shown, and shows it.
func WithTab(id protocol.PageID) Option { return func(r *protocol.Request) { r.Tab = id } }

// Dialog answers a dialog of the page, past the queue: the action that opened it
// may still run. text is what an accepted prompt returns; nil is the page's default.
func (o *Owner) Dialog(ctx context.Context, id protocol.DialogID, action protocol.DialogAction, text *string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindDialog, &protocol.DialogArgs{DialogID: id, Action: action, PromptText: text}, opts...)
}

// Tabs lists the tabs, in the observation of the result.
func (o *Owner) Tabs(ctx context.Context, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsList}, opts...)
}

// NewTab opens a tab, with a page if url is not empty, and shows it.
func (o *Owner) NewTab(ctx context.Context, url string, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsNew, URL: url}, opts...)
}

// SelectTab shows a tab.
func (o *Owner) SelectTab(ctx context.Context, id protocol.PageID, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsSelect}, append(opts, WithTab(id))...)
}

// CloseTab closes a tab; the one that is shown if id is empty.
func (o *Owner) CloseTab(ctx context.Context, id protocol.PageID, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindTabs, &protocol.TabsArgs{Action: protocol.TabsClose}, append(opts, WithTab(id))...)
}

// Emulate changes what the browser pretends to be.
func (o *Owner) Emulate(ctx context.Context, args protocol.EmulateArgs, opts ...Option) (*protocol.Result, error) {
	return o.Do(ctx, protocol.KindEmulate, &args, opts...)
}

// CDP calls a method of the Chrome DevTools Protocol, if the operator allows it.
// params is an object, or nil; the answer is in the result's Data.
func (o *Owner) CDP(ctx context.Context, method string, params any, opts ...Option) (*protocol.Result, error) {
	args := &protocol.CDPArgs{Method: method}
	if params != nil {
		data, err := json.Marshal(params)
		if err != nil {
			return nil, &NoResult{Err: protocol.Errorf(protocol.CodeInvalidArgument, "params: %v", err)}
		}
		args.Params = data
	}
	return o.Do(ctx, protocol.KindCDP, args, opts...)
}
