package supervisor

import (
	"sort"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

const (
	maxURL = 4096
	// maxFrames bounds the tree; a page can make as many frames as it likes.
	maxFrames = 2000
)

// Frame is one frame of the page.
type Frame struct {
	ID       protocol.FrameID
	ParentID protocol.FrameID // empty for the main frame
	LoaderID protocol.LoaderID
	URL      string
	Origin   string
	Name     string
	Session  cdp.SessionID // the session that hosts the frame's document
	OOPIF    bool          // it has a session of its own
	Crashed  bool          // its process died; the frame is empty until it is loaded again
	// Unresponsive: its process has not answered for some seconds.
	Unresponsive bool
	// ContentType is what the browser takes the document for.
	ContentType string
}

// frameTree knows the frames by id. Page.mu protects it.
type frameTree struct {
	main   protocol.FrameID
	byID   map[protocol.FrameID]*Frame
	order  map[protocol.FrameID]uint64 // arrival, for a stable listing
	seen   uint64
	missed uint64 // frames beyond maxFrames
}

func newFrameTree() frameTree {
	return frameTree{byID: make(map[protocol.FrameID]*Frame), order: make(map[protocol.FrameID]uint64)}
}

func (t *frameTree) get(id protocol.FrameID) *Frame {
	if f := t.byID[id]; f != nil {
		return f
	}
	if len(t.byID) >= maxFrames {
		t.missed++
		return &Frame{ID: id} // filled in and forgotten
	}
	f := &Frame{ID: id}
	t.seen++
	t.byID[id], t.order[id] = f, t.seen
	return f
}

// within says whether a frame is root or one of its descendants.
func (t *frameTree) within(id, root protocol.FrameID) bool {
	for depth := 0; depth <= maxFrames && id != ""; depth++ {
		if id == root {
			return true
		}
		f := t.byID[id]
		if f == nil {
			return false
		}
		id = f.ParentID
	}
	return false
}

func (t *frameTree) remove(root protocol.FrameID, keepRoot bool) []protocol.FrameID {
	return t.removeWithin(root, func(f *Frame) bool { return keepRoot && f.ID == root })
}

// removeWithin takes a frame and its descendants out, but for those to be kept.
func (t *frameTree) removeWithin(root protocol.FrameID, keep func(*Frame) bool) []protocol.FrameID {
	var gone []protocol.FrameID
	for id, f := range t.byID {
		if t.within(id, root) && !keep(f) {
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		delete(t.byID, id)
		delete(t.order, id)
	}
	return gone
}

func (t *frameTree) list() []Frame {
	frames := make([]Frame, 0, len(t.byID))
	for _, f := range t.byID {
		frames = append(frames, *f)
	}
	sort.Slice(frames, func(i, j int) bool { return t.order[frames[i].ID] < t.order[frames[j].ID] })
	return frames
}

func (p *Page) onFrameAttached(a *attached, e cdp.Event) error {
	var v page.EventFrameAttached
	if err := e.Decode(&v); err != nil {
		return err
	}
	f := p.frames.get(v.FrameID)
	f.ParentID = v.ParentFrameID
	if own := p.sessions[f.Session]; own != nil && own != a && f.OOPIF {
		return nil // its own process was faster to tell of it than its parent's
	}
	f.Session, f.OOPIF = a.session.ID(), false
	return nil
}

func (p *Page) onFrameNavigated(a *attached, e cdp.Event) error {
	var v page.EventFrameNavigated
	if err := e.Decode(&v); err != nil {
		return err
	}
	if v.Frame == nil {
		return nil
	}
	a.crashed, a.probe = false, probe{}
	if string(v.Frame.ID) == string(a.target) {
		a.pid = 0 // another document, maybe in another process
	}
	main := a.kind == kindPage && v.Frame.ParentID == ""
	restored := main && v.Type == page.NavigationTypeBackForwardCacheRestore
	// No frameDetached comes for the old document's frames (measured).
	p.forgetFrames(p.frames.removeWithin(v.Frame.ID, func(f *Frame) bool {
		// What came back with a document from the bfcache attached before this; what
		// was left in its place has been or will be detached.
		own := p.sessions[f.Session]
		return f.ID == v.Frame.ID || restored && own != nil && own.kind == kindIframe
	}))
	if main {
		p.frames.main = v.Frame.ID
		p.crashed = false
		p.touchTabs()
		p.commits++
		p.orphanReplaced()
		p.arrived()
	}
	p.seedFrame(a, v.Frame)
	if restored {
		p.reseed(a) // nothing is told of its frames in the same process
	}
	a.forgetRequests(v.Frame.ID, v.Frame.LoaderID)
	if main {
		p.lifecycle.begin(v.Frame.LoaderID)
		f := p.frames.get(v.Frame.ID)
		p.tell(func(h *Happened) {
			h.Navigations = bounded(h, h.Navigations, Navigation{URL: f.URL, LoaderID: f.LoaderID, Restored: restored})
		})
	} else {
		p.tell(func(*Happened) {}) // an input may wait for the document that was there
	}
	return nil
}

// seedFrame takes over what the browser says about a frame.
func (p *Page) seedFrame(a *attached, in *protocol.Frame) {
	f := p.frames.get(in.ID)
	f.LoaderID, f.Origin, f.Session, f.Crashed = in.LoaderID, in.SecurityOrigin, a.session.ID(), false
	f.Unresponsive = false
	f.OOPIF = a.kind == kindIframe && string(a.target) == string(in.ID)
	f.URL, _ = clip(in.URL+in.URLFragment, maxURL)
	f.Name, _ = clip(in.Name, 256)
	f.ContentType, _ = clip(in.MimeType, 128)
	if in.ParentID != "" {
		f.ParentID = in.ParentID
	}
	if a.kind == kindPage && in.ParentID == "" {
		p.frames.main = in.ID
		p.touchTabs() // its URL
	}
}

// reseed asks for the frames of a session's process as they are. The answer comes
// in its place among the events, so it is neither older nor newer than they are.
func (p *Page) reseed(a *attached) {
	_ = a.session.SendOrdered(page.CommandGetFrameTree, nil) // it fails with the connection
}

// onFrameTree takes the answer: frames of the session's process that it does not
// name are gone, those that it names are there. Frames of other processes are no
// part of it.
func (p *Page) onFrameTree(a *attached, e cdp.Event) error {
	var v page.GetFrameTreeResult
	if err := e.Decode(&v); err != nil {
		return err
	}
	there := make(map[protocol.FrameID]bool)
	p.seedTree(a, v.FrameTree, there)
	for _, f := range p.frames.list() {
		if f.Session == a.session.ID() && !there[f.ID] {
			p.forgetFrames(p.frames.remove(f.ID, false))
		}
	}
	return nil
}

func (p *Page) seedTree(a *attached, tree *page.FrameTree, there map[protocol.FrameID]bool) {
	if tree == nil || tree.Frame == nil {
		return
	}
	there[tree.Frame.ID] = true
	p.seedFrame(a, tree.Frame)
	for _, child := range tree.ChildFrames {
		p.seedTree(a, child, there)
	}
}

func (p *Page) onFrameDetached(_ *attached, e cdp.Event) error {
	var v page.EventFrameDetached
	if err := e.Decode(&v); err != nil {
		return err
	}
	if v.Reason == page.FrameDetachedReasonSwap {
		return nil // it moves to another process under the same id
	}
	p.orphanDialogs(v.FrameID)
	p.forgetFrames(p.frames.remove(v.FrameID, false))
	return nil
}

func (p *Page) onNavigatedWithinDocument(_ *attached, e cdp.Event) error {
	var v page.EventNavigatedWithinDocument
	if err := e.Decode(&v); err != nil {
		return err
	}
	f := p.frames.byID[v.FrameID]
	if f == nil {
		return nil
	}
	f.URL, _ = clip(v.URL, maxURL)
	if v.FrameID == p.frames.main {
		p.touchTabs()
		p.tell(func(h *Happened) {
			h.Navigations = bounded(h, h.Navigations, Navigation{URL: f.URL, LoaderID: f.LoaderID, SameDocument: true})
		})
	}
	return nil
}

// Lifecycle is how far the main frame's document has come.
type Lifecycle struct {
	LoaderID         protocol.LoaderID
	DOMContentLoaded bool
	Load             bool
	// NetworkIdle: no request for 500 ms, as Chromium counts it.
	NetworkIdle bool
}

func (l *Lifecycle) begin(loader protocol.LoaderID) {
	if l.LoaderID != loader {
		*l = Lifecycle{LoaderID: loader}
	}
}

func (p *Page) onLifecycle(a *attached, e cdp.Event) error {
	var v page.EventLifecycleEvent
	if err := e.Decode(&v); err != nil {
		return err
	}
	if a.kind != kindPage || v.FrameID != p.frames.main && p.frames.main != "" {
		return nil
	}
	if f := p.frames.byID[v.FrameID]; f != nil && f.LoaderID == "" {
		f.LoaderID = v.LoaderID // a page that opened on about:blank commits nothing
	}
	switch v.Name {
	case "init":
		p.lifecycle.begin(v.LoaderID)
	case "DOMContentLoaded", "load", "networkIdle":
		p.lifecycle.reach(v.LoaderID, v.Name)
	}
	return nil
}

// reach notes a step of the document. A late word of an earlier document's process
// counts for nothing; without any document yet, the first word names it.
func (l *Lifecycle) reach(loader protocol.LoaderID, step string) {
	if l.LoaderID == "" {
		l.begin(loader)
	}
	if l.LoaderID != loader {
		return
	}
	switch step {
	case "DOMContentLoaded":
		l.DOMContentLoaded = true
	case "load":
		l.Load = true
	case "networkIdle":
		l.NetworkIdle = true
	}
}
