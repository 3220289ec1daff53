package supervisor

import (
	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

type command struct {
	method string
	params any
}

// prepare sends the set-up of a page or iframe and lets it run.
func (p *Page) prepare(a *attached) ([]*cdp.Pending, error) {
	yes := true
	buffer := int64(1 << 20) // nobody reads bodies; Chromium would keep 100 MB of them
	commands := []command{
		{page.CommandEnable, nil},
		{runtime.CommandEnable, nil},
		{inspector.CommandEnable, nil},
		{log.CommandEnable, nil},
		{page.CommandSetLifecycleEventsEnabled, page.SetLifecycleEventsEnabledParams{Enabled: true}},
		{network.CommandEnable, network.EnableParams{MaxTotalBufferSize: &buffer, MaxResourceBufferSize: &buffer}},
		{target.CommandSetAutoAttach, autoAttach()},
		{page.CommandAddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: p.config.WorldScript, WorldName: p.config.WorldName, RunImmediately: &yes,
		}},
	}
	commands = append(commands, p.printCommands()...)
	commands = append(commands, command{page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true}})
	commands = append(commands, p.emulation.commands(a.kind, Emulation{})...)
	commands = append(commands, command{runtime.CommandRunIfWaitingForDebugger, nil})
	acks := make([]*cdp.Pending, 0, len(commands))
	for _, c := range commands {
		ack, err := a.session.Send(c.method, c.params)
		if err != nil {
			return acks, err
		}
		acks = append(acks, ack)
	}
	return acks, nil
}
