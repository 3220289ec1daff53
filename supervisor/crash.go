package supervisor

import (
	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// onTargetCrashed is the browser's word, which also comes when the session's own
// event is lost with the renderer.
func (t *tabs) onTargetCrashed(e cdp.Event) error {
	var v target.EventTargetCrashed
	if err := e.Decode(&v); err != nil {
		return err
	}
	for _, a := range t.sessions {
		if a.target == v.TargetID && a.page != nil {
			a.page.touch()
			return a.page.onCrashed(a, e)
		}
	}
	return nil
}

func (p *Page) onCrashed(a *attached, _ cdp.Event) error {
	if a.crashed {
		// The browser tells every crash twice, on the session and by target. The
		// second one must not fail the navigation that is to revive the page.
		return nil
	}
	a.crashed = true
	p.conn.FailSession(a.session.ID(), cdp.ErrCrashed)
	a.probe, a.pid = probe{}, 0
	clear(a.worlds)
	clear(a.contexts)
	clear(a.requests)
	switch a.kind {
	case kindIframe:
		// What was in the frame is gone with its process; the frame itself stays in
		// its page, empty.
		id := protocol.FrameID(a.target)
		p.forgetFrames(p.frames.remove(id, true))
		if f := p.frames.byID[id]; f != nil {
			f.Crashed = true
		}
		p.tell(func(h *Happened) { h.FrameCrashed = true })
	case kindPage:
		p.crashed = true
		p.touchTabs()
		p.dropDialogs()
		p.tell(func(h *Happened) { h.Crashed, h.TabsCrashed = true, bounded(h, h.TabsCrashed, p.id) })
	}
	return nil
}

func (p *Page) onReloadedAfterCrash(a *attached, _ cdp.Event) error {
	a.crashed = false
	return nil
}
