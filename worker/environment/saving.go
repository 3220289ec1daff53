package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// Bounds of saving.
const (
	// saveTimeout bounds reading the state, and writing it.
	saveTimeout = 15 * time.Second
	// DefaultCheckpointWait is Config.CheckpointWait where nothing else is asked for.
	DefaultCheckpointWait = 2 * time.Second
	// leastCheckpointWait is what an answer waits although its action has used up
	// its run budget: a healthy store needs less.
	leastCheckpointWait = 250 * time.Millisecond
)

// errReplaced: the browser that had the state is not the environment's any more.
var errReplaced = errors.New("the browser was replaced")

// snapshot is a state that was read from a browser, on its way to the store.
type snapshot struct {
	keeper *checkpoints.Handle
	state  checkpoints.State
	digest checkpoints.Digest
	meta   checkpoints.Meta
}

// captured is what reading the state after an action came to.
type captured struct {
	snapshot *snapshot
	err      error
}

// committed is what writing a snapshot came to.
type committed struct {
	snapshot *snapshot
	err      error
}

// save is how far the checkpoint after the running action is.
type save struct {
	capturing bool      // its state is being read: nothing else may use the browser
	snapshot  *snapshot // the state, once it is read
	hurried   bool      // the answer does not wait for it any more
	settled   bool      // it is in the store, or err says why not
	err       error
}

func (s *save) settle(err error) { s.settled, s.err = true, err }

// warning says why the answer's effect is not saved, or not yet.
func (s *save) warning() protocol.Warning {
	why := "it is still being written"
	if s.settled {
		why = s.err.Error()
	}
	return protocol.Warning{
		Code: protocol.CodeCheckpointNotSaved, Message: protocol.CodeCheckpointNotSaved.Info().Text + ": " + why,
	}
}

// saves reports whether the state after the action is to be saved.
func (end *ending) saves() bool { return end.wrote && end.keeper != nil }

// answerAt is until when the answer of the action that ended waits for its
// checkpoint: that may take longer than the agent was promised.
func (e *Environment) answerAt() time.Time {
	r := e.running
	if r.save.hurried {
		return r.end.at
	}
	return r.end.at.Add(max(min(e.cfg.CheckpointWait, r.deadline.Sub(r.end.at)), leastCheckpointWait))
}

// answerDue wakes the loop to answer an action whose checkpoint takes too long.
func (e *Environment) answerDue() <-chan time.Time {
	if r := e.running; r == nil || r.end == nil || r.answered {
		return nil
	}
	return time.After(time.Until(e.answerAt()))
}

// capture reads the state that the action left.
func (a *actor) capture(ctx context.Context, res *protocol.Result) captured {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	s, err := a.snapshot(ctx, checkpoints.ReasonAfterAction, &checkpoints.LastAction{StreamSeq: res.Seq, ActionID: res.Request})
	return captured{s, err}
}

func (a *actor) snapshot(ctx context.Context, reason checkpoints.Reason, last *checkpoints.LastAction) (*snapshot, error) {
	state, err := a.browser.Capture(ctx)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return &snapshot{
		keeper: a.keeper, state: state, digest: state.DataDigest(),
		meta: checkpoints.Meta{Generation: a.generation, Reason: reason, LastAction: last},
	}, nil
}

// afterEnd has the state that the action left, once its end was taken.
func (e *Environment) afterEnd() <-chan captured {
	if e.running == nil || e.running.end == nil {
		return nil
	}
	return e.captures
}

// onCaptured takes the state that the action left.
func (e *Environment) onCaptured(ctx context.Context, c captured) {
	save := &e.running.save
	save.capturing = false
	switch {
	case c.err != nil:
		save.settle(c.err)
	case c.snapshot.keeper != e.keeper:
		save.settle(errReplaced)
	default:
		save.snapshot = c.snapshot
		e.keep(ctx, c.snapshot)
	}
}

// keep writes a state to the store, in the background. One is written at a time,
// and of those that wait only the newest.
func (e *Environment) keep(ctx context.Context, s *snapshot) {
	e.newest = s
	e.runCommit(ctx)
}

// runCommit writes what waits to be written, unless something is being written.
// It ends by sending to e.commits.
func (e *Environment) runCommit(ctx context.Context) {
	s := e.newest
	if s == nil || e.saving != nil {
		return
	}
	e.newest = nil
	if e.holds(s) {
		e.onStored(s)
		return
	}
	e.saving = s
	e.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, saveTimeout)
		defer cancel()
		_, err := s.keeper.Commit(ctx, s.state, s.meta)
		e.commits <- committed{s, err}
	})
}

// holds reports whether the newest checkpoint has the state already. Which page
// it is at does not count after every action, but it does when the browser is
// closed on purpose.
func (e *Environment) holds(s *snapshot) bool {
	return s.digest == e.saved &&
		(s.meta.Reason != checkpoints.ReasonIdle || slices.Equal(s.state.Tabs, s.keeper.Last().Tabs))
}

