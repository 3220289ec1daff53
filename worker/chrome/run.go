package chrome

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/action"
	"github.com/browserfleet/browserfleet/observation/extract"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// Run performs one action and shows the page after it. It ends with ctx: what looks
// at the page afterwards has the last part of the action's time.
func (b *Browser) Run(ctx context.Context, a *protocol.Action, dispatch func() error) *environment.Outcome {
	r := &run{b: b, action: a, dispatch: dispatch, out: &environment.Outcome{}}
	refused := b.choose(a)
	begin := b.begin(a.Kind)
	defer begin.close()
	acting, cancel := acting(ctx)
	defer cancel()
	if refused == nil {
		refused = r.silent(acting)
	}
	if refused != nil {
		r.refuse(refused)
	} else {
		r.perform(acting)
	}
	r.judgeDocument(begin.refusedDocument())
	r.tabGone()
	r.arrive(acting)
	late := acting.Err() != nil && r.out.Err != nil
	if late {
		b.stopLoading()
	}
	if late || r.wantsObservation() {
		r.observe(ctx, late)
		r.nameContent()
	}
	r.out.Transition = begin.end(r)
	r.judgePrompts(begin.prompts)
	r.judgeChange()
	return b.masker.outcome(r.out)
}

// run is one action on its way.
type run struct {
	b        *Browser
	action   *protocol.Action
	dispatch func() error
	out      *environment.Outcome
	timing   protocol.Timing
}

func (r *run) perform(ctx context.Context) {
	switch args := r.action.Args.(type) {
	case *protocol.ObserveArgs:
		r.out.Err = r.read(func() *protocol.Error { return nil })
	case *protocol.ObserveNextArgs:
		r.out.Err = r.read(func() (failed *protocol.Error) {
			r.out.Observation, failed = r.b.observer.Next(r.b.tab.State(), args.Continuation)
			return failed
		})
	case *protocol.ScreenshotArgs:
		r.out.Err = r.read(func() (failed *protocol.Error) {
			ctx, done := r.b.startAnswering(ctx)
			defer done()
			r.out.Screenshot, failed = r.b.observer.Screenshot(ctx, r.b.tab, *args)
			return failed
		})
	case *protocol.ExtractArgs:
		r.out.Err = r.read(func() (failed *protocol.Error) {
			ctx, done := r.b.startAnswering(ctx)
			defer done()
			r.out.Extraction, failed = extract.Read(ctx, r.b.tab, r.b.observer, r.action.Kind, *args, r.b.masker.hide.Replace)
			return failed
		})
	case *protocol.OpenArgs:
		u, err := r.b.policy.Load().CheckNavigation(args.URL)
		if err != nil {
			r.refuse(navigationError(err))
			return
		}
		checked := *r.action
		checked.Args = &protocol.OpenArgs{URL: u.String()}
		r.act(action.Perform(ctx, r.b.tab, r.b.observer, checked, r.leave(ctx)))
	case *protocol.DialogArgs:
		r.dialog(ctx, args)
	case *protocol.FillCredentialArgs:
		r.fillCredential(ctx, args)
	case *protocol.WaitArgs:
		r.wait(ctx, args)
	case *protocol.BatchArgs:
		r.batch(ctx, args)
	case *protocol.TabsArgs:
		r.tabs(ctx, args)
	case *protocol.CDPArgs:
		r.cdp(ctx, args)
	case *protocol.EmulateArgs:
		r.emulate(ctx, args)
	default:
		gate := r.dispatch
		if r.action.Kind == protocol.KindReload {
			gate = r.leave(ctx)
		}
		r.act(action.Perform(ctx, r.b.tab, r.b.observer, *r.action, gate))
	}
}

// fillCredential finds the secret for the page and the field. The field's type is
// the one that was shown; the page's script compares it before the fill.
func (r *run) fillCredential(ctx context.Context, args *protocol.FillCredentialArgs) {
	target, failed := r.b.observer.Resolve(args.ElementRef, args.ObservationID)
	if failed != nil {
		r.refuse(failed)
		return
	}
	secret, failed := r.b.cfg.Credentials.Find(r.b.key, args.CredentialRef, r.b.originOf(target.Frame), target.Type)
	if failed != nil {
		r.refuse(failed)
		return
	}
	r.act(action.PerformCredential(ctx, r.b.tab, r.b.observer, *r.action, string(secret), r.dispatch))
}

// originOf is where a field's document is from: its frame's, whatever page that is
// in. A frame without an origin of its own (sandboxed, say) has none here.
func (b *Browser) originOf(frame protocol.FrameID) string {
	s := b.page.Snapshot()
	if frame == "" {
		return s.URL
	}
	for _, f := range s.Frames {
		if string(f.ID) == string(frame) {
			return f.Origin
		}
	}
	return ""
}

// read runs a kind that changes nothing. It passes the gate all the same: what
// was lost must not read for its agent either.
func (r *run) read(do func() *protocol.Error) *protocol.Error {
	if err := r.dispatch(); err != nil {
		return environment.NotDispatched(err)
	}
	begun := time.Now()
	defer func() { r.timing.DispatchMS = ms(time.Since(begun)) }()
	return do()
}

func (r *run) act(done action.Performed, failed *protocol.Error) {
	r.timing.DispatchMS, r.timing.SettleMS = ms(done.Prepare+done.Dispatch), ms(done.Settle)
	r.out.Verdict, r.out.Dispatched, r.out.Err = done.Verdict, done.Dispatched, failed
}

