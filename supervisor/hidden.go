package supervisor

import (
	"context"
	"fmt"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// Hidden is a page that nobody sees, in the environment's context: a way to the
// storage of an origin that the page does not show. Every request of it is paused
// (Fetch.enable for everything), so nothing reaches the network unless its owner
// continues it. The supervisor keeps no state about it; its owner enables domains
// and subscribes.
type Hidden struct {
	*cdp.Session
	Target target.ID
	tabs   *tabs
}

// hiding tells hidden pages from popups. The event that a page is attached comes
// before the reply that says which page was created, so while a reply is due,
// pages without an opener stay paused and undecided. Page.mu protects it.
type hiding struct {
	due       int
	undecided []undecided
	late      map[target.ID]chan *attached // created, not yet attached
}

type undecided struct {
	session *attached
	info    *target.Info
}

// wants says whether the page may be a hidden one and takes it if so.
func (h *hiding) wants(a *attached, info *target.Info, context protocol.BrowserContextID) bool {
	if info.BrowserContextID != context || info.OpenerID != "" {
		return false
	}
	if waiting, ok := h.late[info.TargetID]; ok {
		waiting <- a
		delete(h.late, info.TargetID)
		return true
	}
	if h.due == 0 {
		return false
	}
	h.undecided = append(h.undecided, undecided{a, info})
	return true
}

// OpenHidden opens a hidden page on about:blank. It waits at most until ctx ends,
// 10 s without a deadline.
func (p *Page) OpenHidden(ctx context.Context) (*Hidden, error) {
	ctx, cancel := bound(ctx)
	defer cancel()
	yes := true
	a, err := p.create(ctx, target.CreateTargetParams{URL: blank, Hidden: &yes})
	if err != nil {
		return nil, fmt.Errorf("supervisor: open a hidden page: %w", err)
	}
	h := &Hidden{Session: a.session, Target: a.target, tabs: p.tabs}
	if err := p.prepareHidden(ctx, a); err != nil {
		p.post(p.Browser(), target.CommandCloseTarget, target.CloseTargetParams{TargetID: a.target})
		return nil, fmt.Errorf("supervisor: open a hidden page: %w", err)
	}
	return h, nil
}

// create makes a page in the environment's context and returns its session. The
// page is paused and belongs to nobody yet.
func (t *tabs) create(ctx context.Context, params target.CreateTargetParams) (*attached, error) {
	t.mu.Lock()
	t.hiding.due++
	params.BrowserContextID = t.context
	t.mu.Unlock()
	created, err := protocol.Call(ctx, t.conn.Session(""), target.CreateTarget, params)
	arrived := t.decide(created.TargetID)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-arrived:
		return a, nil
	case <-t.lost:
		return nil, t.lostErr()
	case <-ctx.Done():
		t.mu.Lock()
		delete(t.hiding.late, created.TargetID)
		t.mu.Unlock()
		t.post(t.conn.Session(""), target.CommandCloseTarget, target.CloseTargetParams(created))
		return nil, context.Cause(ctx)
	}
}

// decide is called when the reply is here: it returns where the session of the
// created page comes, and closes the undecided pages that are nobody's.
func (t *tabs) decide(id target.ID) <-chan *attached {
	arrived := make(chan *attached, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hiding.due--
	rest := t.hiding.undecided[:0:0]
	found := false
	for _, u := range t.hiding.undecided {
		switch {
		case id != "" && u.info.TargetID == id:
			arrived <- u.session
			found = true
		case t.hiding.due > 0:
			rest = append(rest, u)
		default:
			t.onPopup(u.session, u.info)
		}
	}
	t.hiding.undecided = rest
	if !found && id != "" {
		if t.hiding.late == nil {
			t.hiding.late = make(map[target.ID]chan *attached)
		}
		t.hiding.late[id] = arrived
	}
	t.wake()
	return arrived
}

func (t *tabs) prepareHidden(ctx context.Context, a *attached) error {
	t.mu.Lock()
	a.kind = kindHidden
	t.sessions[a.session.ID()] = a
	t.mu.Unlock()
	var acks []*cdp.Pending
	everything := []*fetch.RequestPattern{{URLPattern: "*"}}
	for _, c := range []command{
		{fetch.CommandEnable, fetch.EnableParams{Patterns: everything}},
		{runtime.CommandRunIfWaitingForDebugger, nil},
	} {
		ack, err := a.session.Send(c.method, c.params)
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	return waitAll(ctx, acks)
}

// Close ends the hidden page.
func (h *Hidden) Close(ctx context.Context) error {
	_, err := protocol.Call(ctx, h.tabs.conn.Session(""), target.CloseTarget, target.CloseTargetParams{TargetID: h.Target})
	if err != nil {
		return fmt.Errorf("supervisor: close a hidden page: %w", err)
	}
	return nil
}
