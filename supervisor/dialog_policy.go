package supervisor

import (
	"context"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/page"
)

// verdictOn says what to do with a dialog at once, and in whose name. The first
// rule that applies decides:
//
//	the agent leaves the page,
//	or one that shares its      beforeunload is accepted, anything else dismissed
//	renderer
//	a storm                     dismissed
//	policy                      dismissed, accepted, or left to the agent
//
// So a beforeunload that the page's own script or a click brought about is policy's.
func (p *Page) verdictOn(d *Dialog) (Answer, ClosedBy, bool) {
	switch {
	case slices.ContainsFunc(p.related(), (*Page).isLeaving):
		return leave(d), ClosedByNavigation, true
	case d.Storm:
		return Answer{}, ClosedByPolicy, true
	case p.config.Dialogs == PolicyDismiss:
		return Answer{}, ClosedByPolicy, true
	case p.config.Dialogs == PolicyAccept:
		return Answer{Accept: true}, ClosedByPolicy, true
	}
	return Answer{}, "", false
}

// leave is the answer to a dialog in the way of the agent's own navigation.
func leave(d *Dialog) Answer { return Answer{Accept: d.Type == page.DialogTypeBeforeunload} }

// runAuto sends the answer now and waits for its reply elsewhere. Callers hold
// mu. A refusal means that nothing is left to answer; a failure is visible in the
// dialog's state.
func (p *Page) runAuto(id DialogID, a Answer, by ClosedBy) {
	_, _ = p.runAnswerLocked(id, a, by)
}

// SetDialogPolicy changes who answers from now on, for a browser that was started
// before it belonged to anybody. A timeout of zero keeps the present one.
func (s *Supervisor) SetDialogPolicy(policy DialogPolicy, timeout time.Duration) {
	s.tabs.mu.Lock()
	defer s.tabs.mu.Unlock()
	s.tabs.config.Dialogs = policy
	if timeout > 0 {
		s.tabs.config.DialogTimeout = timeout
	}
}

// BeginAction says that an action of the agent begins: the budget of dialogs is
// its own, and it has not navigated yet. An answer to a dialog begins nothing: what
// follows it still is the doing of the action before.
func (s *Supervisor) BeginAction() {
	s.tabs.mu.Lock()
	defer s.tabs.mu.Unlock()
	for _, p := range s.tabs.pages {
		p.storm.begin()
		p.leaving = leaving{}
	}
}

// runWatchdog dismisses what was left open for too long; a beforeunload dialog
// that is dismissed keeps the page.
func (p *Page) runWatchdog(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.open {
		if d.State == DialogOpen && now.Sub(d.OpenedAt) > p.config.DialogTimeout {
			p.runAuto(d.ID, Answer{}, ClosedByWatchdog)
		}
	}
}

// leaving: the agent's own navigation is on its way, from its command until a
// document commits, the browser says that none will, or the next action begins.
type leaving struct {
	active  bool
	command *cdp.Pending // nil until it is sent
}

// departs are the commands by which an agent leaves a page.
func departs(method string) bool {
	switch method {
	case page.CommandNavigate, page.CommandReload, page.CommandNavigateToHistoryEntry:
		return true
	}
	return false
}

// depart sends a command that leaves the page. What is open is answered first, on
// the same wire: in front of an open dialog the browser would navigate all the
// same, and nobody could answer the dialog any more. One of the page's own process
// stops the renderer for good, one of a cross-site frame is an orphan (both
// measured on headless-shell 156; answered first, in one batch with the
// navigation, all is well).
func (p *Page) depart(method string, params any) (*cdp.Pending, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearDialogs()
	pending, err := p.session.Send(method, params)
	if err != nil {
		p.leaving = leaving{}
		return nil, err
	}
	p.leaving.command = pending
	return pending, nil
}

// isLeaving: the navigation has not ended. A failure, a download and a step within
// the document lead to no new document. Callers hold mu.
func (p *Page) isLeaving() bool {
	l := p.leaving
	if !l.active || l.command == nil {
		return l.active
	}
	select {
	case <-l.command.Done():
	default:
		return true
	}
	var reply page.NavigateResult
	err := l.command.Wait(context.Background(), &reply)
	p.leaving.active = err == nil &&
		(l.command.Method() != page.CommandNavigate || reply.LoaderID != "" && reply.ErrorText == "")
	return p.leaving.active
}

// arrived ends the navigation: a document is there. Callers hold mu.
func (p *Page) arrived() { p.leaving = leaving{} }