func (r *run) refuse(why *protocol.Error) {
	r.out.Err, r.out.Verdict = why, protocol.VerdictRefused
}

// navigationError says why a URL may not be opened.
func navigationError(err error) *protocol.Error {
	switch egressproxy.DenialReason(err) {
	case egressproxy.ReasonBadURL, egressproxy.ReasonScheme, egressproxy.ReasonUserinfo:
		return protocol.Errorf(protocol.CodeInvalidURL, "%v", err)
	}
	return protocol.Errorf(protocol.CodePolicyDenied, "%v", err)
}

// judgeDocument makes an error of a navigation that ended on the proxy's own
// page: the site was never reached.
func (r *run) judgeDocument(reason egressproxy.Reason) {
	if reason == "" || r.out.Err != nil {
		return
	}
	code := protocol.CodePolicyDenied
	if reason.Failure() {
		code = protocol.CodeNavigationFailed
	}
	failed := protocol.Errorf(code, "the page could not be loaded: %s", reason).WithDispatched(protocol.DispatchedYes)
	if r.action.Kind == protocol.KindOpen {
		r.out.Err = failed
		return
	}
	r.out.Warnings = append(r.out.Warnings, protocol.Warning{Code: failed.Code, Message: failed.Message})
}

// judgeChange: a page behind a dialog cannot be watched, so what an answer changed
// shows only in the observation.
func (r *run) judgeChange() {
	t := r.out.Transition
	if r.action.Kind == protocol.KindDialog && r.out.Verdict == protocol.VerdictNoneYet &&
		t.Before != nil && t.After != nil && t.Before.Digest != "" && t.Before.Digest != t.After.Digest {
		r.out.Verdict = protocol.VerdictDOMChanged
	}
}

// wantsObservation: pictures and records are answers by themselves, and an
// action that never began leaves the page as the agent knows it.
func (r *run) wantsObservation() bool {
	switch r.action.Args.(type) {
	case *protocol.ScreenshotArgs, *protocol.ExtractArgs, *protocol.CDPArgs:
		return false
	case *protocol.ObserveNextArgs:
		return r.out.Err != nil && !r.out.Err.RefsHold
	}
	return r.out.Err == nil || r.out.Err.Dispatched != protocol.DispatchedNo || !r.out.Err.RefsHold
}

// observe looks at the page after the action; what ran out of time is looked at
// whatever it was: does the page answer at all?
func (r *run) observe(ctx context.Context, late bool) {
	look, cancel := r.looking(ctx)
	defer cancel()
	answering, done := r.b.startAnswering(look)
	defer done()
	begun := time.Now()
	query := observation.Query{ObserveBudget: r.action.Observe.Budget()}
	if args, ok := r.action.Args.(*protocol.ObserveArgs); ok && r.out.Err == nil {
		query.Args = *args
	}
	seen, err := r.b.observer.Look(answering, r.b.tab, query)
	r.timing.ObserveMS = ms(time.Since(begun))
	r.out.Observation = seen
	if err == nil {
		r.titles(ctx)
		return
	}
	if done(); r.out.Err == nil && r.tabLeft(ctx) {
		r.observe(ctx, late)
		return
	}
	snap := r.b.page.Snapshot()
	switch {
	case r.out.Err == nil && (r.action.Kind == protocol.KindTabs || r.action.Kind == protocol.KindDialog):
		// The list of tabs needs no page; and one that goes on asking answers nothing.
		r.out.Observation = r.b.observer.LastKnown(r.b.tab, r.action.Observe.Budget())
		r.titles(ctx)
		r.warnUnseen(err)
	case late && snap.Unresponsive:
		r.out.Err = protocol.Errorf(protocol.CodeRendererUnresponsive, "the page does not answer; its process is ended").
			WithDispatched(r.out.Err.Dispatched)
		r.b.page.StartEndRenderer()
	case r.action.Kind == protocol.KindObserve && r.out.Err == nil:
		r.out.Err = observeError(err)
		if r.out.Err.Code == protocol.CodeActionTimeout && snap.Unresponsive {
			r.out.Err = protocol.Errorf(protocol.CodeRendererUnresponsive, "").WithDispatched(protocol.DispatchedNo)
		}
	case r.out.Err == nil:
		r.out.Verdict = protocol.VerdictUnknown
		r.warnUnseen(err)
	}
}

func (r *run) warnUnseen(err error) {
	r.out.Warnings = append(r.out.Warnings, protocol.Warning{
		Code: protocol.CodeObservationFailed, Message: fmt.Sprintf("%s: %v", protocol.CodeObservationFailed.Info().Text, err),
	})
}

// stopLoading ends a navigation that nobody waits for any more, so that the page
// that is there can be used.
func (b *Browser) stopLoading() {
	if pending, err := b.page.Send("Page.stopLoading", nil); err == nil {
		pending.Forget()
	}
}

// observeError is a look at the page that failed. Nothing was changed by it.
func observeError(err error) *protocol.Error {
	code := protocol.CodeActionTimeout
	if refused := (*protocol.Error)(nil); errors.As(err, &refused) {
		return refused.WithDispatched(protocol.DispatchedNo)
	}
	switch {
	case errors.Is(err, observation.ErrCrashed):
		code = protocol.CodePageCrashed
	case errors.Is(err, observation.ErrLost):
		code = protocol.CodeBrowserLost
	}
	return protocol.Errorf(code, "the page could not be read: %v", err).WithDispatched(protocol.DispatchedNo)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
