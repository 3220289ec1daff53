package supervisor

import (
	"context"
	"fmt"
	"time"

	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

const (
	recentPopups    = 20
	recentDownloads = 20
)

// Snapshot is what the supervisor knows at one moment. It shares nothing that
// changes.
type Snapshot struct {
	Generation uint64
	Target     target.ID
	Tab        TabID
	Tabs       []Tab // all of the environment, in the order of their opening

	URL       string
	FrameID   protocol.FrameID
	LoaderID  protocol.LoaderID
	Wanted    string // the URL that another tab opened it with; it may still be on its way
	Commits   uint64 // documents of the main frame so far
	Lifecycle Lifecycle
	InFlight  int // requests without a response yet, all frames

	Frames       []Frame // main frame first, then in order of arrival
	FramesMissed uint64  // frames beyond the bound of the tree

	// Dialogs stop the page: its own, the oldest first, and those of the tabs that
	// can reach it. Elsewhere are those of other tabs.
	Dialogs, Elsewhere []Dialog
	RecentDialogs      []Dialog // the last 20 closed ones, of this tab
	// DialogsOpened counts all there were; DialogsDismissed those of them that were
	// dismissed unseen, as a storm.
	DialogsOpened, DialogsDismissed uint64

	Popups    []Popup // the last 20
	Downloads []Download
	Prints    []Print  // the last 20
	Prompts   []Prompt // the last 20 that were refused
	// ContentType of the main frame's document, such as text/html.
	ContentType string
	Console     []ConsoleMessage // the last 50

	Crashed bool // the page's renderer is gone; navigate or reload revives it
	// Unresponsive: the page's main thread has not run for some seconds, and no
	// dialog stops it. It may run again; a navigation to another site leaves it.
	Unresponsive bool
	SilentSince  time.Time // of a page that is unresponsive
	Gone         bool      // the page closed itself; the environment has to be replaced
	// Orphaned: the frame of a dialog, of whatever tab, was removed. The browser
	// will stop as soon as anybody answers it or closes the tab; save state and
	// replace it.
	Orphaned bool

	EventsDropped   uint64 // by the bounded queue, none of them essential
	EventsMalformed uint64 // not understood, of the environment
}

// Snapshot returns the newest picture. It never waits for the browser.
func (p *Page) Snapshot() *Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshotLocked()
}

func (p *Page) snapshotLocked() *Snapshot {
	if p.snapshot != nil {
		return p.snapshot
	}
	s := &Snapshot{
		Generation: p.config.Generation, Target: p.target, Tab: p.id, Tabs: p.listLocked(),
		FrameID: p.frames.main, Wanted: p.wanted, Commits: p.commits, Lifecycle: p.lifecycle, InFlight: p.inFlight(),
		Frames: p.frames.list(), FramesMissed: p.frames.missed,
		RecentDialogs: append([]Dialog(nil), p.recent...),
		Popups:        append([]Popup(nil), p.popups...),
		Downloads:     p.downloads, Console: p.console.entries, Prints: p.prints, Prompts: p.prompts,
		DialogsOpened: p.storm.opened, DialogsDismissed: p.storm.dismissed,
		Crashed: p.crashed, Unresponsive: p.pageSession.probe.late, Gone: p.gone, EventsMalformed: p.malformed,
	}
	if s.Unresponsive {
		s.SilentSince = p.pageSession.probe.asked
	}
	p.showDialogs(s)
	if main := p.frames.byID[p.frames.main]; main != nil {
		s.URL, s.LoaderID, s.ContentType = main.URL, main.LoaderID, main.ContentType
	}
	if p.conn != nil {
		s.EventsDropped = p.conn.Stats().Dropped
	}
	p.snapshot = s
	return s
}

// touch says that the picture has changed. Callers hold mu.
func (p *Page) touch() {
	p.snapshot = nil
	p.wake()
}

// Await returns the first picture, from now on, for which cond is true. It ends
// with the cause of ctx (10 s without a deadline) or of the browser's loss. cond
// runs under a lock: it must only look.
func (p *Page) Await(ctx context.Context, cond func(*Snapshot) bool) (*Snapshot, error) {
	s, err := p.await(ctx, func() (bool, error) { return cond(p.snapshotLocked()), nil })
	if err != nil {
		return nil, fmt.Errorf("supervisor: await: %w", err)
	}
	return s, nil
}

func (p *Page) await(ctx context.Context, done func() (bool, error)) (s *Snapshot, err error) {
	err = p.tabs.await(ctx, func() (bool, error) {
		ok, err := done()
		s = p.snapshotLocked()
		return ok, err
	})
	return s, err
}

// bound gives a deadline to a context that has none.
func bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultWait)
}
