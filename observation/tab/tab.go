package tab

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/pagejs"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	// navigatingLimit is when a navigation whose end was not seen counts as over.
	navigatingLimit = 30 * time.Second
	// requestedLimit is the same for one that a page asked for and that has not
	// begun: it may never do.
	requestedLimit = time.Second
	// requestedPause: a request that is seen so shortly after a beginning is the
	// one that began.
	requestedPause = 50 * time.Millisecond
	// navigatingLook is how often Next looks at a navigation on its way.
	navigatingLook = 50 * time.Millisecond
	// tickLimit is how long a tick may take that came from a living page.
	tickLimit = time.Second
)

// requested stands for the loader of a navigation that has not begun.
const requested = "requested"

// Tab is an observation.Page.
type Tab struct {
	id       protocol.PageID
	page     *supervisor.Page
	watch    *supervisor.Watch
	ticks    <-chan jsonv2.Value
	asked    <-chan jsonv2.Value
	began    <-chan jsonv2.Value
	ended    []<-chan jsonv2.Value
	cancels  []func()
	counts   counts
	loader   string // of the navigation on its way, or ""
	loaderAt time.Time
	over     map[string]bool // loaders whose request has ended
	frames   frames
}

// counts are of what came since New.
type counts struct{ sameDocument, dialogs, popups, downloads int }

var _ observation.Page = (*Tab)(nil)

// New begins to look at a page.
func New(id protocol.PageID, page *supervisor.Page) *Tab {
	t := &Tab{id: id, page: page, watch: page.Watch(), over: make(map[string]bool)}
	t.ticks = t.subscribe("Runtime.bindingCalled")
	t.asked = t.subscribe("Page.frameRequestedNavigation")
	t.began = t.subscribe("Page.frameStartedNavigating")
	t.ended = []<-chan jsonv2.Value{t.subscribe("Network.loadingFailed"), t.subscribe("Network.loadingFinished")}
	// Without its binding a tick is late, nothing worse.
	if pending, err := page.Send(runtime.CommandAddBinding, runtime.AddBindingParams{
		Name: pagejs.Binding, ExecutionContextName: pagejs.WorldName,
	}); err == nil {
		pending.Forget()
	}
	return t
}

func (t *Tab) subscribe(method string) <-chan jsonv2.Value {
	events, cancel := t.page.Subscribe(method)
	t.cancels = append(t.cancels, cancel)
	return events
}

// Close ends the watch; the page stays.
func (t *Tab) Close() {
	t.watch.Close()
	for _, cancel := range t.cancels {
		cancel()
	}
}

// Send is of observation.Page.
func (t *Tab) Send(method string, params any) (*cdp.Pending, error) {
	return t.page.Send(method, params)
}

// SendTo is of observation.Page.
func (t *Tab) SendTo(session cdp.SessionID, method string, params any) (*cdp.Pending, error) {
	return t.page.SendTo(session, method, params)
}

// Wake is of observation.Page.
func (t *Tab) Wake() <-chan struct{} { return t.watch.Wake() }

