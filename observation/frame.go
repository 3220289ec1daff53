package observation

import (
	"context"
	"errors"
	"fmt"

	cdpage "github.com/chromedp/cdproto/page"

	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserfleet/browserfleet/observation/pagejs"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// Frame is a frame below the main one.
type Frame struct {
	ID protocol.FrameID
	// Parent is empty when it is the main frame.
	Parent protocol.FrameID
	URL    string
	Loader string // of its present document
	// World of its present document; its Unique is empty while there is none.
	World World
	// Crashed: its process died. Unresponsive: its process has not answered for some
	// seconds.
	Crashed      bool
	Unresponsive bool
}

// child is a frame below the main one, by its id.
func (s *State) child(id protocol.FrameID) (Frame, bool) {
	for _, f := range s.Children {
		if f.ID == id {
			return f, true
		}
	}
	return Frame{}, false
}

// Left says whether a frame has another document than it had in s, or is gone.
func (s *State) Left(id protocol.FrameID, before State) bool {
	now, there := s.child(id)
	then, _ := before.child(id)
	return !there || now.Crashed || now.Loader != then.Loader
}

// Within is the page as one of its frames has it: the script is called in the
// frame's world, and commands go to the session that hosts the frame. Input by
// coordinates belongs to the page itself. Without a frame it is the page.
func Within(page Page, frame protocol.FrameID) Page {
	if frame == "" {
		return page
	}
	return &framed{Page: page, frame: frame}
}

type framed struct {
	Page
	frame protocol.FrameID
}

func (f *framed) State() State {
	s := f.Page.State()
	child, there := s.child(f.frame)
	s.World, s.frame, s.detached = child.World, f.frame, !there || child.Crashed
	return s
}

func (f *framed) Send(method string, params any) (*cdp.Pending, error) {
	return f.Page.SendTo(f.State().World.Session, method, params)
}

// awaitWorld waits for the world of the page or frame. The empty document that a
// frame begins with has none until it is asked for.
func awaitWorld(ctx context.Context, page Page) (State, error) {
	if s := page.State(); s.frame != "" && s.World.Unique == "" && s.blocked() == nil {
		if err := makeWorld(page, s.World); err != nil {
			return s, err
		}
	}
	return Until(ctx, page, func(s State) bool { return s.World.Unique != "" })
}

// makeWorld asks for the world of a document that has none. That it is there is
// told by the state; its script is installed at the first call.
func makeWorld(page Page, w World) error {
	params := cdpage.CreateIsolatedWorldParams{FrameID: cdproto.FrameID(w.Frame), WorldName: pagejs.WorldName}
	pending, err := page.SendTo(w.Session, cdpage.CommandCreateIsolatedWorld, params)
	if err != nil {
		return translate(page, err)
	}
	pending.Forget()
	return nil
}

// lostFrame is a call that was lost with a frame's session: the frame is gone, or
// it has a document in another process.
func lostFrame(page Page, err error) error {
	switch s := page.State(); {
	case s.Gone:
		return fmt.Errorf("%w: %w", ErrLost, err)
	case s.Crashed:
		return fmt.Errorf("%w: %w", ErrCrashed, err)
	case s.detached:
		return fmt.Errorf("%w: %w", ErrFrameGone, err)
	}
	return fmt.Errorf("%w: %w", ErrContextGone, err)
}

// WentAway says whether an error is the end of the document or frame that was
// asked, while the page itself may be well.
func WentAway(err error) bool {
	return errors.Is(err, ErrContextGone) || errors.Is(err, ErrFrameGone)
}
