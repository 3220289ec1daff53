package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// maxTabs bounds the open tabs of an environment: each is a renderer of 20 MB and
// more, and a page that may open tabs can ask for any number.
const maxTabs = 16

// maxTitle is the length of a tab's title, in bytes.
const maxTitle = 512

var (
	// ErrTooManyTabs: the environment has as many tabs as it may have.
	ErrTooManyTabs = errors.New("supervisor: too many tabs")
	// ErrLastTab: the environment's only tab stays open.
	ErrLastTab = errors.New("supervisor: the last tab stays open")
)

// TabID is t1, t2 and so on; no two tabs of an environment ever have the same.
type TabID string

// Tab is an open tab, as a value.
type Tab struct {
	ID     TabID
	URL    string
	Opener TabID // the tab whose page opened it; empty for our own
	// Crashed: see Snapshot.
	Crashed bool
}

// tabs is what the pages of one environment share: the connection, the context,
// the sessions, and who belongs to whom.
type tabs struct {
	conn    *cdp.Conn
	process renderers       // nil where there is none
	lost    <-chan struct{} // closed when the browser is lost
	lostErr func() error
	workers sync.WaitGroup // runAnswer

	mu         sync.Mutex // protects everything below and everything of every Page
	config     Config
	emulation  Emulation // of every tab
	context    protocol.BrowserContextID
	sessions   map[cdp.SessionID]*attached
	pages      []*Page             // open ones, in the order of their opening
	opened     uint64              // tabs so far, for their ids
	dialogs    uint64              // ids given out
	everywhere map[*Watch]struct{} // watches of all tabs
	opening    []opening
	prime      *priming
	hiding     hiding
	malformed  uint64
	changed    chan struct{} // closed at the next change of any page; nil when nobody waits
	list       []Tab         // nil when out of date
}

func newTabs(c Config, lost <-chan struct{}, lostErr func() error) *tabs {
	return &tabs{
		config: c, emulation: c.emulation(), lost: lost, lostErr: lostErr,
		sessions: make(map[cdp.SessionID]*attached), everywhere: make(map[*Watch]struct{}),
	}
}

// Tabs are the open tabs in the order of their opening.
func (s *Supervisor) Tabs() []*Page {
	s.tabs.mu.Lock()
	defer s.tabs.mu.Unlock()
	return append([]*Page(nil), s.tabs.pages...)
}

// Tab is an open tab by its id, nil when there is none.
func (s *Supervisor) Tab(id TabID) *Page {
	for _, p := range s.Tabs() {
		if p.id == id {
			return p
		}
	}
	return nil
}

// SetPopups says from now on what becomes of the windows that pages open.
func (s *Supervisor) SetPopups(policy PopupPolicy) {
	s.tabs.mu.Lock()
	defer s.tabs.mu.Unlock()
	s.tabs.config.Popups = policy
}

// AwaitTabs returns as soon as cond is true for the open tabs. It ends with the
// cause of ctx (10 s without a deadline) or of the browser's loss. cond runs under
// a lock: it must only look.
func (s *Supervisor) AwaitTabs(ctx context.Context, cond func([]*Snapshot) bool) error {
	err := s.tabs.await(ctx, func() (bool, error) {
		all := make([]*Snapshot, 0, len(s.tabs.pages))
		for _, p := range s.tabs.pages {
			all = append(all, p.snapshotLocked())
		}
		return cond(all), nil
	})
	if err != nil {
		return fmt.Errorf("supervisor: await tabs: %w", err)
	}
	return nil
}

// Titles are the titles of the open tabs. No event tells of them; the browser
// answers without asking any page.
func (s *Supervisor) Titles(ctx context.Context) (map[TabID]string, error) {
	reply, err := protocol.Call(ctx, s.conn.Session(""), target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return nil, fmt.Errorf("supervisor: titles: %w", err)
	}
	titles := make(map[TabID]string)
	s.tabs.mu.Lock()
	defer s.tabs.mu.Unlock()
	for _, info := range reply.TargetInfos {
		if p := s.tabs.withTarget(info.TargetID); p != nil {
			titles[p.id], _ = clip(info.Title, maxTitle)
		}
	}
	return titles, nil
}

// OpenTab opens a tab on about:blank. When it returns, every event of it from now
// on is seen. It waits at most until ctx ends, 10 s without a deadline.
func (s *Supervisor) OpenTab(ctx context.Context) (*Page, error) {
	ctx, cancel := bound(ctx)
	defer cancel()
	if n := len(s.Tabs()); n >= maxTabs {
		return nil, fmt.Errorf("%w: %d are open", ErrTooManyTabs, n)
	}
	p, err := s.tabs.openTab(ctx)
	if err != nil {
		return nil, fmt.Errorf("supervisor: open a tab: %w", err)
	}
	return p, nil
}

