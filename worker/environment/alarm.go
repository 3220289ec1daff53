package environment

import (
	"context"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// alarm fires when the next of these is due: a wait ends, a lease expires, a
// person's control ends, the environment hibernates. Nothing is due while the
// owner may be another's.
func (e *Environment) alarm() <-chan time.Time {
	if e.isSuspended() {
		return nil
	}
	var due []time.Time
	for _, d := range slices.Concat(e.waiters, e.closers) {
		due = append(due, d.until)
	}
	rec := e.holder.Record()
	for _, l := range rec.Leases {
		if e.running == nil { // its end renews them
			due = append(due, l.Expires.Time)
		}
	}
	if rec.Control != nil {
		due = append(due, rec.Control.Expires.Time)
	}
	if at, rests := e.restAt(); rests {
		due = append(due, at)
	}
	if len(due) == 0 {
		return nil
	}
	return time.After(time.Until(slices.MinFunc(due, time.Time.Compare)))
}

// onAlarm does what is due.
func (e *Environment) onAlarm(ctx context.Context) error {
	now := time.Now()
	e.endWaits(now)
	rec := e.holder.Record()
	if e.running == nil && slices.ContainsFunc(rec.Leases, func(l protocol.ClientLease) bool { return !now.Before(l.Expires.Time) }) {
		if err := e.dropLeases(ctx); err != nil {
			return err
		}
		e.restIfUnwanted(true)
	}
	if rec.Control != nil && rec.Controlled(now) == nil {
		err := e.holder.Update(ctx, func(r *protocol.OwnerRecord) error {
			if r.Controlled(time.Now()) == nil {
				r.Control = nil
			}
			return nil
		})
		if err != nil {
			return err
		}
		e.log.Info("a person's control has expired")
		e.settleControl()
		return nil // what waited comes before hibernation
	}
	if at, due := e.restAt(); due && !now.Before(at) {
		return e.hibernate(ctx)
	}
	return nil
}

// endWaits answers who has waited long enough. That ends their waits only; an
// environment that nobody else wants is not kept.
func (e *Environment) endWaits(now time.Time) {
	late := func(d *demand) bool {
		if now.Before(d.until) {
			return false
		}
		d.refuse(goingAway())
		return true
	}
	if n := len(e.waiters); n > 0 {
		e.waiters = slices.DeleteFunc(e.waiters, late)
		if len(e.waiters) < n {
			e.restIfUnwanted(false)
		}
	}
	e.closers = slices.DeleteFunc(e.closers, late)
}
