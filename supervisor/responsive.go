package supervisor

import (
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

const (
	// unresponsiveAfter is how long a page may leave a question unanswered. With a
	// beat of a second, a freeze is told after at most four.
	unresponsiveAfter = 2500 * time.Millisecond
	// maxProbes bounds the frames that are asked, besides the page.
	maxProbes = 32
	// commandGetIsolateID needs the renderer's main thread and does nothing there.
	commandGetIsolateID = "Runtime.getIsolateId"
)

// probe is the question to a renderer that is under way. tabs.mu protects it.
type probe struct {
	pending *cdp.Pending
	asked   time.Time
	late    bool // for so long that the page counts as unresponsive
}

// runProbes asks every page and cross-site frame whether its main thread runs,
// and takes note of those that have not said so for too long. A page that loops,
// or whose process was stopped, does not; nothing else tells of it. It is called
// once a beat; fair is false when the beat itself came late.
func (t *tabs) runProbes(now time.Time, fair bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := 0
	for _, a := range t.sessions {
		switch {
		case a.page == nil || a.crashed || a.kind != kindPage && a.kind != kindIframe:
			continue
		case a.kind == kindIframe:
			if frames++; frames > maxProbes {
				continue
			}
		}
		t.probe(a, now, fair)
	}
}

func (t *tabs) probe(a *attached, now time.Time, fair bool) {
	if slow := t.config.Heartbeat.HostSlow; fair && slow != nil && a.probe.overdue(now) {
		fair = !slow()
	}
	if p := a.probe.pending; p != nil {
		select {
		case <-p.Done():
			a.probe.pending = nil
		default:
		}
	}
	switch late := a.probe.judge(now, fair && !a.page.stopped()); {
	case late == a.probe.late:
	default:
		a.probe.late = late
		a.page.onResponsive(a)
	}
	// With a dialog open a renderer answers nothing, and that is well.
	if a.probe.pending == nil && !a.page.stopped() {
		if pending, err := a.session.Send(commandGetIsolateID, nil); err == nil {
			a.probe.pending, a.probe.asked = pending, now
		}
	}
}

// judge says whether the question is unanswered for too long. A dialog, or a host
// that was too slow, starts the time anew.
func (p *probe) judge(now time.Time, counts bool) bool {
	switch {
	case p.pending == nil:
		return false
	case !counts:
		p.asked = now
		return p.late
	}
	return p.late || p.overdue(now)
}

func (p *probe) overdue(now time.Time) bool {
	return p.pending != nil && now.Sub(p.asked) >= unresponsiveAfter
}

// onResponsive takes note that a renderer fell silent, or speaks again.
func (p *Page) onResponsive(a *attached) {
	for _, f := range p.frames.byID {
		if f.Session == a.session.ID() {
			f.Unresponsive = a.probe.late
		}
	}
	if a.probe.late && a.kind == kindPage {
		p.tell(func(h *Happened) { h.Unresponsive = true })
	}
	p.touch()
}