func (t *tabs) openTab(ctx context.Context) (*Page, error) {
	yes := true
	a, err := t.create(ctx, target.CreateTargetParams{
		URL: blank, Width: t.config.Viewport.Width, Height: t.config.Viewport.Height,
		// In the full browser a second tab of a window would hide the first, which
		// then draws nothing.
		NewWindow: &yes,
	})
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	p, acks, err := t.adopt(a, "", nil)
	t.mu.Unlock()
	if err == nil {
		err = waitAll(ctx, acks)
	}
	if err == nil {
		_, err = p.World(ctx)
	}
	if err != nil {
		t.post(t.conn.Session(""), target.CommandCloseTarget, target.CloseTargetParams{TargetID: a.target})
		return nil, err
	}
	return p, nil
}

// CloseTab ends a tab without asking its page: no beforeunload is raised, and an
// open dialog does not hold it. (Page.close would raise one.) It returns when the
// tab has left the list.
func (s *Supervisor) CloseTab(ctx context.Context, p *Page) error {
	ctx, cancel := bound(ctx)
	defer cancel()
	if all := s.Tabs(); len(all) == 1 && all[0] == p {
		return ErrLastTab
	}
	snap := p.Snapshot()
	if snap.Orphaned {
		// Closing it would stop the whole browser, as an answer would.
		return ErrDialogOrphaned
	}
	if snap.Gone {
		return nil
	}
	if _, err := protocol.Call(ctx, p.Browser(), target.CloseTarget, target.CloseTargetParams{TargetID: snap.Target}); err != nil {
		return fmt.Errorf("supervisor: close tab %s: %w", p.id, err)
	}
	return s.AwaitTabs(ctx, func([]*Snapshot) bool { return p.gone })
}

// AnswerDialog answers the dialog of whichever tab has it, see Page.AnswerDialog.
func (s *Supervisor) AnswerDialog(ctx context.Context, id DialogID, a Answer) error {
	for _, p := range s.Tabs() {
		s.tabs.mu.Lock()
		known := p.findDialog(id) != nil
		s.tabs.mu.Unlock()
		if known {
			return p.AnswerDialog(ctx, id, a)
		}
	}
	return fmt.Errorf("%w: %s", ErrDialogUnknown, id)
}

// adopt makes a tab of an attached page: it is set up and let run. Callers hold mu.
func (t *tabs) adopt(a *attached, url string, opener *Page) (*Page, []*cdp.Pending, error) {
	t.opened++
	p := &Page{
		tabs: t, id: TabID(fmt.Sprintf("t%d", t.opened)), wanted: url, target: a.target, session: a.session, pageSession: a,
		frames: newFrameTree(), watches: make(map[*Watch]struct{}),
	}
	if opener != nil {
		p.opener = opener.id
	}
	a.kind, a.page = kindPage, p
	t.sessions[a.session.ID()] = a
	// A page's main frame has its target's id. A document that was there before us
	// tells nothing of itself.
	main := p.frames.get(protocol.FrameID(a.target))
	main.Session, main.URL = a.session.ID(), blank
	p.frames.main = main.ID
	t.pages = append(t.pages, p)
	t.touchTabs()
	acks, err := p.prepare(a)
	if a.late {
		p.reseed(a)
	}
	return p, acks, err
}

// remove takes a page that is gone from the list. Callers hold mu.
func (t *tabs) remove(gone *Page) {
	for i, p := range t.pages {
		if p == gone {
			t.pages = append(t.pages[:i:i], t.pages[i+1:]...)
			break
		}
	}
	t.touchTabs()
}

// listLocked is the list of tabs, shared and never changed. Callers hold mu.
func (t *tabs) listLocked() []Tab {
	if t.list == nil {
		for _, p := range t.pages {
			t.list = append(t.list, Tab{ID: p.id, URL: p.url(), Opener: p.opener, Crashed: p.crashed})
		}
	}
	return t.list
}

// touchTabs says that the list of tabs has changed. Callers hold mu.
func (t *tabs) touchTabs() {
	t.list = nil
	for _, p := range t.pages {
		p.snapshot = nil
	}
	t.wake()
}

// wake wakes whoever awaits a change. Callers hold mu.
func (t *tabs) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// await waits until done says so, or fails.
func (t *tabs) await(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := bound(ctx)
	defer cancel()
	for {
		t.mu.Lock()
		ok, err := done()
		if ok || err != nil {
			t.mu.Unlock()
			return err
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.lost:
			return t.lostErr()
		}
	}
}

// withFrame is the page that has a frame, nil when none does. Callers hold mu.
func (t *tabs) withFrame(id protocol.FrameID) *Page {
	for _, p := range t.pages {
		if p.frames.byID[id] != nil {
			return p
		}
	}
	return nil
}

// withTarget is the page of a target, nil when none is. Callers hold mu.
func (t *tabs) withTarget(id target.ID) *Page {
	for _, p := range t.pages {
		if p.target == id {
			return p
		}
	}
	return nil
}

// post sends a command whose reply nobody needs. It fails only when the
// connection ends, which everybody learns anyway.
func (t *tabs) post(session *cdp.Session, method string, params any) {
	if pending, err := session.Send(method, params); err == nil {
		pending.Forget()
	}
}
