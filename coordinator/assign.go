package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// maxOffers bounds how many workers are offered an owner in one go.
	maxOffers = 4
	// maxConflicts bounds how often the owner's record may change under the job.
	maxConflicts = 4
)

// placement is what came of placing an owner.
type placement struct {
	// waits: nobody can take it now. crowded: nobody can take anybody. failed: the
	// streams could not be reached.
	waits, crowded, failed bool
	// decision is nil where nothing was to be decided.
	decision *protocol.Decision
	// written is the assignment as the record has it.
	written *entry
}

// place assigns an owner: a compare-and-set of its record, then the news to the
// worker. A worker that refuses is passed over. Where nobody can take it, the
// owner is nobody's.
func (s *shard) place(ctx context.Context, t ticket) placement {
	var p placement
	key, reason, conflicts := t.key, t.reason, 0
	for n := (need{key: key, labels: s.c.quotas.of(key.Tenant).Labels, refused: t.refused}); ; {
		rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
		if err != nil {
			s.log.Warn("cannot place", "owner", key.String(), "error", err)
			p.failed = true
			return p
		}
		if t.epoch != 0 && !stands(rec, fence, t) {
			return p // the assignment that was refused is not the record's any more
		}
		t.epoch = 0
		if !s.placeable(rec, n.refused) && !s.replaced(ctx, key, rec, reason) || s.needless(ctx, rec, t) {
			return p
		}
		n.want(rec, time.Now())
		worker, scores, crowded := protocol.WorkerID(""), []protocol.Score(nil), false
		if len(n.refused) < maxOffers {
			worker, scores, crowded = s.c.registry.take(n)
		}
		if rec == nil {
			reason = "new"
		}
		p.decision = &protocol.Decision{At: protocol.At(time.Now()), Reason: reason, Worker: worker, Scores: scores}
		if worker == "" {
			p.waits, p.crowded = true, crowded && len(n.refused) == 0
			s.takeBack(ctx, key, rec, fence, n.refused)
			return p
		}
		p.written, err = s.assign(ctx, key, rec, fence, worker, reason)
		switch {
		case err == nil:
			return p
		case errors.Is(err, errRefused):
			n.refused = append(n.refused, worker)
			s.c.registry.refused(worker)
		case errors.Is(err, natsx.ErrConflict) && conflicts < maxConflicts:
			conflicts++ // its new version decides whether it still needs a worker
		default:
			p.failed = true // the next reconcile looks again
			return p
		}
	}
}

// needless reports whether the record says that nothing of the owner waits any
// more: what was queued was answered meanwhile, and nobody wants it open.
func (s *shard) needless(ctx context.Context, rec *protocol.OwnerRecord, t ticket) bool {
	if !decide.Needless(rec, t.reason, t.seen.q, t.seen.c, time.Now()) {
		return false
	}
	st, err := ownerlog.LookAt(ctx, s.c.cfg.Conn, s.id)
	return err == nil && !st.Foreign(ownerlog.LifeOf(rec), max(rec.CursorQ, rec.CursorC))
}

// want takes from the record what the owner asks of its worker. A worker that
// let go of it, or was lost with it, is not warm: the first did so on purpose.
//
// Who let go of it is not offered it again before its heartbeats have said why. Not
// for ever: it may be the only worker that there is.
func (n *need) want(rec *protocol.OwnerRecord, now time.Time) {
	n.warm, n.capabilities, n.released = "", nil, ""
	if rec == nil {
		return
	}
	n.capabilities = rec.Requires
	switch rec.State {
	case protocol.RecordHibernated, protocol.RecordUnassigned:
		n.warm = rec.Worker
	case protocol.RecordMoving:
		if now.Sub(rec.Since.Time).Abs() < decide.Restless { // Abs: it is the worker's clock
			n.released = rec.Worker
		}
	}
}

// replaced reports whether an owner has to move although its worker lives: the
// stream of requests was replaced.
func (s *shard) replaced(ctx context.Context, key protocol.OwnerKey, rec *protocol.OwnerRecord, reason string) bool {
	if reason != decide.StreamReplaced || rec == nil || rec.State != protocol.RecordAssigned {
		return false
	}
	alarm, err := s.settle(ctx, rec)
	if err != nil {
		s.log.Warn("cannot place", "owner", key.String(), "error", err)
		return false
	}
	return alarm != nil
}

