package tab

import (
	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	cdproto "github.com/chromedp/cdproto/cdp"
)

// Bounds of a frame tree.
const (
	// treeFrames and treeDepth are Hermes': 30 children, cross-site frames two deep.
	treeFrames = 30
	treeDepth  = 2
	// treeChars bounds the text of a whole tree, in code points: a page can have
	// two thousand frames with URLs of any length, and a result has 512 KiB.
	treeChars = 150_000
	maxURL    = 512
	maxName   = 100
)

// Tree is the frames of a tab as an observation shows them: breadth first from
// the main frame, the whole of it or the first 30 without what lies deeper than
// two cross-site frames. missed are frames that nobody counted.
func Tree(frames []supervisor.Frame, missed uint64, all bool) *protocol.FrameTree {
	tree := &protocol.FrameTree{Children: []protocol.Frame{}}
	children := make(map[cdproto.FrameID][]supervisor.Frame)
	var queue []level
	for _, f := range frames {
		switch {
		case f.ParentID != "":
			children[f.ParentID] = append(children[f.ParentID], f)
		case tree.Top == nil:
			top := shown(f)
			tree.Top = &top
			queue = append(queue, level{f, 0})
		}
	}
	chars := 0
	for ; len(queue) > 0; queue = queue[1:] {
		for _, f := range children[queue[0].frame.ID] {
			next := level{f, queue[0].depth}
			if f.OOPIF {
				next.depth++
			}
			if !all && (next.depth > treeDepth || len(tree.Children) >= treeFrames) || chars > treeChars {
				continue
			}
			child := shown(f)
			chars += len(child.URL) + len(child.Name) + len(child.Origin) + 200
			tree.Children = append(tree.Children, child)
			queue = append(queue, next)
		}
	}
	tree.Omitted = len(frames) + int(missed) - len(tree.Children)
	if tree.Top != nil {
		tree.Omitted--
	}
	tree.Truncated = tree.Omitted > 0
	return tree
}

// level is a frame with the number of cross-site frames down to it.
type level struct {
	frame supervisor.Frame
	depth int
}

func shown(f supervisor.Frame) protocol.Frame {
	out := protocol.Frame{
		FrameID: protocol.FrameID(f.ID), ParentFrameID: protocol.FrameID(f.ParentID),
		URL: observation.Cut(f.URL, maxURL), Origin: observation.Cut(f.Origin, maxURL), Name: observation.Cut(f.Name, maxName),
		IsOOPIF: f.OOPIF, Crashed: f.Crashed,
	}
	if f.OOPIF {
		out.SessionID = string(f.Session)
	}
	return out
}

// list is the open tabs as an observation lists them.
func list(s *supervisor.Snapshot) []protocol.Tab {
	tabs := make([]protocol.Tab, 0, len(s.Tabs))
	for _, t := range s.Tabs {
		tabs = append(tabs, protocol.Tab{
			ID: protocol.PageID(t.ID), URL: observation.Cut(t.URL, maxURL), Current: t.ID == s.Tab, Opener: protocol.PageID(t.Opener),
			Crashed: t.Crashed,
		})
	}
	return tabs
}
