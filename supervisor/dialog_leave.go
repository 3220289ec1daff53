package supervisor

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/runtime"
)

const (
	// wayLimit is how long a page that asks may take until its way is free.
	wayLimit = 3 * time.Second
	// wayRounds: a page that asks so often while it is left asks for ever.
	wayRounds = 3
	// quietScript holds once the page has run its timers of the next moment: one that
	// asks by an interval has asked by then.
	quietScript = "new Promise(done => setTimeout(done, 50))"
)

// MakeWay makes a page ready to be left by a navigation that follows. Open dialogs of
// it and of the tabs that share its renderer are answered; a page that goes on
// asking, or that does not run at all, loses its process: in front of an open dialog
// a navigation does harm, one of a page that asks again and again would always meet
// one, and one to the same site would wait in the queue of a process that loops. It
// fails nothing, and takes at most wayLimit and the end of a process.
func (p *Page) MakeWay(ctx context.Context) {
	if p.Snapshot().Unresponsive {
		_ = p.EndRenderer(ctx)
		return
	}
	if !p.startWay() {
		if p.isDeaf(ctx) {
			_ = p.EndRenderer(ctx)
		}
		return
	}
	watch := p.Watch()
	defer watch.Close()
	limited, cancel := context.WithTimeout(ctx, wayLimit)
	defer cancel()
	for asked := 0; ; asked++ {
		switch p.becomesQuiet(limited, watch) {
		case quiet:
			return
		case slow:
			if asked == 0 {
				return // nothing more than that
			}
		case asks:
			if asked < wayRounds {
				continue
			}
		}
		p.endAskers(ctx)
		return
	}
}

// isDeaf reports whether a page that has not asked runs nothing, for as long as a page
// that only works hard may take.
func (p *Page) isDeaf(ctx context.Context) bool {
	if s := p.Snapshot(); s.Crashed || s.Gone || s.Orphaned || len(s.Dialogs) > 0 {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, wayLimit)
	defer cancel()
	err := p.Call(limited, commandGetIsolateID, nil, nil)
	s := p.Snapshot()
	return err != nil && limited.Err() != nil && ctx.Err() == nil && !s.Crashed && !s.Gone && len(s.Dialogs) == 0
}

// endAskers ends what asks for ever: a cross-site frame alone, or else the page.
func (p *Page) endAskers(ctx context.Context) {
	p.mu.Lock()
	f := p.frames.byID[p.storm.frame]
	alone := f != nil && f.Session != p.session.ID() && time.Since(p.storm.at) < stormWindow
	p.mu.Unlock()
	if alone && p.endAskingFrames(ctx) == nil {
		return
	}
	_ = p.EndRenderer(ctx) // the navigation tells what became of it
}

// startWay answers what is open, and from now on what opens. It is false for a page
// that has not asked lately.
func (p *Page) startWay() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lately := false
	for _, r := range p.related() {
		lately = lately || len(r.open) > 0 || time.Since(r.storm.at) < stormWindow
	}
	if !lately || p.crashed || p.gone || p.orphanedLocked() {
		return false
	}
	p.clearDialogs()
	return true
}

// clearDialogs answers what is open in the page and its relatives, for a navigation
// of the agent. Callers hold mu.
func (p *Page) clearDialogs() {
	p.leaving = leaving{active: true}
	for _, tab := range p.related() {
		for _, d := range append([]*Dialog(nil), tab.open...) {
			tab.runAuto(d.ID, leave(d), ClosedByNavigation)
		}
	}
}

// quietness is what a page that is to be left does.
type quietness int

const (
	quiet quietness = iota // it has run for a moment without asking, or has ended
	asks                   // another dialog opened
	slow                   // it did not come to that in time
)

func (p *Page) becomesQuiet(ctx context.Context, watch *Watch) quietness {
	p.mu.Lock()
	before, pending := p.asked(), p.sendQuiet()
	p.mu.Unlock()
	if pending == nil {
		return quiet
	}
	defer pending.Forget()
	for {
		select {
		case <-pending.Done():
		case <-watch.Wake():
		case <-ctx.Done():
		}
		p.mu.Lock()
		more := p.asked() > before
		p.mu.Unlock()
		switch {
		case more:
			return asks
		case isDone(pending):
			return quiet
		case ctx.Err() != nil:
			return slow
		}
	}
}

func isDone(pending *cdp.Pending) bool {
	select {
	case <-pending.Done():
		return true
	default:
		return false
	}
}

// asked counts the dialogs of the page and its relatives. Callers hold mu.
func (p *Page) asked() (n uint64) {
	for _, r := range p.related() {
		n += r.storm.opened
	}
	return n
}

// sendQuiet asks the page to say when it has run for a moment; nil where it has no
// document that could. Callers hold mu.
func (p *Page) sendQuiet() *cdp.Pending {
	world, ok := p.pageSession.worlds[p.frames.main]
	if !ok {
		return nil
	}
	yes := true
	pending, err := p.session.Send(runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: quietScript, UniqueContextID: world.UniqueID, AwaitPromise: &yes,
	})
	if err != nil {
		return nil
	}
	return pending
}

// runEndStuck ends a renderer that waits for an answer which nobody can give any
// more. The dialog is gone with it; where it does not end, the browser has to be
// replaced.
func (p *Page) runEndStuck(id DialogID) {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	if p.EndRenderer(ctx) == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.findDialog(id); d != nil {
		p.orphan(d, dialogUnanswerable)
	}
}
