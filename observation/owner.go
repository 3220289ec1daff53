package observation

import (
	"context"
	"encoding/json"
	"errors"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// owner is the element that holds a frame: a number in the table of the parent's
// document. Nothing that a page can do gives a frame another one.
type owner struct {
	Page   protocol.PageID  `json:"-"`
	Parent protocol.FrameID `json:"-"` // empty for the main frame
	Loader string           `json:"-"` // of the parent's document
	Doc    string           `json:"doc"`
	ID     int64            `json:"id"`
}

// ownFunction takes the element into the table of its document.
const ownFunction = `function () {
  const api = globalThis.browserfleet;
  return api && api.document === document && typeof api.own === "function" ? api.own(this) : "";
}`

// Holder is the element that holds a frame, in the frame Parent (empty for the main
// one).
type Holder struct {
	Parent protocol.FrameID
	Doc    string
	ID     int64
}

// Holders are the elements that hold a frame and the frames around it, from within
// outwards; ok is false when one is not known, as of a frame that is gone.
func (o *Observer) Holders(frame protocol.FrameID) (all []Holder, ok bool) {
	for frame != "" {
		own, known := o.owners[frame]
		if !known {
			return nil, false
		}
		all = append(all, Holder{Parent: own.Parent, Doc: own.Doc, ID: own.ID})
		frame = own.Parent
	}
	return all, true
}

// maxOwners bounds the table; those of closed tabs are the only ones too many.
const maxOwners = 10_000

// dropOwners forgets the owners of frames of this tab that are gone, or whose parents
// have another document.
func (o *Observer) dropOwners(s *State) {
	if len(o.owners) > maxOwners {
		clear(o.owners)
	}
	for id, own := range o.owners {
		if own.Page != s.ID {
			continue
		}
		f, there := s.child(id)
		if !there || f.Parent != own.Parent || s.loaderOf(f.Parent) != own.Loader {
			delete(o.owners, id)
		}
	}
}

func (s *State) loaderOf(frame protocol.FrameID) string {
	if frame == "" {
		return s.World.Loader
	}
	f, _ := s.child(frame)
	return f.Loader
}

// finding is the way from a frame to its owner: three calls, each of which needs
// the answer of the one before.
type finding struct {
	of      *framePass
	in      Page // its parent's view
	world   World
	pending *cdp.Pending
	err     error
}

// findOwners finds the owners that are not known yet, all frames at a time. What is
// found in vain is an error of that frame.
func (o *Observer) findOwners(ctx context.Context, page Page, frames []*framePass) {
	var missing []*finding
	for _, f := range frames {
		if known, ok := o.owners[f.frame.ID]; ok {
			f.owner = known
		} else if !errors.Is(f.err, errFrameMany) {
			missing = append(missing, &finding{of: f, in: Within(page, f.frame.Parent)})
		}
	}
	if len(missing) == 0 {
		return
	}
	owners := make([]dom.GetFrameOwnerResult, len(missing))
	nodes := make([]dom.ResolveNodeResult, len(missing))
	answers := make([]runtime.CallFunctionOnResult, len(missing))
	step(missing, func(_ int, f *finding) {
		f.send(dom.CommandGetFrameOwner, dom.GetFrameOwnerParams{FrameID: cdproto.FrameID(f.of.frame.ID)})
	}, func(i int, f *finding) { f.await(ctx, &owners[i]) })
	step(missing, func(i int, f *finding) {
		if s := f.in.State(); s.World.Unique == "" {
			f.err = ErrContextGone
		} else {
			f.world = s.World
			f.send(dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: owners[i].BackendNodeID, ExecutionContextID: f.world.Context})
		}
	}, func(i int, f *finding) { f.await(ctx, &nodes[i]) })
	yes := true
	step(missing, func(i int, f *finding) {
		if nodes[i].Object == nil {
			f.err = ErrContextGone
			return
		}
		f.send(runtime.CommandCallFunctionOn, runtime.CallFunctionOnParams{
			ObjectID: nodes[i].Object.ObjectID, FunctionDeclaration: ownFunction, ReturnByValue: &yes,
		})
	}, func(i int, f *finding) {
		f.await(ctx, &answers[i])
		f.release(nodes[i].Object)
	})
	for i, f := range missing {
		own := owner{Page: page.State().ID, Parent: f.of.frame.Parent, Loader: f.world.Loader}
		if f.err == nil {
			f.err = own.take(&answers[i])
		}
		if f.err == nil {
			f.of.owner, o.owners[f.of.frame.ID] = own, own
		} else if f.of.err == nil {
			f.of.err = f.err
		}
	}
}

// step sends for all that are still on their way, then awaits all.
func step(all []*finding, send, await func(int, *finding)) {
	for i, f := range all {
		if f.pending = nil; f.err == nil {
			send(i, f)
		}
	}
	for i, f := range all {
		if f.pending != nil {
			await(i, f)
		}
	}
}

func (f *finding) send(method string, params any) {
	var err error
	if f.pending, err = f.in.SendTo(f.in.State().World.Session, method, params); err != nil {
		f.err = translate(f.in, err)
	}
}

func (f *finding) await(ctx context.Context, result any) {
	if err := Await(ctx, f.in, f.pending, result); err != nil {
		f.err = replaced(f.in, err)
	}
}

func (f *finding) release(object *runtime.RemoteObject) {
	if pending, err := f.in.SendTo(f.world.Session, runtime.CommandReleaseObject, runtime.ReleaseObjectParams{ObjectID: object.ObjectID}); err == nil {
		pending.Forget()
	}
}

// take reads the owner's number out of the script's answer.
func (o *owner) take(answer *runtime.CallFunctionOnResult) error {
	var text string
	if answer.Result == nil || json.Unmarshal(answer.Result.Value, &text) != nil || text == "" || len(text) > maxOwner {
		return ErrContextGone
	}
	if err := json.Unmarshal([]byte(text), o); err != nil || o.ID <= 0 {
		return ErrContextGone
	}
	return nil
}

// maxOwner is more than such an answer has, in bytes.
const maxOwner = 200

// holder is the element of the pass that holds a frame, and whether a user can see
// what is in it; nil when the pass does not know it.
func (p *pass) holder(own owner) (in *passFrame, shown bool) {
	if own.ID == 0 || own.Doc != p.Doc {
		return nil, false
	}
	for i := range p.Frames {
		if p.Frames[i].ID == own.ID {
			return &p.Frames[i], p.Frames[i].Shown
		}
	}
	return nil, false
}
