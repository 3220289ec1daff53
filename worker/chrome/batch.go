package chrome

import (
	"cmp"
	"context"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// batch runs the steps until one fails. It is one effect, but each step passes the gate:
// a worker that has lost its owner in the middle begins no other.
func (r *run) batch(ctx context.Context, args *protocol.BatchArgs) {
	gate := func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.dispatch()
	}
	steps := make([]protocol.Action, len(args.Steps))
	for i := range args.Steps {
		step, refused := args.Steps[i].Action()
		if refused != nil {
			r.refuse(refused)
			return
		}
		steps[i] = step
	}
	for i := range steps {
		done := r.step(ctx, &steps[i], gate)
		r.out.Steps = append(r.out.Steps, done)
		if done.Verdict != "" && done.Verdict != protocol.VerdictNoneYet {
			r.out.Verdict = done.Verdict
		}
		if done.Error != nil {
			break
		}
	}
	r.out.Dispatched, r.out.Err = protocol.DispatchedOf(r.out.Steps), protocol.StepError(r.out.Steps, len(steps))
	if r.out.Err == nil {
		r.out.Verdict = cmp.Or(r.out.Verdict, protocol.VerdictNoneYet)
	}
}

// step is Run without a look at the page.
func (r *run) step(ctx context.Context, a *protocol.Action, gate func() error) protocol.StepResult {
	s := &run{b: r.b, action: a, dispatch: gate, out: &environment.Outcome{}}
	url := r.b.page.Snapshot().URL
	begin := r.b.begin(a.Kind)
	defer begin.close()
	refused := r.b.choose(a)
	if refused == nil {
		refused = s.silent(ctx)
	}
	if refused != nil {
		s.refuse(refused)
	} else {
		s.perform(ctx)
	}
	s.judgeDocument(begin.refusedDocument())
	s.tabGone()
	s.arrive(ctx)
	t := begin.end(s)
	// Nothing was observed in between.
	t.Before, t.After = &protocol.PageEvidence{URL: url}, &protocol.PageEvidence{URL: r.b.page.Snapshot().URL}
	s.out.Transition = t
	s.judgePrompts(begin.prompts)
	r.timing.DispatchMS += s.timing.DispatchMS
	r.timing.SettleMS += s.timing.SettleMS
	done := protocol.StepResult{
		Kind: a.Kind, Status: protocol.StatusOK, Verdict: s.out.Verdict, Dispatched: cmp.Or(s.out.Dispatched, protocol.DispatchedYes),
		Warnings: s.out.Warnings, Transition: t,
	}
	if s.out.Err != nil {
		done.Status, done.Error, done.Dispatched = protocol.StatusError, s.out.Err, s.out.Err.Dispatched
	}
	return done
}
