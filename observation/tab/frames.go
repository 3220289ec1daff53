package tab

import (
	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"

	cdproto "github.com/chromedp/cdproto/cdp"
)

// frames are the worlds of a tab as they were at a snapshot. Whatever changes a
// world makes a new snapshot, so they are made anew with it only.
type frames struct {
	of       *supervisor.Snapshot
	main     observation.World
	children []observation.Frame
}

func (f *frames) look(page *supervisor.Page, s *supervisor.Snapshot) {
	if f.of == s {
		return
	}
	*f = frames{of: s}
	worlds := make(map[cdproto.FrameID]observation.World)
	for _, w := range page.Worlds() {
		worlds[w.FrameID] = observation.World{
			Unique: w.UniqueID, Frame: protocol.FrameID(w.FrameID), Loader: string(w.LoaderID),
			Session: w.Session.ID(), Context: w.ContextID,
		}
	}
	f.main = worlds[s.FrameID]
	below := make(map[cdproto.FrameID][]supervisor.Frame)
	for _, frame := range s.Frames {
		if frame.ID != s.FrameID {
			below[frame.ParentID] = append(below[frame.ParentID], frame)
		}
	}
	// Breadth first: a frame that came back from another process is listed late.
	for queue := []cdproto.FrameID{s.FrameID}; len(queue) > 0; queue = queue[1:] {
		for _, frame := range below[queue[0]] {
			queue = append(queue, frame.ID)
			f.children = append(f.children, child(frame, s.FrameID, worlds[frame.ID]))
		}
	}
}

func child(f supervisor.Frame, main cdproto.FrameID, world observation.World) observation.Frame {
	out := observation.Frame{
		ID: protocol.FrameID(f.ID), URL: f.URL, Loader: string(f.LoaderID), World: world,
		Crashed: f.Crashed, Unresponsive: f.Unresponsive,
	}
	if f.ParentID != main {
		out.Parent = protocol.FrameID(f.ParentID)
	}
	out.World.Frame, out.World.Loader, out.World.Session = out.ID, out.Loader, f.Session
	return out
}
