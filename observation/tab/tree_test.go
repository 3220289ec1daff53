package tab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// frame is F<id> below F<parent>; the main frame is below nobody.
func frame(id, parent int, oopif bool) supervisor.Frame {
	f := supervisor.Frame{ID: cdproto.FrameID(fmt.Sprint("F", id)), URL: fmt.Sprint("https://a/", id), Session: "S", OOPIF: oopif}
	if parent >= 0 {
		f.ParentID = cdproto.FrameID(fmt.Sprint("F", parent))
	}
	return f
}

func TestCrossSiteFramesAreShownTwoDeep(t *testing.T) {
	t.Parallel()
	chain := []supervisor.Frame{frame(0, -1, false), frame(1, 0, true), frame(2, 1, true), frame(3, 2, false), frame(4, 3, true), frame(5, 4, false)}
	for all, want := range map[bool]*protocol.FrameTree{
		false: {Truncated: true, Omitted: 2, Children: make([]protocol.Frame, 3)},
		true:  {Children: make([]protocol.Frame, 5)},
	} {
		got := Tree(chain, 0, all)
		if len(got.Children) != len(want.Children) || got.Truncated != want.Truncated || got.Omitted != want.Omitted {
			t.Errorf("all %v: %+v", all, got)
		}
	}
	got := Tree(chain[:3], 0, false)
	want := &protocol.FrameTree{
		Top: &protocol.Frame{FrameID: "F0", URL: "https://a/0"},
		Children: []protocol.Frame{
			{FrameID: "F1", ParentFrameID: "F0", URL: "https://a/1", IsOOPIF: true, SessionID: "S"},
			{FrameID: "F2", ParentFrameID: "F1", URL: "https://a/2", IsOOPIF: true, SessionID: "S"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAHugeTreeFitsAResult(t *testing.T) {
	t.Parallel()
	frames := []supervisor.Frame{frame(0, -1, false)}
	for i := 1; i < 2000; i++ {
		f := frame(i, 0, false)
		f.URL, f.Name = strings.Repeat("ü", 2000), strings.Repeat("n", 250)
		frames = append(frames, f)
	}
	tree := Tree(frames, 500, true)
	size := 0
	for _, f := range tree.Children {
		size += len(f.URL) + len(f.Name)
	}
	if size > treeChars+4096 || tree.Omitted != 2499-len(tree.Children) || !tree.Truncated {
		t.Errorf("%d bytes in %d frames, %d omitted", size, len(tree.Children), tree.Omitted)
	}
	if got := Tree(nil, 0, false); got.Top != nil || got.Truncated || got.Children == nil {
		t.Errorf("no frames: %+v", got)
	}
}

// Whatever the tree is, nothing is shown before its parent, nothing twice, and
// what is not shown is counted.
func TestATreeAccountsForEveryFrame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "frames")
		frames := []supervisor.Frame{frame(0, -1, false)}
		for i := 1; i < n; i++ {
			frames = append(frames, frame(i, rapid.IntRange(0, i-1).Draw(t, "parent"), rapid.Bool().Draw(t, "oopif")))
		}
		all := rapid.Bool().Draw(t, "all")
		tree := Tree(frames, 0, all)
		if len(tree.Children)+1+tree.Omitted != n || all && tree.Omitted != 0 || !all && len(tree.Children) > treeFrames {
			t.Fatalf("%d of %d frames, %d omitted", len(tree.Children), n, tree.Omitted)
		}
		seen := map[protocol.FrameID]bool{tree.Top.FrameID: true}
		for _, f := range tree.Children {
			if seen[f.FrameID] || !seen[f.ParentFrameID] {
				t.Fatalf("%s below %s comes too early or twice", f.FrameID, f.ParentFrameID)
			}
			seen[f.FrameID] = true
		}
	})
}
