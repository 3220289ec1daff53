package action

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// look is what the page's script answers about changes.
type look struct {
	Changes int  `json:"changes"`
	Quiet   bool `json:"quiet"`
	Guard   came `json:"guard"`
}

type lookArgs struct {
	Mark  int   `json:"mark"`
	Quiet int64 `json:"quiet"`
	Limit int64 `json:"limit"`
	// Fresh counts the quiet from now on, not from the last change.
	Fresh bool `json:"fresh,omitempty"`
	// Tick makes the answer come with an event, see observation.Page.AwaitTick.
	Tick string `json:"tick,omitempty"`
}

// looks calls firstLook or rest, and waits until the state is as new as the answer.
func (r *run) looks(ctx context.Context, function string, args lookArgs, l *look) error {
	r.ticks++
	args.Tick = strconv.FormatInt(r.begun.UnixNano(), 36) + "." + strconv.Itoa(r.ticks)
	var err error
	if len(r.around) > 0 {
		err = r.looksAround(ctx, function, args, l)
	} else {
		err = observation.Invoke(ctx, r.page, function, args, l)
	}
	if err == nil {
		r.page.AwaitTick(ctx, args.Tick)
	}
	return err
}

// settle waits for the page to come to rest and fills in the verdict.
//
// Two frames after dispatch: nothing has changed and nothing is in flight -> the
// answer is none_yet, at once. Else until DOM and network were quiet for 100 ms,
// at most 5 s; a navigation until its DOMContentLoaded, at most 30 s.
func (r *run) settle(ctx context.Context, mark int) *protocol.Error {
	if r.first == nil {
		r.did.Dispatch = r.lap()
	}
	r.did.Dispatched = protocol.DispatchedYes
	changes, err := r.comeToRest(ctx, mark)
	r.did.Settle = r.lap()
	r.did.Verdict = r.verdict(changes)
	switch {
	case err == nil, errors.Is(err, observation.ErrDialog), errors.Is(err, observation.ErrContextGone):
		return nil
	case errors.Is(err, errTooLong), errors.Is(err, context.DeadlineExceeded):
		return nil // the page is busy; what it did until now is the answer
	}
	return r.fail(ctx, "settle", err).WithDispatched(protocol.DispatchedYes)
}

func (r *run) comeToRest(ctx context.Context, mark int) (int, error) {
	if r.isNavigating() {
		return 0, r.awaitDocument(ctx)
	}
	resting, cancel := limit(ctx, settleLimit)
	defer cancel()
	l, err := r.firstLook(resting, mark)
	atRest := l.Changes == 0
	for {
		s := r.page.State()
		switch {
		case r.isNavigating() && s.Dialog == nil:
			return l.Changes, r.awaitDocument(ctx)
		case errors.Is(err, errTooLong) && ctx.Err() == nil:
			return r.lastLook(ctx, mark, l.Changes)
		case err != nil:
			return l.Changes, err
		case atRest && !r.isBusy(s):
			r.unwatch()
			return l.Changes, nil
		}
		err = r.rest(resting, mark, r.isBusy(s), &l)
		atRest = l.Quiet
	}
}

// firstLook takes the one that told where a click landed, if there is one.
func (r *run) firstLook(ctx context.Context, mark int) (l look, err error) {
	if r.first != nil {
		return r.first.look, r.first.err
	}
	err = r.looks(ctx, "firstLook", lookArgs{Mark: mark}, &l)
	return l, err
}

// rest waits for quiet on the network, then for quiet in the DOM: what an answer
// brings is drawn after its last byte.
func (r *run) rest(ctx context.Context, mark int, busy bool, l *look) error {
	if busy {
		_, err := observation.Until(ctx, r.page, func(s observation.State) bool { return !r.isBusy(s) || r.isNavigating() })
		if err != nil || r.isNavigating() {
			return err
		}
	}
	return r.looks(ctx, "rest", lookArgs{
		Mark: mark, Quiet: quiet.Milliseconds(), Limit: settleLimit.Milliseconds(), Fresh: busy,
	}, l)
}

// lastLookLimit bounds the last question to a page that does not come to rest.
const lastLookLimit = time.Second

// lastLook counts the changes of a page that does not come to rest; a page that
// is too busy to answer has changed as much as it said before.
func (r *run) lastLook(ctx context.Context, mark, known int) (int, error) {
	looking, cancel := limit(ctx, lastLookLimit)
	defer cancel()
	l := look{Changes: known}
	err := r.looks(looking, "rest", lookArgs{Mark: mark}, &l)
	r.unwatch()
	return max(known, l.Changes), r.ignorable(ctx, err)
}

