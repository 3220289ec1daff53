package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// fate finds out what became of a request.
//
// What is found is true whoever told it: a result, a START, a place in a queue
// (an old one at worst, and whoever waits asks again). That nothing is found is
// believed only of leaders that have what is known to be stored, since a server
// that was cut off and leads again answers from before: the leader of the requests
// proves that it has applied everything, the record read after that is not older
// than the one before, and the results are as far as the record says. Otherwise the
// answer is unavailable, and the agent asks again.
//
// Not proved is that the record is the newest one where an old server leads the
// records and the results at the same time. Then an id that may still be sent
// again can be told not_stored although it was answered; sent again, it is
// answered with its result.
type fate struct {
	log   ledger
	shard protocol.Shard
	key   protocol.OwnerKey
	id    protocol.RequestID

	rec    *protocol.OwnerRecord // nil when there is none
	fence  protocol.Seq
	stream ownerlog.Stream // of the requests
}

// ledger is a log that can be proved to be up to date.
type ledger interface {
	ownerlog.Log
	ownerlog.Prover
}

func (f *fate) find(ctx context.Context) (protocol.ResultReply, error) {
	if reply, err := f.look(ctx); reply.Fate != "" || err != nil {
		return reply, err
	}
	if err := f.log.Prove(ctx, f.shard); err != nil {
		return protocol.ResultReply{}, err
	}
	if reply, err := f.look(ctx); reply.Fate != "" || err != nil {
		return reply, err
	}
	last, err := f.log.StreamLast(ctx, protocol.ResStream(f.shard))
	if err != nil {
		return protocol.ResultReply{}, err
	}
	if f.rec != nil && last < f.rec.ResultSeq {
		return protocol.ResultReply{}, fmt.Errorf("%w: the results at %d, known at %d", ownerlog.ErrBehind, last, f.rec.ResultSeq)
	}
	// It may have been answered since it was looked for.
	if reply, err := f.answered(ctx); reply.Fate != "" || err != nil {
		return reply, err
	}
	return f.is(f.absent(time.Now())), nil
}

func (f *fate) is(what string) protocol.ResultReply {
	return protocol.ResultReply{V: protocol.Version, Fate: what}
}

// look finds the request where it can be; no fate: it is nowhere.
func (f *fate) look(ctx context.Context) (protocol.ResultReply, error) {
	if reply, err := f.answered(ctx); reply.Fate != "" || err != nil {
		return reply, err
	}
	rec, fence, err := ownerlog.Read(ctx, f.log, f.shard, f.key)
	if err != nil {
		return protocol.ResultReply{}, err
	}
	if fence < f.fence {
		return protocol.ResultReply{}, fmt.Errorf("%w: the record at %d, known at %d", ownerlog.ErrBehind, fence, f.fence)
	}
	f.rec, f.fence = rec, fence
	if rec != nil && (holds(rec.InflightQ, f.id) || holds(rec.InflightC, f.id)) {
		return f.is(protocol.FateRunning), nil
	}
	position, err := f.position(ctx)
	if err != nil || position == 0 {
		return protocol.ResultReply{}, err
	}
	reply := f.is(protocol.FateQueued)
	reply.Position = position
	return reply, nil
}

func holds(in *protocol.Inflight, id protocol.RequestID) bool { return in != nil && in.Request == id }

func (f *fate) answered(ctx context.Context) (protocol.ResultReply, error) {
	m, err := f.log.LeaderLast(ctx, protocol.ResStream(f.shard), protocol.ResSubject(f.shard, f.key, f.id))
	if errors.Is(err, natsx.ErrNotFound) {
		return protocol.ResultReply{}, nil
	}
	if err != nil {
		return protocol.ResultReply{}, err
	}
	reply := f.is(protocol.FateAnswered)
	reply.Result = &protocol.Result{}
	return reply, json.Unmarshal(m.Data, reply.Result)
}

// position counts the requests before this one in its queue, from 1; 0 when it is
// not there.
func (f *fate) position(ctx context.Context) (_ int, err error) {
	if f.stream, err = ownerlog.LookAt(ctx, f.log, f.shard); err != nil {
		return 0, err
	}
	if f.rec != nil {
		_ = f.stream.Settle(f.rec) // whoever claims the owner says so
	}
	for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
		if n, err := f.inLane(ctx, lane); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

func (f *fate) inLane(ctx context.Context, lane protocol.Lane) (int, error) {
	var from protocol.Seq
	if f.rec != nil {
		from = f.rec.Cursor(lane)
	}
	for n := 1; n <= protocol.QueueDepth; n++ {
		m, err := f.log.LeaderNext(ctx, protocol.ActStream(f.shard), protocol.ActSubject(f.shard, f.key, lane), from+1)
		if errors.Is(err, natsx.ErrNotFound) {
			break
		}
		if err != nil {
			return 0, err
		}
		a := protocol.Admit(protocol.Stored{Key: f.key, Lane: lane, Seq: m.Seq, StoredAt: m.Time, Data: m.Data}, f.stream.Created)
		if a.ID == f.id {
			return n, nil
		}
		from = m.Seq
	}
	return 0, nil
}

// absent is what a request is told that is nowhere: not_stored only where sending
// it again is safe.
//
// A request without an id of its own cannot be sent again under the same name, so
// it is not_stored only where the stream never came to its sequence. What the
// stream stored there is answered, and its result has expired, or it was never this
// owner's. Of a stream that is not there any more nothing is known.
func (f *fate) absent(now time.Time) string {
	seq, created, made := protocol.ParseSequenceRequestID(f.id)
	switch {
	case made && (created != f.stream.Created.Unix() || seq <= f.stream.Last):
		return protocol.FateTooOld
	case f.rec != nil && f.rec.IsDone(f.id):
		return protocol.FateTooOld
	}
	if _, at, err := protocol.ParseRequestID(string(f.id)); err == nil && now.Sub(at) > protocol.ResendHorizon {
		return protocol.FateTooOld
	}
	return protocol.FateNotStored
}