// AwaitTick is of observation.Page.
func (t *Tab) AwaitTick(ctx context.Context, tick string) {
	ctx, cancel := context.WithTimeout(ctx, tickLimit)
	defer cancel()
	for {
		select {
		case raw, ok := <-t.ticks:
			var v event
			if !ok || json.Unmarshal(raw, &v) == nil && v.Name == pagejs.Binding && v.Payload == tick {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// Next is of observation.Page. While a navigation is on its way it returns at
// least every 50 ms: the end of one is in events of which no snapshot tells, or in
// the passing of time.
func (t *Tab) Next(ctx context.Context, s observation.State) error {
	wait := ctx
	if s.Navigating {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, navigatingLook)
		defer cancel()
	}
	_, err := t.page.Await(wait, func(newer *supervisor.Snapshot) bool { return any(newer) != s.Version })
	if wait.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// State is of observation.Page.
func (t *Tab) State() observation.State {
	t.collect()
	s := t.page.Snapshot()
	out := observation.State{
		Version: s, ID: t.id, URL: s.URL,
		Commits: int(s.Commits), SameDocument: t.counts.sameDocument,
		DOMReady: s.Lifecycle.DOMContentLoaded, Loaded: s.Lifecycle.Load, InFlight: s.InFlight,
		DialogsOpened: t.counts.dialogs, PopupsOpened: t.counts.popups, DownloadsBegun: t.counts.downloads,
		Crashed: s.Crashed, Gone: s.Gone,
		Tabs:   func() []protocol.Tab { return list(s) },
		Frames: func(all bool) *protocol.FrameTree { return Tree(s.Frames, s.FramesMissed, all) },
	}
	t.frames.look(t.page, s)
	out.World, out.Children = t.frames.main, t.frames.children
	out.Navigating = t.isNavigating(string(s.LoaderID))
	for _, d := range s.Dialogs {
		if d.State == supervisor.DialogOpen || d.State == supervisor.DialogOrphaned {
			shown := Dialog(d)
			out.Dialogs = append(out.Dialogs, shown)
			if out.Dialog == nil {
				out.Dialog = &shown
			}
		}
	}
	for _, d := range s.Elsewhere {
		out.Dialogs = append(out.Dialogs, Dialog(d))
	}
	for _, d := range s.RecentDialogs {
		out.RecentDialogs = append(out.RecentDialogs, Dialog(d))
	}
	return out
}

// collect takes what has come since the last look.
func (t *Tab) collect() {
	h := t.watch.Take()
	t.counts.dialogs += h.DialogsOpened
	t.counts.popups += len(h.Popups) + len(h.TabsOpened)
	t.counts.downloads += len(h.Downloads)
	for _, n := range h.Navigations {
		if n.SameDocument {
			t.counts.sameDocument++
		}
	}
	frame := string(t.page.Snapshot().FrameID)
	drain(t.asked, func(v event) {
		if v.FrameID == frame && v.Disposition == "currentTab" && time.Since(t.loaderAt) > requestedPause {
			t.loader, t.loaderAt = requested, time.Now()
		}
	})
	drain(t.began, func(v event) {
		if v.FrameID == frame && v.NavigationType != "sameDocument" && v.NavigationType != "historySameDocument" {
			t.loader, t.loaderAt = v.LoaderID, time.Now()
		}
	})
	for _, ended := range t.ended {
		drain(ended, func(v event) {
			if v.RequestID == t.loader {
				t.over[v.RequestID] = true
			}
		})
	}
}

// isNavigating says whether the navigation that began last is still on its way.
func (t *Tab) isNavigating(committed string) bool {
	if t.loader == "" {
		return false
	}
	since := time.Since(t.loaderAt)
	if t.loader == committed || t.over[t.loader] || since > navigatingLimit || t.loader == requested && since > requestedLimit {
		t.loader = ""
		clear(t.over)
		return false
	}
	return true
}

// event holds the fields that matter of the events subscribed to.
type event struct {
	FrameID        string `json:"frameId"`
	LoaderID       string `json:"loaderId"`
	NavigationType string `json:"navigationType"`
	RequestID      string `json:"requestId"`
	Disposition    string `json:"disposition"`
	Name           string `json:"name"`
	Payload        string `json:"payload"`
}

// drain takes what waits in a channel, which may be closed.
func drain(events <-chan jsonv2.Value, take func(event)) {
	for {
		select {
		case raw, ok := <-events:
			if !ok {
				return
			}
			var v event
			if json.Unmarshal(raw, &v) == nil {
				take(v)
			}
		default:
			return
		}
	}
}

// Dialog is the supervisor's dialog in the words of the protocol.
func Dialog(d supervisor.Dialog) protocol.Dialog {
	out := protocol.Dialog{
		ID: protocol.DialogID(d.ID), Type: protocol.DialogType(d.Type), Message: d.Message,
		DefaultPrompt: d.DefaultPrompt, FrameID: protocol.FrameID(d.FrameID),
		OpenedAt: protocol.At(d.OpenedAt), ClosedBy: string(d.ClosedBy),
		Tab: protocol.PageID(d.Tab), URL: d.URL, Truncated: d.Truncated, Storm: d.Storm,
	}
	if d.State != supervisor.DialogClosed {
		out.State = string(d.State)
	}
	if !d.ClosedAt.IsZero() {
		at := protocol.At(d.ClosedAt)
		out.ClosedAt, out.Accepted = &at, &d.Accepted
	}
	return out
}
