package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// idle reports whether nothing of the owner is begun and nobody has it in hand.
func idle(rec *protocol.OwnerRecord) bool {
	return rec.InflightQ == nil && rec.InflightC == nil && rec.Control == nil && len(rec.Leases) == 0 && !rec.Opening
}

// letGo writes that nobody holds an owner that was idle on a worker which went
// with the last run of the fleet: there is no browser of it any more, and nobody
// waits for one. Its next action opens it, from the checkpoint that it has, and
// tells what was lost. Owners with work are placed at once instead.
func (s *shard) letGo(ctx context.Context, key protocol.OwnerKey) {
	ctx, cancel := context.WithTimeout(ctx, decide.Restless)
	defer cancel()
	rec, fence, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key)
	if err != nil || rec == nil || rec.State != protocol.RecordAssigned || s.alive(rec.Worker) || !idle(rec) {
		return // the next look sees what it has become
	}
	for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
		if queued, err := ownerlog.Peek(ctx, s.c.cfg.Conn, s.id, key, rec, lane); err != nil || len(queued) > 0 {
			return // what is queued is pushed, or found by the next reconcile
		}
	}
	next := rec.Clone()
	if err := next.Move(protocol.RecordUnassign, time.Now()); err != nil {
		s.log.Error("cannot let go", "owner", key.String(), "error", err)
		return
	}
	next.Worker, next.Epoch, next.Lost = "", 0, rec.Generation > 0
	switch err := s.rewrite(ctx, key, next, fence); {
	case err == nil:
		s.log.Info("let go: its worker is not there, and nothing waits for it", "owner", key.String(), "worker", rec.Worker)
	case !errors.Is(err, natsx.ErrConflict):
		s.log.Warn("cannot let go", "owner", key.String(), "error", err)
	}
}
