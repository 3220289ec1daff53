package action

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// AnswerDialog is the action that answers a dialog, by answer, and waits for what
// the page does then: another dialog, another document, or rest.
func AnswerDialog(ctx context.Context, page observation.Page, answer func() *protocol.Error, dispatch func() error) (Performed, *protocol.Error) {
	r := &run{page: page, dispatch: dispatch, before: page.State(), begun: time.Now()}
	r.last = r.begun
	r.did.Dispatched = protocol.DispatchedNo
	if refused := r.begin(); refused != nil {
		return r.did, refused
	}
	if failed := answer(); failed != nil {
		r.did.Dispatched = failed.Dispatched
		return r.did, failed
	}
	r.did.Dispatched = protocol.DispatchedYes
	r.did.Dispatch = r.lap()
	// What goes wrong from here on changes nothing: the dialog is answered.
	_ = r.afterDialog(ctx)
	r.did.Settle = r.lap()
	r.did.Verdict = r.verdict(0)
	return r.did, nil
}

// afterDialog waits as after any input; the page could not be watched before.
func (r *run) afterDialog(ctx context.Context) error {
	if r.isNavigating() {
		return r.awaitDocument(ctx)
	}
	if err := r.restAfterLoad(ctx); err != nil {
		return err
	}
	if r.isNavigating() {
		return r.awaitDocument(ctx)
	}
	return nil
}