// isNavigating: a new document has come or is on its way.
func (r *run) isNavigating() bool {
	s := r.page.State()
	return s.Navigating || s.Commits != r.before.Commits
}

// isBusy: more is in flight than before the action. What was in flight already
// (a long poll) does not count.
func (r *run) isBusy(s observation.State) bool { return s.InFlight > r.before.InFlight }

// awaitDocument waits until a navigation has led to a document, or to none: a
// download, or an answer without content.
func (r *run) awaitDocument(ctx context.Context) error {
	loading, cancel := limit(ctx, navigationLimit)
	defer cancel()
	s, err := observation.Until(loading, r.page, func(s observation.State) bool {
		return !s.Navigating && (s.Commits == r.before.Commits || s.Ready())
	})
	switch {
	case err != nil:
		return err
	case s.Commits == r.before.Commits:
		// Two frames for the news of a download, which the browser tells apart
		// from the end of its request.
		err = r.ignorable(ctx, r.looks(loading, "firstLook", lookArgs{}, new(look)))
		if err != nil || r.page.State().Commits == r.before.Commits {
			return err
		}
		// A failed navigation's error page commits after the failure.
		if _, err = observation.Until(loading, r.page, observation.State.Ready); err != nil {
			return err
		}
	}
	return r.restAfterLoad(ctx)
}

// restAfterLoad gives a new document's scripts a moment to draw. Nothing that
// goes wrong here matters: the document is there.
func (r *run) restAfterLoad(ctx context.Context) error {
	resting, cancel := limit(ctx, loadSettleLimit)
	defer cancel()
	r.around = nil // and what the target's frame was in is gone
	var mark struct {
		Mark int `json:"mark"`
	}
	if err := observation.Invoke(resting, r.page, "watch", struct{}{}, &mark); err != nil {
		return r.ignorable(ctx, err)
	}
	var l look
	err := r.looks(resting, "firstLook", lookArgs{Mark: mark.Mark}, &l)
	atRest := l.Changes == 0
	for err == nil {
		busy := r.page.State().InFlight > 0
		if atRest && !busy {
			r.unwatch()
			return nil
		}
		if busy {
			err = r.networkQuiet(resting)
		}
		if err == nil {
			err = r.looks(resting, "rest", lookArgs{Mark: mark.Mark, Quiet: quiet.Milliseconds(), Limit: loadSettleLimit.Milliseconds(), Fresh: busy}, &l)
			atRest = l.Quiet
		}
	}
	return r.ignorable(ctx, err)
}

func (r *run) networkQuiet(ctx context.Context) error {
	_, err := observation.Until(ctx, r.page, func(s observation.State) bool { return s.InFlight == 0 })
	return err
}

// ignorable keeps only what ends the action: loss of the page, or the caller.
func (r *run) ignorable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, observation.ErrLost) || errors.Is(err, observation.ErrCrashed) || errors.Is(err, observation.ErrDialog) {
		return err
	}
	return nil
}

// unwatch ends the watch without waiting: mutation records cost the page.
func (r *run) unwatch() {
	post(r.page, "unwatch")
	if len(r.around) > 0 {
		post(r.view, "unwatch")
	}
	for _, w := range r.around[:max(0, len(r.around)-1)] { // the last one is the page
		post(w.page, "unwatch")
	}
}

// post calls a function of the script and forgets it. Behind a dialog it runs when
// that is closed.
func post(page observation.Page, function string) {
	if w := page.State().World; w.Unique != "" {
		if pending, err := observation.SendInvoke(page, w, function, struct{}{}); err == nil {
			pending.Forget()
		}
	}
}

// isAsked: a dialog is open that was not there before, in this tab or in one that
// stops it.
func (r *run) isAsked(s observation.State) bool {
	return s.Dialog != nil && (r.before.Dialog == nil || s.Dialog.ID != r.before.Dialog.ID)
}

// verdict is what the page did since the action began.
func (r *run) verdict(changes int) protocol.Verdict {
	s := r.page.State()
	switch {
	case r.isAsked(s):
		return protocol.VerdictDialogOpened
	case s.Commits != r.before.Commits, s.SameDocument != r.before.SameDocument:
		return protocol.VerdictNavigated
	case s.DialogsOpened != r.before.DialogsOpened:
		return protocol.VerdictDialogOpened // and was answered without the agent
	case s.PopupsOpened != r.before.PopupsOpened:
		return protocol.VerdictPopup
	case s.DownloadsBegun != r.before.DownloadsBegun:
		return protocol.VerdictDownload
	case changes > 0:
		return protocol.VerdictDOMChanged
	}
	return protocol.VerdictNoneYet
}
