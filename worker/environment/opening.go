package environment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

var errOpenTimeout = errors.New("the environment took too long to open")

// opening is what an attempt to open the environment came to.
type opening struct {
	browser  Browser
	keeper   *checkpoints.Handle
	saved    checkpoints.Digest
	restored *protocol.Restored // nil for the owner's first environment
	// last is the newest effect that the state holds; lost are those answered that
	// it does not.
	last *checkpoints.LastAction
	lost []protocol.UnsavedEffect
	err  error
}

// runOpen fetches the state and starts the browser in a goroutine of its own, so
// that control requests are served meanwhile. It ends by sending to e.opened.
func (e *Environment) runOpen(ctx context.Context) {
	e.wantOpen = false
	if e.state == Unavailable {
		e.step(Retry)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openTimeout, errOpenTimeout)
	// Written with the generation, before anything of the owner can kill this
	// worker: whoever takes over counts it.
	e.holder.Amend(func(r *protocol.OwnerRecord) { r.Opening = true })
	rec := e.holder.Record()
	if rec.Lost {
		e.reason = reasonWorkerLost
	}
	order := order{
		recorded: rec.Generation, ephemeral: rec.Persistence == protocol.PersistEphemeral,
		policy: rec.Policy, dialogs: rec.DialogPolicy, setting: rec.Setting, reason: e.reason, because: e.because, slept: rec.Slept,
		unsaved: slices.Clone(rec.Unsaved), done: slices.Clone(rec.Done),
	}
	e.work.Go(func() {
		defer cancel()
		e.opened <- e.open(ctx, order)
	})
}

// reasonWorkerLost is what the agent is told of an environment whose worker was
// lost.
const reasonWorkerLost = "worker_lost"

// order is what the record says of the environment to open.
type order struct {
	recorded  protocol.Generation
	ephemeral bool
	policy    string
	dialogs   protocol.DialogPolicy
	setting   protocol.Setting
	reason    string
	because   string
	slept     bool // it was saved by hibernating
	// unsaved are effects that no checkpoint held; done are the newest finished
	// requests.
	unsaved []protocol.UnsavedEffect
	done    []protocol.RequestID
}

// open is the sequence that a new environment needs: newest checkpoint, then the
// record (its compare-and-set shows that the owner is still ours), then the
// seal, then the browser.
func (e *Environment) open(ctx context.Context, order order) (o opening) {
	begun := time.Now()
	loaded, generation, err := e.takeState(ctx, &o, order)
	if err != nil {
		o.err = err
		return o
	}
	if loaded.Manifest != nil {
		o.last = loaded.Manifest.LastAction
	}
	var kept *checkpoints.FidelityReport
	o.browser, kept, o.err = e.cfg.Launcher.Open(ctx, Spec{
		Key: e.cfg.Key, Generation: generation, Policy: order.policy, Dialogs: order.dialogs, Setting: order.setting, Loaded: loaded, Live: e.cfg.Live,
		Tell: func(ev protocol.Event) { e.tell(generation, ev) },
	})
	if o.err == nil && generation > 1 {
		kept.TookMS = time.Since(begun).Milliseconds()
		o.restored = report(kept, order)
		o.lost = e.stateLost(ctx, order, loaded)
		o.restored.StateLost = requests(o.lost)
	}
	return o
}

// takeState finds the state, and makes it this holder's: generation in the
// record, then the seal. An ephemeral environment has none.
func (e *Environment) takeState(ctx context.Context, o *opening, order order) (*checkpoints.Loaded, protocol.Generation, error) {
	if order.ephemeral {
		g := order.recorded + 1
		return &checkpoints.Loaded{}, g, e.confirmGeneration(ctx, g)
	}
	env := checkpoints.EnvIDOf(e.cfg.Key)
	loaded, err := e.cfg.Checkpoints.Load(ctx, env)
	if err != nil {
		return nil, 0, err
	}
	g := order.recorded + 1
	if m := loaded.Manifest; m != nil {
		g = max(g, m.Generation+1)
	}
	o.keeper, err = e.cfg.Checkpoints.Seal(ctx, env, loaded, checkpoints.Writer{
		Worker: e.cfg.Worker, Generation: g,
		Confirm: func(ctx context.Context) error { return e.confirmGeneration(ctx, g) },
	})
	if err != nil {
		return nil, 0, err
	}
	// A former holder's last checkpoint may have come in between: what the seal
	// repeats is what the browser starts from.
	loaded = o.keeper.Loaded()
	o.saved = loaded.State.DataDigest()
	if sealed := o.keeper.Last().Generation; sealed > g {
		return loaded, sealed, e.confirmGeneration(ctx, sealed)
	}
	return loaded, g, nil
}

