package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

const (
	// maxDialogText bounds message and default prompt, in bytes. Chromium itself
	// cuts a message at 10,240 characters.
	maxDialogText = 4096
	// maxPromptAnswer bounds the text that a prompt is answered with, in bytes: an
	// agent's, or the page's own default.
	maxPromptAnswer = 64 << 10
	// recentDialogs is the length of the ring of closed dialogs.
	recentDialogs = 20
	// answerTimeout bounds Page.handleJavaScriptDialog, which the browser process
	// alone answers, in a millisecond. A dialog whose answer is not acknowledged
	// by then is beyond help, see DialogOrphaned.
	answerTimeout = 10 * time.Second
)

// DialogID is d-GENERATION-N.
type DialogID string

// ClosedBy says who closed a dialog.
type ClosedBy string

const (
	ClosedByAgent      ClosedBy = "agent"
	ClosedByPolicy     ClosedBy = "auto_policy"
	ClosedByNavigation ClosedBy = "agent_navigation" // it stood in the way of one
	ClosedByWatchdog   ClosedBy = "watchdog"
	ClosedByRemote     ClosedBy = "remote"   // the browser, the end of the page, another client
	ClosedByRecovery   ClosedBy = "recovery" // it was there before us, and a reload ended it
)

// Dialog is one JavaScript dialog, as a value.
type Dialog struct {
	ID            DialogID
	State         DialogState
	Type          page.DialogType
	Message       string // page text: at most 4 KiB
	DefaultPrompt string
	Truncated     bool // Message or DefaultPrompt was cut
	Tab           TabID
	FrameID       protocol.FrameID
	URL           string
	OpenedAt      time.Time
	ClosedAt      time.Time
	ClosedBy      ClosedBy
	Accepted      bool
	// Storm: it was dismissed unseen, as one of too many.
	Storm bool

	claimedBy ClosedBy
	prompt    string // the page's default, whole; empty once closed
}

var (
	// ErrDialogOpen: what was asked for needs the page, which a dialog stops.
	ErrDialogOpen = errors.New("supervisor: a dialog is open")
	// ErrDialogUnknown: no dialog has this id, in this generation.
	ErrDialogUnknown = errors.New("supervisor: no such dialog")
	// ErrDialogClosed: somebody else was faster; a *ClaimedError says who.
	ErrDialogClosed = errors.New("supervisor: dialog is already closed")
	// ErrDialogBusy: another answer is on its way; a *ClaimedError says whose.
	ErrDialogBusy = errors.New("supervisor: dialog is being answered")
	// ErrDialogOrphaned: its frame is gone; answering would stop the browser.
	ErrDialogOrphaned = errors.New("supervisor: dialog is orphaned, the browser has to be replaced")
	// ErrPromptTooLong: the text for a prompt has more than 64 KiB.
	ErrPromptTooLong = errors.New("supervisor: the text for the prompt is too long")
)

// ClaimedError: another answer won. It matches ErrDialogClosed or ErrDialogBusy.
type ClaimedError struct {
	ID DialogID
	By ClosedBy
	// Busy: that answer is on its way; else it has closed the dialog.
	Busy bool
}

func (e *ClaimedError) Error() string { return fmt.Sprintf("%v: %s, by %s", e.Unwrap(), e.ID, e.By) }

// Unwrap is the sentinel.
func (e *ClaimedError) Unwrap() error {
	if e.Busy {
		return ErrDialogBusy
	}
	return ErrDialogClosed
}

// Answer is what to do with a dialog. A nil Text accepts a prompt with its
// default, which Chromium alone would not do: it would return the empty string.
type Answer struct {
	Accept bool
	Text   *string
}

// AnswerDialog answers one dialog for the agent. Of several callers one wins, the
// others get a *ClaimedError. When ctx ends first, the answer may still arrive.
func (p *Page) AnswerDialog(ctx context.Context, id DialogID, a Answer) error {
	if a.Text != nil && len(*a.Text) > maxPromptAnswer {
		return ErrPromptTooLong
	}
	p.mu.Lock()
	answered, err := p.runAnswerLocked(id, a, ClosedByAgent)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return fmt.Errorf("supervisor: answer dialog %s: %w", id, context.Cause(ctx))
	}
}

