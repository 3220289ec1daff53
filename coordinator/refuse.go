package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// refuseTimeout bounds refusing what one owner has queued.
const refuseTimeout = 5 * time.Second

// refuse answers all that an owner without a record has queued, and purges it.
// No record is made: records are kept for ever, and a tenant at its quota could
// otherwise fill the stream with names. It returns up to where the lanes are
// empty.
//
// So these are the only answers without a START: there is no record to write it
// in. Nobody can hold an owner without a record, and whoever begins to hold it
// finds these results before it runs anything. The record is looked for directly
// before each answer; what remains is a publish that the network holds back
// while the owner is opened elsewhere.
func (s *shard) refuse(ctx context.Context, key protocol.OwnerKey, why *protocol.Error) (upto lanes) {
	ctx, cancel := context.WithTimeout(ctx, refuseTimeout)
	defer cancel()
	stream, err := ownerlog.LookAt(ctx, s.c.cfg.Conn, s.id)
	if err == nil {
		upto.c, err = s.refuseLane(ctx, key, protocol.LaneControl, stream.Created, why)
	}
	if err == nil {
		upto.q, err = s.refuseLane(ctx, key, protocol.LaneQueue, stream.Created, why)
	}
	if err != nil && !errors.Is(err, errHasRecord) {
		s.log.Warn("cannot refuse", "owner", key.String(), "error", err)
	}
	return upto
}

// errHasRecord: the owner is somebody's now.
var errHasRecord = errors.New("the owner has a record")

func (s *shard) refuseLane(ctx context.Context, key protocol.OwnerKey, lane protocol.Lane, created time.Time, why *protocol.Error) (protocol.Seq, error) {
	conn := s.c.cfg.Conn
	var last protocol.Seq
	for range protocol.QueueDepth {
		m, err := conn.LeaderNext(ctx, protocol.ActStream(s.id), protocol.ActSubject(s.id, key, lane), last+1)
		if errors.Is(err, natsx.ErrNotFound) {
			break
		}
		if err != nil {
			return 0, err
		}
		a := protocol.Admit(protocol.Stored{Key: key, Lane: lane, Seq: m.Seq, StoredAt: m.Time, Data: m.Data}, created)
		if err := s.refuseOne(ctx, key, &a, why); err != nil {
			return 0, err
		}
		last = m.Seq
	}
	return s.purgeLane(ctx, key, lane, last), nil
}

// refuseOne creates the answer. Where one stands already, that is the answer, and
// it is pushed again: the agent sent an answered request once more, and its copy
// is about to be purged.
func (s *shard) refuseOne(ctx context.Context, key protocol.OwnerKey, a *protocol.Admitted, why *protocol.Error) error {
	if a.Refused != nil {
		why = a.Refused
	}
	res := a.NewResult(time.Now())
	res.Worker, res.Nonce = s.c.cfg.ID, ownerlog.NewNonce()
	decide.Fail(res, a, why, time.Now())
	data, err := json.Marshal(res)
	if err != nil {
		return fmt.Errorf("encode a refusal: %w", err)
	}
	if rec, _, err := ownerlog.Read(ctx, s.c.cfg.Conn, s.id, key); err != nil || rec != nil {
		return errors.Join(err, errHasRecord)
	}
	_, err = s.c.cfg.Conn.Create(ctx, protocol.ResSubject(s.id, key, a.ID), data, nil)
	switch {
	case errors.Is(err, natsx.ErrConflict):
		return s.repeat(ctx, key, a.ID)
	case err != nil:
		return fmt.Errorf("refuse %s: %w", a.ID, err)
	}
	s.c.cfg.Observer.AnsweredByCoordinator(why.Code)
	return nil
}

// repeat pushes the stored result of a request again. A leader that does not have
// it, although it refused another one because of it, is asked at the next look:
// until then the request stays in its queue.
func (s *shard) repeat(ctx context.Context, key protocol.OwnerKey, id protocol.RequestID) error {
	stored, err := s.c.cfg.Conn.LeaderLast(ctx, protocol.ResStream(s.id), protocol.ResSubject(s.id, key, id))
	if err != nil {
		return fmt.Errorf("repeat the result of %s: %w", id, err)
	}
	if err := ownerlog.Repeat(s.c.cfg.Conn, &stored); err != nil {
		s.log.Warn("cannot repeat a result", "owner", key.String(), "request", id, "error", err)
	}
	return nil
}
