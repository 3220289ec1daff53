package environment

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// event stores the transition for whoever listens. A failure is a warning: it
// never changes a result.
func (e *Environment) event(res *protocol.Result) {
	ev := protocol.Event{
		V: protocol.Version, Tenant: res.Tenant, Owner: res.Owner, Type: protocol.EventAction, At: res.FinishedAt,
		Generation: res.Generation, Request: res.Request, Kind: res.Kind, Status: res.Status,
		Verdict: res.Verdict, Transition: withoutPage(res.Transition),
	}
	if res.Error != nil {
		ev.Code = res.Error.Code
	}
	e.send(ev)
}

// tell stores an event that is no action's. Any goroutine may.
func (e *Environment) tell(g protocol.Generation, ev protocol.Event) {
	ev.V, ev.Tenant, ev.Owner, ev.Generation = protocol.Version, e.cfg.Key.Tenant, e.cfg.Key.Owner, g
	ev.At, ev.URL = protocol.At(time.Now()), bareURL(ev.URL)
	if ev.Dialog != nil {
		ev.Dialog = &bareDialogs([]protocol.Dialog{*ev.Dialog})[0]
	}
	e.send(ev)
}

func (e *Environment) send(ev protocol.Event) {
	data, err := json.Marshal(ev)
	if err == nil && len(data) > protocol.MaxEventBytes {
		ev.Transition = nil
		data, err = json.Marshal(ev)
	}
	if err == nil {
		// Without waiting for the acknowledgement: an event that is lost loses
		// no answer.
		err = e.cfg.Conn.Send(protocol.EventSubject(e.cfg.Shard, e.cfg.Key), data)
	}
	if err != nil {
		e.log.Warn("cannot store an event", "error", err)
	}
}

// withoutPage is a transition without what a page says: events are kept for a
// day, and others than the agent may read them. Console messages are left out,
// dialogs keep their type, URLs lose query and fragment, which hold tokens.
func withoutPage(t *protocol.Transition) *protocol.Transition {
	if t == nil {
		return nil
	}
	c := *t
	c.Console, c.ConsoleOmitted = nil, 0
	c.Before, c.After = bareEvidence(t.Before), bareEvidence(t.After)
	c.Popups, c.Downloads = bareURLs(t.Popups), bareURLs(t.Downloads)
	c.Dialogs, c.DialogsClosed = bareDialogs(t.Dialogs), bareDialogs(t.DialogsClosed)
	c.Prints = make([]protocol.PrintRequest, len(t.Prints))
	for i, p := range t.Prints {
		p.URL = bareURL(p.URL)
		c.Prints[i] = p
	}
	c.Prompts = make([]protocol.Prompt, len(t.Prompts))
	for i, p := range t.Prompts {
		p.URL, p.Detail = bareURL(p.URL), ""
		c.Prompts[i] = p
	}
	return &c
}

func bareDialogs(all []protocol.Dialog) []protocol.Dialog {
	bare := make([]protocol.Dialog, len(all))
	for i, d := range all {
		d.Message, d.DefaultPrompt, d.URL = "", "", bareURL(d.URL)
		bare[i] = d
	}
	return bare
}

func bareEvidence(p *protocol.PageEvidence) *protocol.PageEvidence {
	if p == nil {
		return nil
	}
	c := *p
	c.URL = bareURL(p.URL)
	return &c
}

func bareURLs(all []string) []string {
	bare := make([]string, len(all))
	for i, u := range all {
		bare[i] = bareURL(u)
	}
	return bare
}

// bareURL is a URL without user, query and fragment; of a data: or blob: URL, and
// of what is none, only the scheme stays.
func bareURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return ""
	}
	if u.Host == "" {
		return u.Scheme + ":"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
