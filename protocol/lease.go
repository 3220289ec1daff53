package protocol

import (
	"slices"
	"time"
)

// What an owner record says of leases, deaths and effects that are not saved.

// Lease is the lease of this id, if it lives.
func (r *OwnerRecord) Lease(id LeaseID, now time.Time) *ClientLease {
	for i, l := range r.Leases {
		if l.ID == id && now.Before(l.Expires.Time) {
			return &r.Leases[i]
		}
	}
	return nil
}

// Grant adds the lease, or renews it. What has expired is dropped; too many
// leases are refused.
func (r *OwnerRecord) Grant(id LeaseID, ttl time.Duration, now time.Time) (ClientLease, error) {
	kept := make([]ClientLease, 0, len(r.Leases)+1)
	for _, l := range r.Leases {
		if l.ID != id && now.Before(l.Expires.Time) {
			kept = append(kept, l)
		}
	}
	lease := ClientLease{ID: id, TTLMS: ttl.Milliseconds(), Expires: At(now.Add(ttl))}
	if len(kept) >= MaxLeases {
		return lease, Errorf(CodeOwnerConflict, "the owner has %d leases already", len(kept))
	}
	r.Leases = append(kept, lease)
	r.dropWants(now, id)
	return lease, nil
}

// Want remembers who waits for the environment to open. Too many are refused, as
// their leases would be.
func (r *OwnerRecord) Want(id LeaseID, until, now time.Time) error {
	r.dropWants(now, id)
	if len(r.Wanted) >= MaxLeases {
		return Errorf(CodeOwnerConflict, "%d wait for the environment already", len(r.Wanted))
	}
	r.Wanted = append(r.Wanted, Want{Lease: id, Until: At(until)})
	return nil
}

// Wants reports whether who wants the lease still waits for it.
func (r *OwnerRecord) Wants(id LeaseID) bool {
	return slices.ContainsFunc(r.Wanted, func(w Want) bool { return w.Lease == id })
}

// WantedUntil is until when somebody waits for the environment to open; zero when
// nobody does.
func (r *OwnerRecord) WantedUntil() (last time.Time) {
	for _, w := range r.Wanted {
		if w.Until.After(last) {
			last = w.Until.Time
		}
	}
	return last
}

// dropWants removes the named ones and what is over.
func (r *OwnerRecord) dropWants(now time.Time, ids ...LeaseID) (changed bool) {
	before := len(r.Wanted)
	r.Wanted = slices.DeleteFunc(r.Wanted, func(w Want) bool { return !now.Before(w.Until.Time) || slices.Contains(ids, w.Lease) })
	if len(r.Wanted) == 0 {
		r.Wanted = nil
	}
	return len(r.Wanted) != before
}

// Use renews every lease that lived at the time when an action of the owner
// began: it is the use of them all.
func (r *OwnerRecord) Use(began, now time.Time) {
	for i, l := range r.Leases {
		if began.Before(l.Expires.Time) {
			r.Leases[i].Expires = At(now.Add(time.Duration(l.TTLMS) * time.Millisecond))
		}
	}
}

// DropLeases removes the named leases, the wait for them, and what has expired. It reports whether
// anything changed.
func (r *OwnerRecord) DropLeases(now time.Time, ids ...LeaseID) bool {
	kept := make([]ClientLease, 0, len(r.Leases))
	for _, l := range r.Leases {
		dropped := !now.Before(l.Expires.Time)
		for _, id := range ids {
			dropped = dropped || l.ID == id
		}
		if !dropped {
			kept = append(kept, l)
		}
	}
	changed := len(kept) != len(r.Leases)
	changed = r.dropWants(now, ids...) || changed
	if r.Leases = kept; len(kept) == 0 {
		r.Leases = nil
	}
	return changed
}

// Strike remembers a death without a completed action, and reports whether it
// was one too many.
func (r *OwnerRecord) Strike(now time.Time) (failed bool) {
	kept := make([]Time, 0, len(r.Failures)+1)
	for _, at := range r.Failures {
		if now.Sub(at.Time) < FailureWindow {
			kept = append(kept, at)
		}
	}
	r.Failures = append(kept, At(now))
	return len(r.Failures) >= MaxFailures
}

// AddUnsaved remembers an answered effect that no checkpoint holds.
func (r *OwnerRecord) AddUnsaved(seq Seq, id RequestID) {
	r.Unsaved = append(r.Unsaved, UnsavedEffect{Seq: seq, Request: id})
	if over := len(r.Unsaved) - MaxUnsaved; over > 0 {
		r.Unsaved = r.Unsaved[over:]
	}
}

// Controlled is the person who drives the environment now; nil when none does.
func (r *OwnerRecord) Controlled(now time.Time) *ControlLease {
	if r.Control == nil || !now.Before(r.Control.Expires.Time) {
		return nil
	}
	return r.Control
}

// SetControl does what a ControlQuery asks, to the record.
func (r *OwnerRecord) SetControl(q *ControlQuery, now time.Time) error {
	held := r.Controlled(now)
	if held != nil && held.Holder != q.Holder {
		return Errorf(CodeOwnerConflict, "%s has control", held.Holder)
	}
	r.dropWants(now, ControlWant(q.Holder))
	switch q.Op {
	case ControlTake:
		r.Control = &ControlLease{Holder: q.Holder, Expires: At(now.Add(q.TTL()))}
	default:
		r.Control = nil
	}
	return nil
}

// Accommodate makes the record what an acquire asks for, or refuses: an owner
// that lives, that others wait for, or whose state is kept, does not become
// another kind of owner.
func (r *OwnerRecord) Accommodate(q *AcquireQuery, now time.Time) error {
	settled := r.settled(now)
	if q.Persistence != "" && q.Persistence != r.persistence() {
		if settled || (r.persistence() == PersistResume && r.Generation > 0) {
			return Errorf(CodeOwnerConflict, "the owner is %s", r.persistence())
		}
		r.Persistence = q.Persistence
	}
	if q.Policy != "" && q.Policy != r.Policy {
		if settled {
			return Errorf(CodeOwnerConflict, "the owner runs under another policy")
		}
		r.Policy = q.Policy
	}
	if q.DialogPolicy != "" && q.DialogPolicy != r.DialogPolicy {
		if settled {
			return Errorf(CodeOwnerConflict, "the owner runs under another dialog policy")
		}
		r.DialogPolicy = q.DialogPolicy
	}
	if field := r.Setting.differs(q.Setting); field != "" {
		if settled {
			return Errorf(CodeOwnerConflict, "%s: the environment that is open, or that others wait for, has another one", field)
		}
		r.Setting = r.Setting.with(q.Setting)
	}
	if r.State == RecordAssigned {
		return nil // its holder knows what it can do
	}
	for _, c := range q.Requires {
		if !slices.Contains(r.Requires, c) {
			r.Requires = append(r.Requires, c)
		}
	}
	return nil
}

// settled reports whether somebody has, or waits for, the environment as it is.
func (r *OwnerRecord) settled(now time.Time) bool {
	return r.State == RecordAssigned || r.State == RecordMoving || now.Before(r.WantedUntil()) ||
		slices.ContainsFunc(r.Leases, func(l ClientLease) bool { return now.Before(l.Expires.Time) })
}

func (r *OwnerRecord) persistence() Persistence {
	if r.Persistence == "" {
		return PersistResume
	}
	return r.Persistence
}
