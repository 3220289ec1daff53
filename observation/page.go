package observation

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// Page is the tab that is observed and acted on. The supervisor owns it; this
// package only sends commands and looks at its state. One goroutine uses it.
type Page interface {
	// Send queues a command on the page's session and never waits; commands are
	// written in order. A pending command fails by itself when the page crashes
	// or the browser is lost.
	Send(method string, params any) (*cdp.Pending, error)
	// SendTo queues a command on the session of a World; empty is the page's.
	SendTo(session cdp.SessionID, method string, params any) (*cdp.Pending, error)
	// State is what is known now. It never waits.
	State() State
	// Next waits for a state that is newer than s; it may return earlier.
	Next(ctx context.Context, s State) error
	// AwaitTick waits until State tells everything that came before the page's
	// script called its binding with tick. It gives up after a second.
	AwaitTick(ctx context.Context, tick string)
	// Wake receives after a dialog, a navigation or a crash. A token may be old.
	Wake() <-chan struct{}
}

// State is what the supervisor knows of a page at a moment.
type State struct {
	// Version tells two states apart, for Next.
	Version any
	ID      protocol.PageID
	URL     string
	// World is the isolated world of the main frame's present document; its
	// Unique is empty while there is none.
	World World
	// Commits counts new documents of the main frame, SameDocument its
	// navigations within one (history API, fragments).
	Commits      int
	SameDocument int
	// Navigating: a navigation of the main frame has begun and has neither
	// committed nor failed.
	Navigating bool
	// DOMReady and Loaded are of the present document.
	DOMReady bool
	Loaded   bool
	// InFlight counts requests without an end; long-lived ones (event streams,
	// WebSockets) do not count.
	InFlight int
	// Dialog is the open dialog that waits for the agent, nil for one that
	// policy answers at once. The counts are of all that came.
	Dialog *protocol.Dialog
	// Dialogs are all that are open so, those of other tabs included.
	Dialogs        []protocol.Dialog
	RecentDialogs  []protocol.Dialog
	DialogsOpened  int
	PopupsOpened   int
	DownloadsBegun int
	// Tabs and Frames are what an observation lists; nil where there is no browser.
	Tabs   func() []protocol.Tab
	Frames func(all bool) *protocol.FrameTree
	// Children are the frames below the main one, parents before their children.
	Children []Frame
	// Crashed: the renderer died; the page may be loaded again.
	Crashed bool
	// Gone: the page closed itself.
	Gone bool

	// frame is whose view this is (Within), empty for the page's own; detached says
	// that this frame was removed, or that its process died.
	frame    protocol.FrameID
	detached bool
}

// Ready: the document is parsed, and the page's script can be called in it.
func (s State) Ready() bool { return s.DOMReady && s.World.Unique != "" }

// World is where the page's script runs.
type World struct {
	// Unique is Chromium's name for it that no other process uses: a number
	// could mean the page's own world after a swap of processes.
	Unique string
	Frame  protocol.FrameID
	Loader string
	// Session is where its commands go, Context its number there.
	Session cdp.SessionID
	Context runtime.ExecutionContextID
}

// What makes a reply never come.
var (
	// ErrDialog: a dialog is open; Chromium answers no command that needs the
	// renderer.
	ErrDialog = errors.New("a dialog is open")
	// ErrCrashed: the page's process died.
	ErrCrashed = errors.New("the page's process died")
	// ErrLost: the page or its browser is gone.
	ErrLost = errors.New("the page is gone")
	// ErrContextGone: the document was replaced while its script ran.
	ErrContextGone = errors.New("the document was replaced")
	// ErrFrameGone: the frame was removed, or its process died; the page goes on.
	ErrFrameGone = errors.New("the frame is gone")
)

// blocked is why the renderer would not answer now, or nil.
func (s State) blocked() error {
	switch {
	case s.Gone:
		return ErrLost
	case s.Crashed:
		return ErrCrashed
	case s.detached:
		return ErrFrameGone
	case s.Dialog != nil:
		return ErrDialog
	}
	return nil
}

// Await waits for a reply, a dialog, a crash, the loss of the page or the end of
// ctx, whichever comes first.
func Await(ctx context.Context, page Page, pending *cdp.Pending, result any) error {
	return AwaitUnless(ctx, page, pending, result, State.blocked)
}

// AwaitUnless waits for a reply until obstacle says that it will not come.
func AwaitUnless(ctx context.Context, page Page, pending *cdp.Pending, result any, obstacle func(State) error) error {
	for {
		select {
		case <-pending.Done():
			return translate(page, pending.Wait(ctx, result))
		default:
		}
		if err := obstacle(page.State()); err != nil {
			pending.Forget()
			return err
		}
		select {
		case <-pending.Done():
		case <-page.Wake():
		case <-ctx.Done():
			return translate(page, pending.Wait(ctx, result))
		}
	}
}

// translate says what a lost call means for the page, or for the frame that it
// was for.
func translate(page Page, err error) error {
	switch {
	case err == nil:
		return nil
	case page.State().frame != "" && errors.Is(err, cdp.ErrCrashed), page.State().frame != "" && errors.Is(err, cdp.ErrDetached):
		return lostFrame(page, err)
	case errors.Is(err, cdp.ErrCrashed):
		return fmt.Errorf("%w: %w", ErrCrashed, err)
	case errors.Is(err, cdp.ErrClosed), errors.Is(err, cdp.ErrDetached):
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// Until waits for a state that holds. It ends early when the page is blocked.
func Until(ctx context.Context, page Page, holds func(State) bool) (State, error) {
	for {
		s := page.State()
		if holds(s) {
			return s, nil
		}
		if err := s.blocked(); err != nil {
			return s, err
		}
		if err := page.Next(ctx, s); err != nil {
			if ctx.Err() != nil {
				return s, context.Cause(ctx)
			}
			return s, fmt.Errorf("%w: %w", ErrLost, err)
		}
	}
}