// takeBack ends the assignment to a worker that refused the owner: while it
// stands, nobody may answer for the owner.
func (s *shard) takeBack(ctx context.Context, key protocol.OwnerKey, rec *protocol.OwnerRecord, fence protocol.Seq, refused []protocol.WorkerID) {
	if rec == nil || rec.State != protocol.RecordAssigned || !slices.Contains(refused, rec.Worker) {
		return
	}
	if _, err := s.write(ctx, key, rec, fence, protocol.RecordUnassign, ""); err != nil && !errors.Is(err, natsx.ErrConflict) {
		s.log.Warn("cannot take back an owner that was refused", "owner", key.String(), "error", err)
	}
}

// placeable reports whether the record, as its leader has it, may be assigned.
func (s *shard) placeable(rec *protocol.OwnerRecord, refused []protocol.WorkerID) bool {
	return decide.Placeable(rec, refused, s.alive, time.Now())
}

// alive reports whether the worker is not gone.
func (s *shard) alive(id protocol.WorkerID) bool { return s.c.registry.alive(id, time.Now()) }

// errRefused: the worker does not take the owner.
var errRefused = errors.New("refused")

// assign writes the assignment and tells the worker.
func (s *shard) assign(ctx context.Context, key protocol.OwnerKey, rec *protocol.OwnerRecord, fence protocol.Seq, worker protocol.WorkerID, reason string) (*entry, error) {
	seq, err := s.write(ctx, key, rec, fence, protocol.RecordAssign, worker)
	if err != nil {
		s.c.registry.giveBack(worker, key)
		if !errors.Is(err, natsx.ErrConflict) {
			s.log.Warn("cannot assign", "owner", key.String(), "error", err)
		}
		return nil, err
	}
	written := &entry{state: protocol.RecordAssigned, worker: worker, epoch: protocol.Epoch(seq), fence: seq, since: time.Now()}
	if rec != nil {
		written.cursorQ, written.cursorC, written.life = rec.CursorQ, rec.CursorC, ownerlog.LifeOf(rec)
		written.failures, written.leases = len(rec.Failures), len(rec.Leases)
	}
	reply := s.c.tell(ctx, worker, protocol.VerbAssign, protocol.Assignment{
		V: protocol.Version, Key: key, Shard: s.id, Fence: seq, Reason: reason,
	})
	refusal := reply.Error
	if refusal == nil {
		s.c.registry.took(worker, key, reply.CountedFrom, time.Now())
		s.log.Info("assigned", "owner", key.String(), "worker", worker, "epoch", seq, "reason", reason)
		s.c.cfg.Observer.Assigned(reason)
		return written, nil
	}
	s.log.Warn("a worker did not take an owner", "owner", key.String(), "worker", worker, "error", refusal)
	if refusal.Code == protocol.CodeUnavailable {
		s.c.registry.took(worker, key, 0, time.Now())
		return written, nil
	}
	s.c.registry.giveBack(worker, key)
	return written, errRefused
}

// write moves the record, to a worker or to nobody.
func (s *shard) write(ctx context.Context, key protocol.OwnerKey, rec *protocol.OwnerRecord, fence protocol.Seq, ev protocol.RecordEvent, worker protocol.WorkerID) (protocol.Seq, error) {
	next := &protocol.OwnerRecord{V: protocol.Version}
	if rec != nil {
		next = rec.Clone()
	}
	now := time.Now()
	if err := next.Move(ev, now); err != nil {
		return 0, err
	}
	next.Since, next.Worker, next.Epoch, next.Nonce = protocol.At(now), worker, 0, ownerlog.NewNonce()
	data, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	// A write without an answer is not repeated here: if it stands, the view
	// shows it, and the reconcile tells the worker.
	return s.c.cfg.Conn.CAS(ctx, protocol.OwnSubject(s.id, key), data, nil, fence)
}
