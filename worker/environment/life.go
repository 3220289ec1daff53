package environment

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// ErrDeleted: the owner was deleted.
var ErrDeleted = errors.New("the environment was deleted")

// demand is what somebody asks of the holder, with where the answer goes.
type demand struct {
	query protocol.HolderQuery
	reply func(protocol.AcquireReply)
	until time.Time
}

func (d *demand) refuse(err *protocol.Error) {
	d.reply(protocol.AcquireReply{V: protocol.Version, Error: err})
}

// maxDemands bounds demands that the loop has not taken yet.
const maxDemands = 32

// Ask asks the loop for a change of the environment's life. reply is called
// once, from another goroutine, and must not wait.
func (e *Environment) Ask(q protocol.HolderQuery, reply func(protocol.AcquireReply)) {
	wait := time.Duration(min(max(q.WaitMS, 0), protocol.MaxLifeWait.Milliseconds())) * time.Millisecond
	d := &demand{query: q, reply: reply, until: time.Now().Add(wait)}
	select {
	case e.demands <- d:
	default:
		d.refuse(protocol.Errorf(protocol.CodeUnavailable, "the environment is busy").WithDispatched(protocol.DispatchedNo))
	}
}

// onDemand does what can be done at once, and keeps the rest.
func (e *Environment) onDemand(ctx context.Context, d *demand) error {
	if e.releasing != "" || e.failing || e.deleting != nil {
		d.refuse(goingAway())
		return nil
	}
	switch d.query.Op {
	case protocol.HolderAcquire:
		return e.onAcquire(ctx, d)
	case protocol.HolderRelease:
		return e.onGiveUp(ctx, d)
	case protocol.HolderClose:
		return e.onClose(ctx, d)
	case protocol.HolderDelete:
		return e.onDelete(ctx, d)
	case protocol.HolderControl:
		return e.onControl(ctx, d)
	}
	d.refuse(protocol.Errorf(protocol.CodeUnknownAction, "a holder knows no %q", d.query.Op))
	return nil
}

// goingAway asks to look for the next holder.
func goingAway() *protocol.Error {
	err := protocol.Errorf(protocol.CodeUnavailable, "the environment is going away; ask again").WithDispatched(protocol.DispatchedNo)
	err.Retryable = true
	return err
}

// onAcquire grants a lease as soon as there is a browser. All who ask meanwhile
// share the one opening.
func (e *Environment) onAcquire(ctx context.Context, d *demand) error {
	q := d.query.Acquire
	if q == nil || q.Lease == "" {
		d.refuse(protocol.Errorf(protocol.CodeInvalidArgument, "lease: want an id"))
		return nil
	}
	if err := e.holder.Record().Clone().Accommodate(q, time.Now()); err != nil {
		d.refuse(asProtocol(err))
		return nil
	}
	offers := e.capabilities()
	for _, c := range q.Requires {
		if !slices.Contains(offers, c) {
			d.refuse(protocol.Errorf(protocol.CodeCapabilityUnsupported, "%.64s: this environment has %v", c, offers))
			return nil
		}
	}
	switch {
	case len(e.closers) > 0:
		d.refuse(goingAway())
		return nil
	case e.browser != nil:
		return e.grant(ctx, d)
	case e.state == Unavailable && time.Now().Before(e.retryAt):
		d.refuse(e.notBefore(e.retryAt))
		return nil
	case e.state == Unavailable:
		e.wantOpen = true
	}
	e.rest = false
	e.waiters = append(e.waiters, d)
	return nil
}

// notBefore is what is wrong, with when to ask again.
func (e *Environment) notBefore(at time.Time) *protocol.Error {
	err := *e.openErr
	err.RetryAfterMS = max(1, time.Until(at).Milliseconds())
	return &err
}

// grant writes the lease and answers.
func (e *Environment) grant(ctx context.Context, d *demand) error {
	var lease protocol.ClientLease
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) (err error) {
		lease, err = r.Grant(d.query.Acquire.Lease, d.query.Acquire.TTL(), time.Now())
		return err
	})
	if err != nil {
		var refused *protocol.Error
		if errors.As(err, &refused) {
			d.refuse(refused)
			return nil
		}
		d.refuse(goingAway())
		return err
	}
	e.rest = false
	reply := e.description()
	reply.Lease = &lease
	d.reply(reply)
	return nil
}

// description is the environment as who acquired it gets it.
func (e *Environment) description() protocol.AcquireReply {
	rec := e.holder.Record()
	kept := rec.Persistence
	if kept == "" {
		kept = protocol.PersistResume
	}
	return protocol.AcquireReply{
		V: protocol.Version, OK: true, Generation: rec.Generation, Persistence: kept, Policy: rec.Policy,
		Setting: rec.Setting, Capabilities: e.capabilities(), Control: rec.Controlled(time.Now()),
	}
}

// capabilities are what the worker offers, without what an ephemeral environment
// has not.
func (e *Environment) capabilities() []protocol.Capability {
	ephemeral := e.holder.Record().Persistence == protocol.PersistEphemeral
	return slices.DeleteFunc(slices.Clone(e.cfg.Capabilities), func(c protocol.Capability) bool {
		return ephemeral && c == protocol.CapabilityCheckpoint
	})
}

// admitWaiters answers who waited for the browser: it is there, or why it is
// not.
func (e *Environment) admitWaiters(ctx context.Context) error {
	waiting := e.waiters
	e.waiters = nil
	for i, d := range waiting {
		if e.browser == nil {
			d.refuse(e.notBefore(e.retryAt))
			continue
		}
		if err := e.grant(ctx, d); err != nil {
			e.waiters = waiting[i+1:] // shutdown answers them
			return err
		}
	}
	return nil
}

