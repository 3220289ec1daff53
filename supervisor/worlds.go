package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// defaultWait is the deadline of a wait whose context has none.
const defaultWait = 10 * time.Second

// World is the isolated world of one document.
type World struct {
	// UniqueID is for Runtime.evaluate: unlike ContextID it can never mean a
	// context of another process.
	UniqueID  string
	ContextID runtime.ExecutionContextID
	FrameID   protocol.FrameID
	LoaderID  protocol.LoaderID
	// Session is where commands for this world go.
	Session *cdp.Session
}

// World returns the world of the main frame's current document and waits for it
// during a navigation, at most until ctx ends (10 s without a deadline). While it
// would have to wait, an open dialog is ErrDialogOpen and a crash cdp.ErrCrashed.
func (p *Page) World(ctx context.Context) (World, error) {
	var world World
	_, err := p.await(ctx, func() (bool, error) {
		switch w, ok := p.worldLocked(p.pageSession, p.frames.main); {
		case p.gone:
			return false, cdp.ErrDetached
		case ok:
			world = w
			return true, nil
		case p.crashed:
			return false, cdp.ErrCrashed
		case p.stopped():
			return false, ErrDialogOpen
		}
		return false, nil
	})
	if err != nil {
		return World{}, fmt.Errorf("supervisor: world of the main frame: %w", err)
	}
	return world, nil
}

// ErrFrameUnknown: no frame of the tab has this id, or no longer.
var ErrFrameUnknown = errors.New("supervisor: no such frame")

// WorldIn returns the world of any frame: a cross-site one's is on the frame's own
// session, a same-process one's on its parent's. Where the new-document script made
// none (the empty document that a frame begins with), it is made now. It waits at
// most until ctx ends (10 s without a deadline).
func (p *Page) WorldIn(ctx context.Context, id protocol.FrameID) (World, error) {
	world, f, err := p.worldOrFrame(id)
	if err != nil || world.UniqueID != "" {
		return world, err
	}
	ctx, cancel := bound(ctx)
	defer cancel()
	session := p.conn.Session(f.Session)
	if err := session.Call(ctx, page.CommandCreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: id, WorldName: p.config.WorldName}, nil); err != nil {
		return World{}, fmt.Errorf("supervisor: world of frame %s: %w", id, err)
	}
	_, err = p.await(ctx, func() (bool, error) {
		w, ok := p.worldLocked(p.sessions[f.Session], id)
		if p.frames.byID[id] == nil {
			return false, ErrFrameUnknown
		}
		world = w
		return ok, nil
	})
	if err == nil {
		err = session.Call(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{Expression: p.config.WorldScript, UniqueContextID: world.UniqueID}, nil)
	}
	if err != nil {
		return World{}, fmt.Errorf("supervisor: world of frame %s: %w", id, err)
	}
	return world, nil
}

func (p *Page) worldOrFrame(id protocol.FrameID) (World, Frame, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.frames.byID[id]
	switch {
	case f == nil:
		return World{}, Frame{}, fmt.Errorf("%w: %s", ErrFrameUnknown, id)
	case f.Crashed, p.crashed && f.Session == p.session.ID():
		return World{}, Frame{}, fmt.Errorf("supervisor: world of frame %s: %w", id, cdp.ErrCrashed)
	case p.stopped():
		return World{}, Frame{}, fmt.Errorf("supervisor: world of frame %s: %w", id, ErrDialogOpen)
	}
	w, _ := p.worldLocked(p.sessions[f.Session], id)
	return w, *f, nil
}

// Worlds returns the worlds that exist now, the main frame's first.
func (p *Page) Worlds() []World {
	p.mu.Lock()
	defer p.mu.Unlock()
	var worlds []World
	for _, f := range p.frames.list() {
		if w, ok := p.worldLocked(p.sessions[f.Session], f.ID); ok {
			worlds = append(worlds, w)
		}
	}
	return worlds
}

func (p *Page) worldLocked(a *attached, id protocol.FrameID) (World, bool) {
	if a == nil {
		return World{}, false
	}
	w, ok := a.worlds[id]
	if !ok {
		return World{}, false
	}
	if f := p.frames.byID[id]; f != nil {
		w.LoaderID = f.LoaderID
	}
	w.Session = a.session
	return w, true
}

func (p *Page) onContextCreated(a *attached, e cdp.Event) error {
	var v runtime.EventExecutionContextCreated
	if err := e.Decode(&v); err != nil {
		return err
	}
	if v.Context == nil {
		return nil
	}
	var aux struct {
		FrameID protocol.FrameID `json:"frameId"`
		Type    string           `json:"type"`
	}
	if err := jsonv2.Unmarshal(v.Context.AuxData, &aux); err != nil {
		return fmt.Errorf("aux data of a context: %w", err)
	}
	a.contexts[v.Context.ID] = script{v.Context.UniqueID, aux.FrameID} // whose console messages name it
	if aux.Type == "isolated" && v.Context.Name == p.config.WorldName {
		a.worlds[aux.FrameID] = World{UniqueID: v.Context.UniqueID, ContextID: v.Context.ID, FrameID: aux.FrameID}
	}
	return nil
}

func (p *Page) onContextDestroyed(a *attached, e cdp.Event) error {
	var v runtime.EventExecutionContextDestroyed
	if err := e.Decode(&v); err != nil {
		return err
	}
	for id, w := range a.worlds {
		if w.UniqueID == v.ExecutionContextUniqueID {
			delete(a.worlds, id)
		}
	}
	for id, c := range a.contexts {
		if c.unique == v.ExecutionContextUniqueID {
			delete(a.contexts, id)
		}
	}
	return nil
}

// script is an execution context, of a page's own world or of ours.
type script struct {
	unique string
	frame  protocol.FrameID
}

func (p *Page) onContextsCleared(a *attached, _ cdp.Event) error {
	clear(a.worlds)
	clear(a.contexts)
	return nil
}