// confirmGeneration writes the generation into the record: a compare-and-set
// that only the holder can win.
func (e *Environment) confirmGeneration(ctx context.Context, g protocol.Generation) error {
	err := e.updateFrom(ctx, func(r *protocol.OwnerRecord) error {
		r.Generation = g
		return nil
	})
	if errors.Is(err, ownerlog.ErrFenced) {
		return fmt.Errorf("%w: %w", checkpoints.ErrFenced, err)
	}
	return err
}

// fromHibernated says that the restored state is the newest there was.
const fromHibernated = "hibernated"

// report is the fidelity report as the agent gets it.
func report(kept *checkpoints.FidelityReport, order order) *protocol.Restored {
	r := &protocol.Restored{
		Generation: kept.Generation, From: string(kept.From), Reason: order.reason, TookMS: kept.TookMS,
		Survived: kept.Survived, LastURL: bareURL(kept.LastURL), AgeMS: kept.CheckpointAgeMS,
	}
	if kept.CheckpointAt != nil {
		at := protocol.At(*kept.CheckpointAt)
		r.CheckpointAt = &at
	}
	if order.slept && kept.From == checkpoints.FromCheckpoint {
		r.From = fromHibernated
	}
	for _, l := range kept.Lost {
		r.Lost = append(r.Lost, protocol.LostState{What: l.Kind + " " + l.Name, Reason: l.Reason})
	}
	if order.ephemeral {
		r.Lost = append(r.Lost, protocol.LostState{What: "everything", Reason: "the environment is ephemeral"})
	}
	if order.because != "" {
		r.Lost = append(r.Lost, protocol.LostState{What: "page", Reason: order.because})
	}
	for _, s := range kept.Skipped {
		r.Skipped = append(r.Skipped, protocol.LostState{What: fmt.Sprintf("checkpoint %d", s.Seq), Reason: string(s.Reason)})
	}
	return r
}

// onOpened takes the browser that was opened, or what went wrong.
func (e *Environment) onOpened(ctx context.Context, o opening) error {
	if o.err != nil {
		return e.onOpenFailed(ctx, o.err)
	}
	e.keeper, e.saved, e.last, e.openErr, e.because = o.keeper, o.saved, o.last, nil, ""
	e.holder.Amend(func(r *protocol.OwnerRecord) {
		r.Opening, r.Slept, r.Lost = false, false, false
		// Kept until the agent was told, whatever becomes of this environment.
		r.Unsaved = o.lost[max(0, len(o.lost)-protocol.MaxUnsaved):]
	})
	e.setBrowser(o.browser)
	e.step(Opened)
	e.stay()
	if o.restored != nil {
		// Until the agent is told, everything that depends on the page may mean
		// another page.
		e.restored, e.barrier, e.told = o.restored, math.MaxUint64, false
		e.tell(e.holder.Record().Generation, protocol.Event{Type: protocol.EventGenerationChanged})
	}
	if e.releasing != "" {
		return e.onRelease(ctx)
	}
	return e.admitWaiters(ctx)
}

// backoff between attempts to open: 1, 5, then 30 seconds.
var backoff = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

func (e *Environment) onOpenFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, checkpoints.ErrFenced) {
		return err
	}
	e.openErr = openError(err)
	e.retryAt = time.Now().Add(backoff[min(e.failures, len(backoff)-1)])
	e.failures++
	e.log.Error("cannot open the environment", "code", e.openErr.Code, "error", err)
	e.holder.Amend(func(r *protocol.OwnerRecord) { r.Opening = false })
	e.step(OpenFailed)
	e.stay()
	if e.releasing != "" {
		return e.onRelease(ctx)
	}
	return e.admitWaiters(ctx)
}

// openError is what waiting requests are told.
func openError(err error) *protocol.Error {
	var known *protocol.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, checkpoints.ErrUnavailable):
		return protocol.Errorf(protocol.CodeCheckpointStore, "")
	case errors.Is(err, checkpoints.ErrDeleted):
		return protocol.Errorf(protocol.CodeEnvironmentDeleted, "")
	case errors.Is(err, checkpoints.ErrCorrupt), errors.Is(err, checkpoints.ErrUnknownKey), errors.Is(err, checkpoints.ErrSchemaTooNew):
		return protocol.Errorf(protocol.CodeCheckpointUnusable, "%v", err)
	}
	return protocol.Errorf(protocol.CodeEnvironmentUnstarted, "the environment could not be started: %v", err)
}

// onLost replaces a browser that died, or fails the owner: then an action that
// runs is answered first.
func (e *Environment) onLost(ctx context.Context) error {
	e.log.Warn("the browser is lost; restoring from the newest checkpoint", "state", e.state)
	b := e.browser
	e.setBrowser(nil)
	e.keeper = nil
	e.step(Lost)
	e.startClose(b)
	if err := e.strike(ctx, here, ""); err != nil {
		return err
	}
	if e.failing && e.running == nil {
		return e.fail(ctx)
	}
	e.reason, e.wantOpen = reasonLost, !e.failing
	return nil
}
