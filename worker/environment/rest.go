package environment

import (
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// ErrHibernated: it was saved and closed, and the record says so.
var ErrHibernated = errors.New("the environment hibernates")

// restRetry spaces attempts to hibernate after a save that failed.
const restRetry = 30 * time.Second

// restAt is when the environment is due to hibernate; false while it is not. With a
// dialog open it does not, unless the agent itself ends it.
func (e *Environment) restAt() (time.Time, bool) {
	quiet := (e.state == Idle || e.state == Unavailable) && e.running == nil && e.saving == nil && e.queue.Len() == 0 && !e.wantOpen
	switch rec := e.holder.Record(); {
	case !quiet || e.releasing != "" || len(e.waiters) > 0:
		return time.Time{}, false
	case len(e.closers) == 0 && e.deleting == nil && e.asks():
		return time.Time{}, false
	case e.rest:
		return e.restNotBefore, true
	case len(rec.Leases) > 0 || e.cfg.IdleTimeout <= 0:
		return time.Time{}, false
	}
	at := e.idleSince.Add(e.cfg.IdleTimeout)
	if at.Before(e.restNotBefore) {
		at = e.restNotBefore
	}
	return at, true
}

// stay begins the idle time anew.
func (e *Environment) stay() { e.idleSince = time.Now() }

// hibernate saves, closes and says so. A save that fails cancels it: the browser
// has the only copy. An ephemeral environment has nothing to save; it ends, and
// the next one starts clean and says so.
func (e *Environment) hibernate(ctx context.Context) error {
	if err := e.save(ctx, checkpoints.ReasonIdle, func() bool { return e.queue.Len() > 0 }); err != nil {
		if fenced(err) {
			return err
		}
		if errors.Is(err, errWanted) {
			return nil // what is being written is written all the same
		}
		e.log.Error("not saved, so it does not hibernate", "error", err)
		e.restNotBefore = time.Now().Add(restRetry)
		e.answerClosers(openError(err))
		return nil
	}
	if err := e.drainPushes(); err != nil || e.queue.Len() > 0 || e.control.Len() > 0 {
		return err // it is served first
	}
	if len(e.closers) == 0 && e.deleting == nil && e.asks() {
		return nil // a dialog opened meanwhile
	}
	ephemeral := e.holder.Record().Persistence == protocol.PersistEphemeral
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		event := protocol.RecordHibernate
		if ephemeral {
			event = protocol.RecordUnassign
		}
		r.Opening, r.Slept = false, !ephemeral && e.browser != nil
		return r.Move(event, time.Now())
	})
	if err != nil {
		return err
	}
	if !ephemeral && e.missedRequests(ctx) {
		return e.wake(ctx)
	}
	e.log.Info("hibernates")
	if !ephemeral {
		e.tell(e.holder.Record().Generation, protocol.Event{Type: protocol.EventHibernated})
	}
	e.step(Release)
	if err := e.holder.Flush(ctx); err != nil {
		e.log.Warn("cannot hint the queue's cursor", "error", err)
	}
	return ErrHibernated
}

// missedRequests reads the queues once more, after the record says that nobody
// holds them. What is stored later finds that record.
func (e *Environment) missedRequests(ctx context.Context) bool {
	for _, lane := range []*ownerlog.Lane{e.control, e.queue} {
		lane.Suspect()
		if err := lane.Fill(ctx, true); err != nil {
			e.log.Warn("cannot read the queue once more; the shard's leader will", "error", err)
		}
	}
	return e.queue.Len() > 0 || e.control.Len() > 0
}

// wake takes the owner back, with its browser: the write stands only if nobody
// else wrote since, so epoch and generation stay.
func (e *Environment) wake(ctx context.Context) error {
	err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
		r.Slept = false
		return r.Move(protocol.RecordWake, time.Now())
	})
	if errors.Is(err, ownerlog.ErrFenced) {
		return ErrHibernated // a coordinator was faster
	}
	if err == nil {
		e.log.Info("woken while it was hibernating")
		e.stay()
	}
	return err
}
