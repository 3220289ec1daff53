package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

const (
	// recoverPatience is how long the set-up of a page that was there before us may
	// take, and again after its reload.
	recoverPatience = 2 * time.Second
	// recoveredText stands for what such a dialog said: no event tells of it again.
	recoveredText = "(it was open before the page was attached; its kind and its text are not known)"
)

// startRejoined makes a tab of a page that was there before us: it attaches without being
// paused. Callers hold mu.
func (t *tabs) startRejoined(a *attached, info *target.Info) {
	p, acks, err := t.adopt(a, info.URL, nil)
	if err != nil || len(acks) == 0 {
		return // the connection has ended
	}
	t.tellAll(func(h *Happened) { h.TabsOpened = bounded(h, h.TabsOpened, p.id) })
	t.workers.Go(func() { p.runRecover(acks) })
}

// runRecover looks whether the page answers. A dialog that was open before us is
// not told again and cannot be answered ("No dialog is showing"), and its page
// takes no command; a reload ends it. Where not even that helps, the browser has
// to be replaced.
func (p *Page) runRecover(acks []*cdp.Pending) {
	defer func() {
		for _, ack := range acks {
			ack.Forget()
		}
	}()
	enabled := acks[0]
	if p.settles(enabled) || p.told() > 0 || !p.browserAnswers() {
		return
	}
	p.mu.Lock()
	p.dialogs++ // before the reload: what the page asks afterwards comes later
	id, told := DialogID(fmt.Sprintf("d-%d-%d", p.config.Generation, p.dialogs)), p.storm.opened
	p.mu.Unlock()
	now := time.Now()
	p.post(p.session, page.CommandReload, nil)
	// A page that tells of a dialog is not held by the one from before, though the
	// reply may not come until that dialog is answered.
	recovered := p.settles(enabled) || p.told() > told
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &Dialog{
		ID:    id,
		State: DialogOpen, Type: page.DialogTypeAlert, Message: recoveredText, Tab: p.id,
		FrameID: p.frames.main, OpenedAt: now,
	}
	p.open = append(p.open, d)
	if recovered {
		p.closeDialog(d, dialogGone, ClosedByRecovery)
	} else {
		p.orphan(d, dialogFrameRemoved)
	}
}

// told counts the dialogs that the page told of since it is attached.
func (p *Page) told() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.storm.opened
}

// settles waits for a reply, for as long as patience lasts.
func (p *Page) settles(pending *cdp.Pending) bool {
	patience := time.NewTimer(recoverPatience)
	defer patience.Stop()
	select {
	case <-pending.Done():
		return true
	case <-p.lost:
		return true
	case <-patience.C:
		return false
	}
}

// browserAnswers: then it is the page that does not.
func (p *Page) browserAnswers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), recoverPatience)
	defer cancel()
	return p.Browser().Call(ctx, target.CommandGetTargets, nil, nil) == nil
}
