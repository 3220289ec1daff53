package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/protocol"
)

// tabFlag names the tab that an action is for.
type tabFlag struct {
	Tab string `help:"Tab to act on, as observe lists it (default: the one that is shown)." placeholder:"t1"`
}

func (t *tabFlag) options() []client.Option {
	if t.Tab == "" {
		return nil
	}
	return []client.Option{client.WithTab(protocol.PageID(t.Tab))}
}

type dialogCmd struct {
	agentFlags
	observeFlags
	format
	Action string  `arg:"" enum:"accept,dismiss" help:"accept or dismiss."`
	Dialog string  `arg:"" help:"Id of the dialog, such as d-1-1."`
	Text   *string `help:"What an accepted prompt returns (default: the page's own)." placeholder:"TEXT"`
}

// Run answers a dialog. It needs no turn in the queue: the action that opened the
// dialog may wait for it.
func (c *dialogCmd) Run(a *app) error {
	return c.act(a, c.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
		return s.do(ctx, protocol.KindDialog, &protocol.DialogArgs{
			DialogID: protocol.DialogID(c.Dialog), Action: protocol.DialogAction(c.Action), PromptText: c.Text,
		}, client.WithObserve(c.observeFlags.options()))
	})
}

type tabsCmd struct {
	agentFlags
	observeFlags
	format
	Action string `arg:"" optional:"" enum:"list,new,select,close" default:"list" help:"list, new, select or close."`
	What   string `arg:"" optional:"" help:"URL of the new tab, or the tab, such as t2; close without it closes the one that is shown."`
}

// Run lists or changes the tabs.
func (c *tabsCmd) Run(a *app) error {
	args, opts := &protocol.TabsArgs{Action: c.Action}, []client.Option{client.WithObserve(c.observeFlags.options())}
	switch {
	case c.Action == protocol.TabsNew:
		if c.What != "" {
			if err := absolute(c.What); err != nil {
				return err
			}
		}
		args.URL = c.What
	case c.Action == protocol.TabsList && c.What != "":
		return usageError(errors.New("tabs list: it takes nothing more"))
	case c.Action == protocol.TabsSelect && c.What == "":
		return usageError(errors.New("tabs select: which tab? `browserfleet tabs` lists them"))
	case c.What != "":
		opts = append(opts, client.WithTab(protocol.PageID(c.What)))
	}
	return c.act(a, c.json(), func(ctx context.Context, s *session) (*protocol.Result, error) {
		s.tabs = true
		return s.do(ctx, protocol.KindTabs, args, opts...)
	})
}

type emulateCmd struct {
	verb
	Reset        bool   `help:"Go back to what the environment started with, before the other flags."`
	Viewport     string `help:"Size of the page in CSS pixels, and device pixels for one." placeholder:"WxH[@SCALE]"`
	Mobile       bool   `help:"A phone's viewport (with --viewport)."`
	Locale       string `help:"Language." placeholder:"de-DE"`
	Timezone     string `help:"Time zone." placeholder:"Europe/Berlin"`
	UserAgent    string `help:"What the browser says that it is." placeholder:"TEXT"`
	ColorScheme  string `help:"light or dark." placeholder:"SCHEME"`
	Offline      bool   `help:"No network."`
	LatencyMS    int64  `name:"latency-ms" help:"Delay of every answer." placeholder:"N"`
	DownloadKbps int64  `help:"Limit of what comes in." placeholder:"N"`
	UploadKbps   int64  `help:"Limit of what goes out." placeholder:"N"`
}

// Run changes what the browser pretends to be.
func (c *emulateCmd) Run(a *app) error {
	viewport, err := viewportOf(c.Viewport)
	if err != nil {
		return err
	}
	args := &protocol.EmulateArgs{Reset: c.Reset, Locale: c.Locale, Timezone: c.Timezone, UserAgent: c.UserAgent, ColorScheme: c.ColorScheme}
	if v := viewport; v != nil {
		args.Viewport = &protocol.EmulatedViewport{Width: v.Width, Height: v.Height, Scale: v.Scale, Mobile: c.Mobile}
	} else if c.Mobile {
		return usageError(errors.New("--mobile: want --viewport with it"))
	}
	network := protocol.EmulatedNetwork{Offline: c.Offline, LatencyMS: c.LatencyMS, DownloadKbps: c.DownloadKbps, UploadKbps: c.UploadKbps}
	if network != (protocol.EmulatedNetwork{}) {
		args.Network = &network
	}
	return c.run(a, protocol.KindEmulate, func(*session) protocol.Args { return args })
}

type cdpCmd struct {
	verb
	Method string `arg:"" help:"Domain.method, such as Page.getLayoutMetrics."`
	Params string `arg:"" optional:"" help:"Its parameters, a JSON object."`
	Frame  string `help:"Id of a frame of the newest observation (default: the page)." placeholder:"ID"`
}

// Run calls a method of the Chrome DevTools Protocol.
func (c *cdpCmd) Run(a *app) error {
	if c.Params != "" && !json.Valid([]byte(c.Params)) {
		return usageError(errors.New("params: not JSON"))
	}
	return c.run(a, protocol.KindCDP, func(*session) protocol.Args {
		return &protocol.CDPArgs{Method: c.Method, Params: json.RawMessage(c.Params), FrameID: protocol.FrameID(c.Frame)}
	})
}
