package supervisor

import (
	"context"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// Page is one tab of the environment. It implements cdproto's cdp.Session.
type Page struct {
	*tabs
	id      TabID
	opener  TabID
	wanted  string // the URL that a page opened it with
	target  target.ID
	session *cdp.Session

	// Everything below, and the dialogs and worlds behind it, is under tabs.mu.
	pageSession *attached
	frames      frameTree
	lifecycle   Lifecycle
	commits     uint64
	open        []*Dialog
	storm       dialogStorm
	leaving     leaving
	recent      []Dialog
	prints      []Print
	prompts     []Prompt
	popups      []Popup
	downloads   []Download
	console     consoleLog
	crashed     bool
	gone        bool
	watches     map[*Watch]struct{}
	snapshot    *Snapshot // nil when out of date
}

var _ protocol.Session = (*Page)(nil)

// ID is the tab's.
func (p *Page) ID() TabID { return p.id }

// Opener is the tab whose page opened this one, empty for our own.
func (p *Page) Opener() TabID { return p.opener }

// Call runs one command on the page session; see the package comment for what
// hangs while a dialog is open. After a crash it fails at once with
// cdp.ErrCrashed, except for what revives the page.
func (p *Page) Call(ctx context.Context, method string, params, result any) error {
	if err := p.usable(method); err != nil {
		return err
	}
	if !departs(method) {
		return p.session.Call(ctx, method, params, result)
	}
	pending, err := p.depart(method, params)
	if err != nil {
		return err
	}
	return pending.Wait(ctx, result)
}

// Send queues one command on the page session and never waits.
func (p *Page) Send(method string, params any) (*cdp.Pending, error) {
	if err := p.usable(method); err != nil {
		return nil, err
	}
	if departs(method) {
		return p.depart(method, params)
	}
	return p.session.Send(method, params)
}

// SendTo queues one command on a frame's session, see Frame.Session. What stops
// the page (an orphaned dialog, its loss) stops its frames.
func (p *Page) SendTo(id cdp.SessionID, method string, params any) (*cdp.Pending, error) {
	if id == "" || id == p.session.ID() {
		return p.Send(method, params)
	}
	if err := p.usable(method); err != nil {
		return nil, err
	}
	return p.conn.Session(id).Send(method, params)
}

// Subscribe is the events of one method on the page session.
func (p *Page) Subscribe(method string) (<-chan jsonv2.Value, func()) {
	return p.session.Subscribe(method)
}

// Browser is the session for browser-level commands: Target.*, Storage.* with
// the Context, Browser.*.
func (p *Page) Browser() *cdp.Session { return p.conn.Session("") }

// Session is a handle on a frame's session, see Frame.Session.
func (p *Page) Session(id cdp.SessionID) *cdp.Session { return p.conn.Session(id) }

// Context is the browser context that the environment lives in.
func (t *tabs) Context() protocol.BrowserContextID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.context
}

func (p *Page) usable(method string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.gone:
		return &cdp.LostError{Method: method, Cause: cdp.ErrDetached}
	case p.crashed && method != page.CommandNavigate && method != page.CommandReload:
		return &cdp.LostError{Method: method, Cause: cdp.ErrCrashed}
	case p.orphanedLocked():
		// A navigation kills the browser as surely as an answer (measured on the
		// full browser), and nothing else is worth the risk.
		return &cdp.LostError{Method: method, Cause: fmt.Errorf("%w: %w", ErrDialogOrphaned, cdp.ErrDetached)}
	}
	return nil
}

// url is the main frame's. Callers hold mu.
func (p *Page) url() string {
	if main := p.frames.byID[p.frames.main]; main != nil {
		return main.URL
	}
	return ""
}

// handle takes every event of the connection, in order.
func (t *tabs) handle(e cdp.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.dispatch(e); err != nil {
		t.malformed++
	}
}

func (t *tabs) dispatch(e cdp.Event) error {
	if e.Session == "" {
		on, ok := rootHandlers[e.Method]
		if !ok {
			return nil
		}
		defer t.wake()
		return on(t, e)
	}
	a := t.sessions[e.Session]
	on, ok := handlers[e.Method]
	if !ok || a == nil || a.page == nil {
		// Of a target that is being closed, of a worker without a tab, of a hidden
		// page, whose owner subscribes to what it wants.
		return nil
	}
	if a.kind == kindWorker && !workerEvents[e.Method] {
		return nil
	}
	defer a.page.touch()
	return on(a.page, a, e)
}

// droppable are the events whose loss makes the picture poorer, not wrong.
func droppable(method string) bool {
	switch method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Target.targetInfoChanged",
		"Network.dataReceived", "Network.requestWillBeSentExtraInfo", "Network.responseReceivedExtraInfo",
		"Network.responseReceived", "Network.resourceChangedPriority", "Network.webSocketFrameReceived",
		"Network.webSocketFrameSent", "Network.eventSourceMessageReceived":
		return true
	}
	// Nobody here listens to DOM: the cdp action may turn it on.
	return strings.HasPrefix(method, "DOM.")
}