// onGiveUp ends a lease, or the wait for it. The end of the last one lets the
// environment hibernate once its queue is empty.
func (e *Environment) onGiveUp(ctx context.Context, d *demand) error {
	e.waiters = slices.DeleteFunc(e.waiters, func(w *demand) bool {
		gone := w.query.Acquire.Lease == d.query.Lease
		if gone {
			w.refuse(protocol.Errorf(protocol.CodeCancelled, "the wait for the environment was withdrawn"))
		}
		return gone
	})
	held := e.holder.Record().Lease(d.query.Lease, time.Now()) != nil
	if err := e.dropLeases(ctx, d.query.Lease); err != nil {
		d.refuse(goingAway())
		return err
	}
	e.restIfUnwanted(held)
	d.reply(protocol.AcquireReply{V: protocol.Version, OK: true})
	return nil
}

// dropLeases removes the named leases and what has expired.
func (e *Environment) dropLeases(ctx context.Context, ids ...protocol.LeaseID) error {
	now := time.Now()
	if !e.holder.Record().Clone().DropLeases(now, ids...) {
		return nil
	}
	return e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		r.DropLeases(now, ids...)
		return nil
	})
}

// restIfUnwanted: the last lease is gone, or the last wait for an environment
// that was opened for nothing else.
func (e *Environment) restIfUnwanted(hadLease bool) {
	if len(e.holder.Record().Leases) == 0 && len(e.waiters) == 0 && (hadLease || !e.used) {
		e.restSoon()
	}
}

// restSoon lets it hibernate once everything that was sent is answered.
func (e *Environment) restSoon() {
	_ = e.drainPushes()
	e.rest, e.restNotBefore, e.restAfter = true, time.Time{}, e.queue.Last()
}

// onClose ends every lease and answers when the environment is gone, or cannot
// be saved. What is queued runs first.
func (e *Environment) onClose(ctx context.Context, d *demand) error {
	if c := e.holder.Record().Controlled(time.Now()); c != nil {
		d.refuse(protocol.Errorf(protocol.CodeOwnerConflict, "%s has control", c.Holder))
		return nil
	}
	for _, w := range e.waiters {
		w.refuse(protocol.Errorf(protocol.CodeCancelled, "the environment is closed"))
	}
	e.waiters = nil
	e.closers = append(e.closers, d)
	e.restSoon()
	if len(e.holder.Record().Leases) == 0 {
		return nil
	}
	return e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		r.Leases = nil
		return nil
	})
}

func (e *Environment) answerClosers(err *protocol.Error) {
	for _, d := range e.closers {
		d.refuse(err)
	}
	e.closers = nil
}

// onDelete ends the environment without saving it. An action that runs is
// stopped, and answered first.
func (e *Environment) onDelete(ctx context.Context, d *demand) error {
	e.deleting = d
	if e.running != nil {
		e.stopRunning(e.running.admitted.ID)
		return nil
	}
	return e.delete(ctx)
}

// delete writes that the owner is deleted; whoever asked removes what is kept
// once the answer says that nothing of the environment is left here.
func (e *Environment) delete(ctx context.Context) error {
	e.newest = nil
	wait, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	// What is still being written would come after what is removed.
	if _, err := e.awaitCommit(ctx, wait, unwanted); fenced(err) {
		return err
	}
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		r.Erase = true
		r.Opening, r.Slept, r.Leases, r.Control, r.Unsaved = false, false, nil, nil, nil
		return r.Move(protocol.RecordDelete, time.Now())
	})
	if err != nil {
		return err
	}
	e.step(Gone)
	return ErrDeleted
}

// onControl takes the environment over for a person, or gives it back. An action
// that runs ends first; those that wait go on waiting.
func (e *Environment) onControl(ctx context.Context, d *demand) error {
	q := d.query.Control
	if q == nil {
		d.refuse(protocol.Errorf(protocol.CodeInvalidArgument, "control: want what is asked"))
		return nil
	}
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error { return r.SetControl(q, time.Now()) })
	if err != nil {
		var refused *protocol.Error
		if errors.As(err, &refused) {
			d.refuse(refused)
			return nil
		}
		d.refuse(goingAway())
		return err
	}
	e.settleControl()
	d.reply(e.description())
	return nil
}

// settleControl makes the state follow the record: while a person has control no
// action begins.
func (e *Environment) settleControl() {
	held := e.holder.Record().Controlled(time.Now()) != nil
	switch {
	case held && e.state == Idle:
		e.step(TakeOver)
	case !held && e.state == HumanInControl:
		e.step(HandBack)
		e.stay()
	}
}

// answerAll answers who still waits when the environment ends.
func (e *Environment) answerAll(why error) {
	var left []*demand
	if e.deleting != nil {
		left = append(left, e.deleting)
	}
	left = append(append(left, e.closers...), e.waiters...)
	for more := true; more; {
		select {
		case d := <-e.demands:
			left = append(left, d)
		default:
			more = false
		}
	}
	for _, d := range left {
		done := (d.query.Op == protocol.HolderDelete && errors.Is(why, ErrDeleted)) ||
			(d.query.Op == protocol.HolderClose && (errors.Is(why, ErrHibernated) || errors.Is(why, ErrDeleted)))
		if done {
			d.reply(protocol.AcquireReply{V: protocol.Version, OK: true})
		} else {
			d.refuse(goingAway())
		}
	}
}

// asProtocol is the error as it may leave the process.
func asProtocol(err error) *protocol.Error {
	var known *protocol.Error
	if errors.As(err, &known) {
		return known
	}
	return protocol.Errorf(protocol.CodeInternal, "%v", err)
}
