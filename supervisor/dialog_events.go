package supervisor

import (
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// onDialogOpening takes a new dialog of any frame of the tab: it arrives once, on
// the tab's own session.
func (p *Page) onDialogOpening(_ *attached, e cdp.Event) error {
	var v page.EventJavascriptDialogOpening
	if err := e.Decode(&v); err != nil {
		return err
	}
	p.dialogs++
	now := time.Now()
	message, cut1 := clip(v.Message, maxDialogText)
	prompt, cut2 := clip(v.DefaultPrompt, maxDialogText)
	url, _ := clip(v.URL, maxURL)
	d := &Dialog{
		ID:    DialogID(fmt.Sprintf("d-%d-%d", p.config.Generation, p.dialogs)),
		State: DialogOpen, Type: v.Type, Message: message, DefaultPrompt: prompt,
		Truncated: cut1 || cut2, Tab: p.id, FrameID: v.FrameID, URL: url, OpenedAt: now,
	}
	d.prompt, _ = clip(v.DefaultPrompt, maxPromptAnswer)
	d.Storm = p.storm.count(now, d)
	p.open = append(p.open, d)
	p.touchTabs()
	p.tell(func(h *Happened) {
		h.DialogsOpened++
		if d.Storm {
			h.DialogsDismissed++
		}
		h.Dialogs = fewDialogs(h.Dialogs, *d)
	})
	for _, other := range p.related()[1:] {
		for w := range other.watches {
			w.add(func(*Happened) {}) // it is stopped, too
		}
	}
	if a, by, ok := p.verdictOn(d); ok {
		p.runAuto(d.ID, a, by)
	}
	return nil
}

// fewDialogs bounds what one action's evidence lists; the rest is counted.
func fewDialogs(list []Dialog, d Dialog) []Dialog {
	if len(list) >= stormBudget {
		return list
	}
	return append(list, d.shown())
}

// shown is the dialog without what is needed to answer it.
func (d *Dialog) shown() Dialog {
	c := *d
	c.prompt = ""
	return c
}

func (p *Page) onDialogClosed(_ *attached, e cdp.Event) error {
	var v page.EventJavascriptDialogClosed
	if err := e.Decode(&v); err != nil {
		return err
	}
	for _, d := range p.open {
		if d.FrameID != v.FrameID {
			continue
		}
		d.Accepted = v.Result
		by := d.claimedBy
		if by == "" {
			by = ClosedByRemote
		}
		p.closeDialog(d, dialogGone, by)
		return nil
	}
	return nil // archived when its answer was acknowledged
}

// closeDialog moves a dialog to the ring. Callers hold mu.
func (p *Page) closeDialog(d *Dialog, event dialogEvent, by ClosedBy) {
	next, err := nextDialog(d.State, event)
	if err != nil {
		return
	}
	d.State, d.ClosedBy, d.ClosedAt = next, by, time.Now()
	d.prompt = ""
	for i, open := range p.open {
		if open == d {
			p.open = append(p.open[:i:i], p.open[i+1:]...)
			break
		}
	}
	p.archive(*d)
}

// archive adds a closed dialog to the ring. Callers hold mu.
func (p *Page) archive(d Dialog) {
	p.recent = ring(p.recent, d, recentDialogs)
	p.tell(func(h *Happened) { h.DialogsClosed = fewDialogs(h.DialogsClosed, d) })
	p.touchTabs()
}

// onSubtreeGoes comes before the frames leave the tree, and before frameDetached.
func (p *Page) onSubtreeGoes(_ *attached, e cdp.Event) error {
	var v page.EventFrameSubtreeWillBeDetached
	if err := e.Decode(&v); err != nil {
		return err
	}
	p.orphanDialogs(v.FrameID)
	return nil
}

// orphanDialogs marks the open dialogs of a removed frame and its descendants.
// It runs before the frames leave the tree. A frame that the bounded tree does not
// know may have been below the removed one. Callers hold mu.
func (p *Page) orphanDialogs(removed protocol.FrameID) {
	for _, d := range p.open {
		if p.frames.byID[d.FrameID] == nil || p.frames.within(d.FrameID, removed) {
			p.orphan(d, dialogFrameRemoved)
		}
	}
}

// orphanReplaced is called when a document of the main frame takes the place of
// another: a dialog that nobody has answered belongs to the old one, and cannot be
// answered any more. Callers hold mu.
func (p *Page) orphanReplaced() {
	for _, d := range p.open {
		if d.State == DialogOpen {
			p.orphan(d, dialogFrameRemoved)
		}
	}
}

// orphan marks a dialog that must never be answered. Callers hold mu.
func (p *Page) orphan(d *Dialog, event dialogEvent) {
	next, err := nextDialog(d.State, event)
	if err != nil {
		return
	}
	d.State = next
	p.tell(func(h *Happened) { h.Orphaned = true })
	p.touchTabs()
}

// orphanedLocked says whether an orphaned dialog is open. Callers hold mu.
func (p *Page) orphanedLocked() bool {
	for _, d := range p.open {
		if d.State == DialogOrphaned {
			return true
		}
	}
	return false
}

// dropDialogs closes all of them: the page is gone. Callers hold mu.
func (p *Page) dropDialogs() {
	for len(p.open) > 0 {
		p.closeDialog(p.open[0], dialogPageGone, ClosedByRemote)
	}
}