// onCommitted takes what a write came to. A state that could not be written is
// not tried again: the next one has all of it.
func (e *Environment) onCommitted(ctx context.Context, c committed) error {
	e.saving = nil
	switch {
	case c.err == nil:
		e.onStored(c.snapshot)
		e.startCollect()
	case errors.Is(c.err, checkpoints.ErrFenced):
		return c.err
	default:
		e.saved = checkpoints.Digest{} // only its answer may be what was lost
		e.settleSave(c.snapshot, c.err)
	}
	e.runCommit(ctx)
	return nil
}

// onStored: the newest checkpoint has the state.
func (e *Environment) onStored(s *snapshot) {
	e.saved = s.digest
	e.settleSave(s, nil)
	e.noteSaved(s.meta.LastAction)
}

// settleSave tells the running action, if it is its state.
func (e *Environment) settleSave(s *snapshot, err error) {
	if r := e.running; r != nil && r.save.snapshot == s {
		r.save.settle(err)
	}
}

// errWanted: a request came while the state was saved for going to sleep.
var errWanted = errors.New("a request came")

// save commits what changed since the newest checkpoint, and waits for it: the
// browser is about to be closed on purpose. There is nothing to save without a
// browser, or of an ephemeral environment. Control requests are answered meanwhile;
// when wanted holds, the wait ends with errWanted.
func (e *Environment) save(ctx context.Context, reason checkpoints.Reason, wanted func() bool) error {
	if e.browser == nil || e.keeper == nil {
		return nil
	}
	e.leaving = true
	defer func() { e.leaving = false }()
	wait, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	// What is being written is older.
	if _, err := e.awaitCommit(ctx, wait, wanted); err != nil {
		return err
	}
	c, err := e.awaitSnapshot(ctx, e.runSnapshot(wait, reason), cancel, wanted)
	if err = cmp.Or(err, c.err); err != nil {
		return err
	}
	e.keep(ctx, c.snapshot)
	written, err := e.awaitCommit(ctx, wait, wanted)
	if err != nil {
		return err
	}
	return written.err
}

// runSnapshot reads the state of a browser in which nothing runs.
func (e *Environment) runSnapshot(ctx context.Context, reason checkpoints.Reason) <-chan captured {
	a := actor{browser: e.browser, keeper: e.keeper, generation: e.holder.Record().Generation}
	last, took := e.last, make(chan captured, 1)
	e.work.Go(func() {
		s, err := a.snapshot(ctx, reason, last)
		took <- captured{s, err}
	})
	return took
}

// awaitSnapshot waits until the state is read, always: nothing else may use the
// browser before. An error, or a request that is wanted, only hurries the reading.
func (e *Environment) awaitSnapshot(ctx context.Context, took <-chan captured, hurry func(), wanted func() bool) (c captured, err error) {
	for {
		var failed error
		select {
		case c = <-took:
			return c, err
		case u := <-e.updates:
			failed = e.onUpdate(ctx, u)
		case m := <-e.pushes:
			failed = e.attend(ctx, m)
		}
		if failed == nil && wanted() {
			failed = errWanted
		}
		if failed != nil {
			err = cmp.Or(err, failed)
			hurry()
		}
	}
}

// awaitCommit takes what is being written, with what cannot wait meanwhile. When
// wait ends it goes on without it.
func (e *Environment) awaitCommit(ctx, wait context.Context, wanted func() bool) (c committed, err error) {
	for e.saving != nil {
		select {
		case c = <-e.commits:
			err = e.onCommitted(ctx, c)
		case u := <-e.updates:
			err = e.onUpdate(ctx, u)
		case m := <-e.pushes:
			err = e.attend(ctx, m)
		case <-wait.Done():
			err = context.Cause(wait)
		}
		if err == nil && e.saving != nil && wanted() {
			err = errWanted
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// attend takes pushes while the loop waits for a save, and answers control requests.
func (e *Environment) attend(ctx context.Context, m *nats.Msg) error {
	e.push(m)
	if err := e.drainPushes(); err != nil {
		return err
	}
	return e.serveControl(ctx)
}

// unwanted: a save that nothing ends early.
func unwanted() bool { return false }

// collectEvery bounds how many checkpoints pile up beyond those that are kept.
const collectEvery = 32

// startCollect removes old checkpoints, now and then. Any process may do it at
// any time; a failure leaves more than needed.
func (e *Environment) startCollect() {
	e.stored++
	if e.stored%collectEvery != 0 {
		return
	}
	e.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if _, err := e.cfg.Checkpoints.Collect(ctx, checkpoints.EnvIDOf(e.cfg.Key), checkpoints.DefaultKeep); err != nil {
			e.log.Warn("cannot remove old checkpoints", "error", err)
		}
	})
}
