package chrome

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/observation/action"
	"github.com/browserfleet/browserfleet/observation/tab"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// dialogPolicies are the supervisor's names for the protocol's.
var dialogPolicies = map[protocol.DialogPolicy]supervisor.DialogPolicy{
	protocol.DialogMustRespond: supervisor.PolicyAsk,
	protocol.DialogAutoDismiss: supervisor.PolicyDismiss,
	protocol.DialogAutoAccept:  supervisor.PolicyAccept,
}

// dialogPolicy is the environment's own policy, or the worker's; whatever else is
// said, the agent is asked.
func (c *Config) dialogPolicy(own protocol.DialogPolicy) supervisor.DialogPolicy {
	if own == "" {
		own = c.Dialogs
	}
	return dialogPolicies[own]
}

// Answer answers a dialog; it may be called while Run runs.
func (b *Browser) Answer(ctx context.Context, args *protocol.DialogArgs) *protocol.Error {
	err := b.supervised.AnswerDialog(ctx, supervisor.DialogID(args.DialogID), supervisor.Answer{
		Accept: args.Action == protocol.DialogAccept, Text: args.PromptText,
	})
	return answerError(args.DialogID, err)
}

// answerError says what became of an answer that did not close its dialog.
func answerError(id protocol.DialogID, err error) *protocol.Error {
	claimed := (*supervisor.ClaimedError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &claimed) && claimed.Busy:
		return protocol.Errorf(protocol.CodeDialogClosed, "dialog %s is being answered by %s", id, claimed.By)
	case errors.As(err, &claimed):
		return protocol.Errorf(protocol.CodeDialogClosed, "dialog %s was closed by %s", id, claimed.By)
	case errors.Is(err, supervisor.ErrDialogOrphaned):
		return protocol.Errorf(protocol.CodeDialogOrphaned, "")
	case errors.Is(err, supervisor.ErrDialogUnknown):
		return protocol.Errorf(protocol.CodeStaleControl, "dialog %s is not open any more", id)
	case errors.Is(err, supervisor.ErrPromptTooLong):
		return protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)
	}
	return protocol.Errorf(protocol.CodeActionFailed, "answer dialog %s: %v", id, err).WithDispatched(protocol.DispatchedUnknown)
}

// dialog answers as an action, and waits for what follows.
func (r *run) dialog(ctx context.Context, args *protocol.DialogArgs) {
	named := *args
	if named.DialogID == "" {
		only, failed := r.onlyDialog()
		if failed != nil {
			r.refuse(failed)
			return
		}
		named.DialogID = only
	}
	// A dialog of another generation ended with its browser.
	if g, _ := named.DialogID.Generation(); g != r.b.generation {
		r.refuse(protocol.Errorf(protocol.CodeStaleControl, "dialog %s is not of generation %d", named.DialogID, r.b.generation))
		return
	}
	r.act(action.AnswerDialog(ctx, r.b.tab, func() *protocol.Error { return r.b.Answer(ctx, &named) }, r.dispatch))
}

// onlyDialog is the one dialog that the agent can mean without a name: the only
// one that is open, if the newest observation showed it.
func (r *run) onlyDialog() (protocol.DialogID, *protocol.Error) {
	var open []supervisor.DialogID
	for _, p := range r.b.supervised.Tabs() {
		for _, d := range p.Snapshot().Dialogs { // each tells of its relatives' too
			if !slices.Contains(open, d.ID) {
				open = append(open, d.ID)
			}
		}
	}
	last := r.b.observer.Last()
	switch {
	case len(open) == 0:
		return "", protocol.Errorf(protocol.CodeNoDialog, "no dialog is open")
	case len(open) > 1:
		return "", protocol.Errorf(protocol.CodeNoDialog, "several dialogs are open: %v", open)
	case last == nil || len(last.PendingDialogs) != 1 || last.PendingDialogs[0].ID != protocol.DialogID(open[0]):
		return "", protocol.Errorf(protocol.CodeNoDialog, "dialog %s has not been shown yet", open[0])
	}
	return protocol.DialogID(open[0]), nil
}

// dialogEvidence adds an action's dialogs to its transition.
func dialogEvidence(t *protocol.Transition, h *supervisor.Happened) {
	for _, d := range h.Dialogs {
		t.Dialogs = append(t.Dialogs, tab.Dialog(d))
	}
	for _, d := range h.DialogsClosed {
		t.DialogsClosed = append(t.DialogsClosed, tab.Dialog(d))
	}
	if h.DialogsDismissed > 0 || h.DialogsOpened > len(h.Dialogs) {
		t.DialogStorm = &protocol.DialogStorm{Opened: h.DialogsOpened, Dismissed: h.DialogsDismissed}
	}
	for _, p := range h.Prompts {
		t.Prompts = append(t.Prompts, protocol.Prompt{
			Type: string(p.Kind), URL: p.URL, FrameID: protocol.FrameID(p.FrameID), Detail: p.Detail, At: protocol.At(p.At),
		})
	}
	for _, p := range h.Prints {
		t.Prints = append(t.Prints, protocol.PrintRequest{URL: p.URL, FrameID: protocol.FrameID(p.FrameID), At: protocol.At(p.At)})
	}
}

// startBlocked begins a context that ends when the page's renderer answers nothing:
// a dialog has opened, or it is unresponsive.
func (b *Browser) startBlocked(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { b.runAwaitBlocked(ctx, cancel) })
	return ctx, func() { cancel(nil); watch.Wait() }
}

func (b *Browser) runAwaitBlocked(ctx context.Context, cancel context.CancelCauseFunc) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	s, err := b.page.Await(ctx, func(s *supervisor.Snapshot) bool { return len(s.Dialogs) > 0 || s.Unresponsive })
	switch {
	case err != nil:
	case s.Unresponsive:
		cancel(errSilent)
	default:
		cancel(supervisor.ErrDialogOpen)
	}
}
