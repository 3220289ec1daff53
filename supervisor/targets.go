package supervisor

import (
	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/browser"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

type targetKind int

const (
	kindPage targetKind = iota + 1
	kindIframe
	kindWorker
	kindPopup
	kindHidden
)

// attached is a session of a target. tabs.mu protects it.
type attached struct {
	session  *cdp.Session
	page     *Page         // whose tab it is part of; nil for hidden pages and refused popups
	parent   cdp.SessionID // that it was attached through; empty for the browser's
	kind     targetKind
	target   target.ID
	worlds   map[protocol.FrameID]World
	contexts map[runtime.ExecutionContextID]script
	requests map[network.RequestID]request
	crashed  bool // and not yet back
	pid      int  // the renderer's; 0 while it is not known
	probe    probe
	late     bool // it was running already: its first events are missed
}

func newAttached(session *cdp.Session, id target.ID) *attached {
	return &attached{
		session: session, target: id,
		worlds:   make(map[protocol.FrameID]World),
		contexts: make(map[runtime.ExecutionContextID]script),
		requests: make(map[network.RequestID]request),
	}
}

// rootHandlers is what the supervisor listens to on the browser's own session.
var rootHandlers = map[string]func(*tabs, cdp.Event) error{
	target.AttachedToTarget.Method:   (*tabs).onAttached,
	target.DetachedFromTarget.Method: (*tabs).onDetached,
	target.TargetCrashed.Method:      (*tabs).onTargetCrashed,
	browser.DownloadWillBegin.Method: (*tabs).onDownload,
}

// handlers is what it listens to on the sessions of tabs.
var handlers = map[string]func(*Page, *attached, cdp.Event) error{
	target.AttachedToTarget.Method:            (*Page).onAttached,
	target.DetachedFromTarget.Method:          (*Page).onDetached,
	inspector.TargetCrashed.Method:            (*Page).onCrashed,
	inspector.TargetReloadedAfterCrash.Method: (*Page).onReloadedAfterCrash,
	page.JavascriptDialogOpening.Method:       (*Page).onDialogOpening,
	page.JavascriptDialogClosed.Method:        (*Page).onDialogClosed,
	page.FrameAttached.Method:                 (*Page).onFrameAttached,
	page.FrameNavigated.Method:                (*Page).onFrameNavigated,
	page.FrameDetached.Method:                 (*Page).onFrameDetached,
	page.FrameSubtreeWillBeDetached.Method:    (*Page).onSubtreeGoes,
	page.CommandGetFrameTree:                  (*Page).onFrameTree, // SendOrdered
	page.NavigatedWithinDocument.Method:       (*Page).onNavigatedWithinDocument,
	page.LifecycleEvent.Method:                (*Page).onLifecycle,
	page.WindowOpen.Method:                    (*Page).onWindowOpen,
	runtime.ExecutionContextCreated.Method:    (*Page).onContextCreated,
	runtime.ExecutionContextDestroyed.Method:  (*Page).onContextDestroyed,
	runtime.ExecutionContextsCleared.Method:   (*Page).onContextsCleared,
	runtime.BindingCalled.Method:              (*Page).onBindingCalled,
	runtime.ConsoleAPICalled.Method:           (*Page).onConsole,
	runtime.ExceptionThrown.Method:            (*Page).onException,
	log.EntryAdded.Method:                     (*Page).onLog,
	network.RequestWillBeSent.Method:          (*Page).onRequest,
	network.LoadingFinished.Method:            (*Page).onRequestFinished,
	network.LoadingFailed.Method:              (*Page).onRequestFailed,
	network.ResponseReceived.Method:           (*Page).onResponse,
	page.FileChooserOpened.Method:             (*Page).onFileChooser,
	page.FrameRequestedNavigation.Method:      (*Page).onNavigationRequested,
	fetch.RequestPaused.Method:                (*Page).onRequestPaused,
	fetch.AuthRequired.Method:                 (*Page).onAuthRequired,
}

// workerEvents are what a worker's session may tell of.
var workerEvents = map[string]bool{
	target.AttachedToTarget.Method:   true,
	target.DetachedFromTarget.Method: true,
	runtime.ConsoleAPICalled.Method:  true,
	runtime.ExceptionThrown.Method:   true,
}

// autoAttach pauses related targets. The excluded types are the browser itself,
// the hidden windows of the full browser's own interface, and tabs, whose pages
// attach by themselves.
func autoAttach() target.SetAutoAttachParams {
	flatten := true
	return target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &flatten,
		Filter: target.Filter{
			{Type: "browser", Exclude: true},
			{Type: "browser_ui", Exclude: true},
			{Type: "tab", Exclude: true},
			{},
		},
	}
}