// runAnswerLocked claims the dialog and sends the answer in one step under the
// lock, so that no removal of its frame that we know of can come between; the
// reply is waited for elsewhere and comes through the channel. Callers hold mu.
func (p *Page) runAnswerLocked(id DialogID, a Answer, by ClosedBy) (<-chan error, error) {
	pending, err := p.claimLocked(id, a, by)
	if err != nil {
		return nil, err
	}
	answered := make(chan error, 1)
	p.workers.Go(func() { answered <- p.runAnswer(id, pending) })
	return answered, nil
}

func (p *Page) claimLocked(id DialogID, a Answer, by ClosedBy) (*cdp.Pending, error) {
	d := p.findDialog(id)
	if d == nil {
		return nil, fmt.Errorf("%w: %s", ErrDialogUnknown, id)
	}
	next, err := nextDialog(d.State, dialogClaimed)
	if err != nil {
		return nil, d.refusal()
	}
	params := page.HandleJavaScriptDialogParams{Accept: a.Accept}
	if d.Type == page.DialogTypePrompt && a.Accept {
		params.PromptText = d.prompt
		if a.Text != nil {
			params.PromptText = *a.Text
		}
	}
	pending, err := p.session.Send(page.CommandHandleJavaScriptDialog, params)
	if err != nil {
		return nil, fmt.Errorf("supervisor: answer dialog %s: %w", id, err)
	}
	d.State, d.claimedBy, d.Accepted = next, by, a.Accept
	p.touchTabs()
	return pending, nil
}

// refusal is why a dialog cannot be claimed.
func (d *Dialog) refusal() error {
	switch d.State {
	case DialogAnswering:
		return &ClaimedError{ID: d.ID, By: d.claimedBy, Busy: true}
	case DialogOrphaned:
		return fmt.Errorf("%w: %s", ErrDialogOrphaned, d.ID)
	default:
		return &ClaimedError{ID: d.ID, By: d.ClosedBy}
	}
}

// runAnswer waits for the reply. The browser's closed event usually comes
// first and has archived the dialog by then.
func (p *Page) runAnswer(id DialogID, pending *cdp.Pending) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	err := pending.Wait(ctx, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.findDialog(id)
	if d == nil || d.State == DialogClosed && d.ClosedBy == d.claimedBy {
		return nil // its end is known already, and it was ours
	}
	reply := (*cdp.Error)(nil)
	switch {
	case d.State == DialogClosed:
		return &ClaimedError{ID: id, By: d.ClosedBy}
	case err == nil:
		p.closeDialog(d, dialogGone, d.claimedBy)
		return nil
	case errors.As(err, &reply) && isNoDialog(reply):
		p.closeDialog(d, dialogGone, ClosedByRemote)
		return &ClaimedError{ID: id, By: ClosedByRemote}
	case !cdp.MayHaveExecuted(err) && reply == nil:
		d.State, _ = nextDialog(d.State, dialogNotSent)
		d.claimedBy, d.Accepted = "", false
		p.touchTabs()
	case reply != nil && p.process != nil:
		// "Not attached to an active page": the tab has gone on without its
		// dialog, and the renderer waits for ever for an answer that nobody can
		// give (measured on 156 after Page.navigate in front of a dialog). Its end
		// does no harm.
		p.workers.Go(func() { p.runEndStuck(id) })
	default:
		p.orphan(d, dialogUnanswerable)
	}
	return fmt.Errorf("supervisor: answer dialog %s: %w", id, err)
}

// isNoDialog: the browser shows no dialog.
func isNoDialog(e *cdp.Error) bool { return e.Code == -32602 }

func (p *Page) findDialog(id DialogID) *Dialog {
	for _, d := range p.open {
		if d.ID == id {
			return d
		}
	}
	for i := range p.recent {
		if p.recent[i].ID == id {
			return &p.recent[i]
		}
	}
	return nil
}

// clip cuts a string at a rune boundary.
func clip(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit], true
}

// ring appends to a list of which only the newest are kept. It never changes the
// old list's elements, which a snapshot may share.
func ring[T any](list []T, item T, limit int) []T {
	if len(list) >= limit {
		list = list[len(list)-limit+1:]
	}
	return append(list[:len(list):len(list)], item)
}
