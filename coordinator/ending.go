package coordinator

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// eraseWait bounds one worker's try to remove what is kept of an owner.
const eraseWait = 20 * time.Second

// done is a plain yes.
func done() (protocol.AcquireReply, bool) { return protocol.AcquireReply{}, true }

// releasing gives a lease up. A lease that is not there any more is given up.
func releasing(lease protocol.LeaseID) life {
	return func(ctx context.Context, s *shard, key protocol.OwnerKey) (protocol.AcquireReply, bool) {
		return s.changeLeases(ctx, key, protocol.HolderQuery{Op: protocol.HolderRelease, Lease: lease}, func(r *protocol.OwnerRecord) bool {
			return r.DropLeases(time.Now(), lease)
		})
	}
}

// closing ends all leases, and the environment: saved, or (an ephemeral one)
// not. The next action or acquire opens it again.
func closing(ctx context.Context, s *shard, key protocol.OwnerKey) (protocol.AcquireReply, bool) {
	return s.changeLeases(ctx, key, protocol.HolderQuery{Op: protocol.HolderClose}, func(r *protocol.OwnerRecord) bool {
		had := len(r.Leases)+len(r.Wanted) > 0
		r.Leases, r.Wanted = nil, nil
		return had
	})
}

// changeLeases asks the holder, or changes the record of an owner that has none.
func (s *shard) changeLeases(ctx context.Context, key protocol.OwnerKey, q protocol.HolderQuery, change func(*protocol.OwnerRecord) bool) (protocol.AcquireReply, bool) {
	rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
	if err != nil {
		return unreached(err), false
	}
	if rec != nil && (rec.State == protocol.RecordFailed || rec.State == protocol.RecordDeleted) {
		return done()
	}
	if reply, ok := s.toHolder(ctx, key, rec, q); ok || held(rec) {
		return reply, ok
	}
	if q.Op == protocol.HolderClose {
		// What was sent before comes first; it wakes the owner.
		queued, err := ownerlog.Peek(ctx, s.c.cfg.Conn, s.id, key, rec, protocol.LaneQueue)
		if err != nil {
			return unreached(err), false
		}
		if len(queued) > 0 {
			return refusal(wait("the owner's queue is not empty yet")), false
		}
	}
	if rec == nil {
		return done()
	}
	if rec.State == protocol.RecordMoving || rec.State == protocol.RecordAnswering {
		return refusal(wait("the owner is on its way to a worker")), false
	}
	if next := rec.Clone(); change(next) {
		if err := s.rewrite(ctx, key, next, fence); err != nil {
			return unreached(err), false
		}
	}
	return done()
}

// deleting removes the owner's state for good. The record stays and says so:
// nobody can hold the owner any more, so what is kept can be removed safely, and
// whatever is asked of the owner later is answered environment_deleted.
func deleting(ctx context.Context, s *shard, key protocol.OwnerKey) (protocol.AcquireReply, bool) {
	rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
	switch {
	case err != nil:
		return unreached(err), false
	case rec == nil:
		return refusal(protocol.Errorf(protocol.CodeNotFound, "owner %s is not known", key.Owner)), true
	case rec.State == protocol.RecordDeleted:
		return s.erase(ctx, key)
	case held(rec):
		reply, done := s.toHolder(ctx, key, rec, protocol.HolderQuery{Op: protocol.HolderDelete})
		if done && reply.Error == nil {
			return s.erase(ctx, key)
		}
		return reply, done
	}
	next := rec.Clone()
	if err := next.Move(protocol.RecordDelete, time.Now()); err != nil {
		return refusal(wait("the owner is being answered for")), false
	}
	next.Erase, next.Leases, next.Wanted, next.Control, next.Unsaved, next.Worker = true, nil, nil, nil, nil, ""
	if err := s.rewrite(ctx, key, next, fence); err != nil {
		return unreached(err), false
	}
	return s.erase(ctx, key)
}

// erase has a worker remove what is kept of a deleted owner, and notes it. Until
// then the shard's leader goes on trying. It may be done any number of times.
func (s *shard) erase(ctx context.Context, key protocol.OwnerKey) (protocol.AcquireReply, bool) {
	last := protocol.Errorf(protocol.CodeNoCapacity, "deleted; no worker could remove its checkpoints yet, which is tried again")
	for _, w := range s.c.registry.list(time.Now()) {
		if w.State != string(WorkerUp) || !w.Ready {
			continue
		}
		once, cancel := context.WithTimeout(ctx, eraseWait)
		var reply protocol.ControlReply
		err := s.c.askLong(once, w.Worker, protocol.VerbErase, protocol.OwnerQuery{V: protocol.Version, Key: key}, &reply)
		cancel()
		switch {
		case err == nil && reply.OK:
			s.noteErased(ctx, key)
			return done()
		case err == nil && reply.Error != nil:
			last = reply.Error
		}
		if ctx.Err() != nil {
			break
		}
	}
	// The worker that held the owner until now may not have put it away yet.
	return refusal(last), last.Code != protocol.CodeUnavailable
}

// noteErased ends the attempts. If it cannot be written, they are repeated,
// which is harmless.
func (s *shard) noteErased(ctx context.Context, key protocol.OwnerKey) {
	rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
	if err != nil || rec == nil || rec.State != protocol.RecordDeleted || !rec.Erase {
		return
	}
	next := rec.Clone()
	next.Erase, next.Erased = false, protocol.At(time.Now())
	next.Erasures++
	_ = s.rewrite(ctx, key, next, fence)
}

// eraseDeleted is the leader's repetition of an erasure that nobody finished, or
// that is to be done again. Then the record says so first: what is removed is of
// an owner that is deleted, as the compare-and-set has proved, and stays so until
// it is removed.
func (s *shard) eraseDeleted(ctx context.Context, key protocol.OwnerKey) {
	ctx, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
	if err != nil || rec == nil || rec.State != protocol.RecordDeleted {
		return
	}
	if !rec.Erase {
		if again := decide.EraseAgain(rec); again.IsZero() || time.Now().Before(again) {
			return
		}
		next := rec.Clone()
		next.Erase = true
		if s.rewrite(ctx, key, next, fence) != nil {
			return
		}
	}
	if reply, _ := s.erase(ctx, key); reply.Error != nil {
		s.log.Warn("what is kept of a deleted owner cannot be removed yet", "owner", key.String(), "error", reply.Error)
	}
}