// onAttached takes what attaches to the browser itself: pages, and the workers
// that no page has for itself.
func (t *tabs) onAttached(e cdp.Event) error {
	var v target.EventAttachedToTarget
	if err := e.Decode(&v); err != nil || v.TargetInfo == nil {
		return err
	}
	a := newAttached(t.conn.Session(cdp.SessionID(v.SessionID)), v.TargetInfo.TargetID)
	a.late = !v.WaitingForDebugger
	switch {
	case v.TargetInfo.Type == "page" && t.hiding.wants(a, v.TargetInfo, t.context):
	case v.TargetInfo.Type == "page" && !v.WaitingForDebugger && v.TargetInfo.BrowserContextID == t.context:
		t.startRejoined(a, v.TargetInfo)
	case v.TargetInfo.Type == "page" || v.TargetInfo.Type == "webview":
		t.onPopup(a, v.TargetInfo)
	case v.TargetInfo.BrowserContextID == t.context && len(t.pages) > 0:
		t.attachWorker(a, t.pages[0])
	default:
		t.attachWorker(a, nil)
	}
	return nil
}

// onAttached takes what attaches to a part of a tab: cross-site frames, workers.
func (p *Page) onAttached(parent *attached, e cdp.Event) error {
	var v target.EventAttachedToTarget
	if err := e.Decode(&v); err != nil || v.TargetInfo == nil {
		return err
	}
	a := newAttached(p.conn.Session(cdp.SessionID(v.SessionID)), v.TargetInfo.TargetID)
	a.parent, a.late = parent.session.ID(), !v.WaitingForDebugger
	if v.TargetInfo.Type == "iframe" {
		p.attachIframe(a, v.TargetInfo)
	} else {
		p.attachWorker(a, p)
	}
	return nil
}

func (p *Page) attachIframe(a *attached, info *target.Info) {
	a.kind, a.page = kindIframe, p
	p.sessions[a.session.ID()] = a
	f := p.frames.get(protocol.FrameID(info.TargetID))
	f.Session, f.OOPIF, f.Crashed = a.session.ID(), true, false
	if info.ParentFrameID != "" {
		f.ParentID = info.ParentFrameID
	}
	if f.URL == "" {
		// Until its own frameNavigated says more, which for a frame that was there
		// before us, or that came back from the bfcache, never comes.
		f.URL, _ = clip(info.URL, maxURL)
	}
	acks, _ := p.prepare(a) // an iframe that cannot be set up is gone again
	for _, ack := range acks {
		ack.Forget()
	}
	if a.late {
		p.reseed(a)
	}
}

// attachWorker lets a worker run. Its errors are those of the tab that has it.
// Workers show no dialogs and have no frames; a paused one must never be closed: a
// service worker's registration would not settle.
func (t *tabs) attachWorker(a *attached, owner *Page) {
	a.kind, a.page = kindWorker, owner
	t.sessions[a.session.ID()] = a
	t.post(a.session, runtime.CommandEnable, nil)
	t.post(a.session, target.CommandSetAutoAttach, autoAttach())
	t.post(a.session, runtime.CommandRunIfWaitingForDebugger, nil)
}

func (t *tabs) onDetached(e cdp.Event) error {
	var v target.EventDetachedFromTarget
	if err := e.Decode(&v); err != nil {
		return err
	}
	t.detach(cdp.SessionID(v.SessionID))
	return nil
}

func (p *Page) onDetached(_ *attached, e cdp.Event) error { return p.tabs.onDetached(e) }

// detach forgets a session and what lived in it.
func (t *tabs) detach(id cdp.SessionID) {
	t.conn.FailSession(id, cdp.ErrDetached)
	a := t.sessions[id]
	delete(t.sessions, id)
	if a == nil {
		return
	}
	// What was attached through it is gone too, and nothing tells of that: the event
	// would have come on the session that ended.
	for child, c := range t.sessions {
		if c.parent == id {
			t.detach(child)
		}
	}
	if a.page == nil {
		return
	}
	p := a.page
	defer p.touch()
	switch a.kind {
	case kindPage:
		p.gone = true
		p.dropDialogs()
		t.remove(p)
		t.tellAll(func(h *Happened) { h.TabsClosed = bounded(h, h.TabsClosed, p.id) })
	case kindIframe:
		// A frame that moves to its parent's process is attached there anew, after
		// this; one that was navigated to another site keeps its session.
		if f := p.frames.byID[protocol.FrameID(a.target)]; f != nil && f.Session == id {
			p.forgetFrames(p.frames.remove(f.ID, false))
		}
	}
}

// forgetFrames drops what hangs on frames that left the tree. Callers hold mu.
func (p *Page) forgetFrames(gone []protocol.FrameID) {
	for _, id := range gone {
		for _, a := range p.sessions {
			delete(a.worlds, id)
		}
	}
	if len(gone) > 0 {
		p.tell(func(*Happened) {}) // who waits for an answer out of one waits in vain
	}
}
