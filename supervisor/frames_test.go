package supervisor

import (
	"fmt"
	"testing"

	protocol "github.com/chromedp/cdproto/cdp"
	"pgregory.net/rapid"
)

func TestRemovingAFrameTakesItsDescendantsOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree := newFrameTree()
		n := rapid.IntRange(1, 30).Draw(t, "frames")
		parents := make([]int, n)
		for i := range n {
			f := tree.get(frameName(i))
			if i > 0 {
				parents[i] = rapid.IntRange(0, i-1).Draw(t, "parent")
				f.ParentID = frameName(parents[i])
			}
		}
		root := rapid.IntRange(0, n-1).Draw(t, "root")
		keep := rapid.Bool().Draw(t, "keep")
		tree.remove(frameName(root), keep)
		for i := range n {
			gone := false
			for j := i; ; j = parents[j] {
				if j == root {
					gone = i != root || !keep
					break
				}
				if j == 0 {
					break
				}
			}
			if (tree.byID[frameName(i)] == nil) != gone {
				t.Fatalf("frame %d of %v after removing %d (keep %v): gone should be %v", i, parents, root, keep, gone)
			}
		}
		if len(tree.list()) != len(tree.byID) || len(tree.order) != len(tree.byID) {
			t.Fatal("list and tree differ")
		}
	})
}

func TestTheTreeIsBoundedAndSurvivesACircle(t *testing.T) {
	t.Parallel()
	tree := newFrameTree()
	for i := range maxFrames + 5 {
		tree.get(frameName(i))
	}
	if len(tree.byID) != maxFrames || tree.missed != 5 {
		t.Errorf("%d frames, %d missed", len(tree.byID), tree.missed)
	}
	tree.get(frameName(1)).ParentID = frameName(2)
	tree.get(frameName(2)).ParentID = frameName(1)
	if tree.within(frameName(1), frameName(9)) {
		t.Error("a circle leads somewhere")
	}
}

func frameName(i int) protocol.FrameID { return protocol.FrameID(fmt.Sprint("F", i)) }

func TestALateWordOfAnEarlierDocumentCountsForNothing(t *testing.T) {
	t.Parallel()
	var l Lifecycle
	l.reach("A", "load") // first word: about:blank as it was found
	l.begin("B")
	l.reach("A", "networkIdle")
	l.reach("B", "DOMContentLoaded")
	l.begin("B")
	if want := (Lifecycle{LoaderID: "B", DOMContentLoaded: true}); l != want {
		t.Errorf("%+v", l)
	}
}

func TestRingKeepsTheNewestAndLeavesOldViewsAlone(t *testing.T) {
	t.Parallel()
	var list []int
	var views [][]int
	for i := range 10 {
		list = ring(list, i, 3)
		views = append(views, list)
	}
	for i, view := range views {
		if view[len(view)-1] != i || len(view) > 3 {
			t.Errorf("view %d is %v", i, view)
		}
	}
}
