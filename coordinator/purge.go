package coordinator

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// purgesAtOnce bounds purges that are under way in a shard.
const purgesAtOnce = 16

// purging are the cursors up to which an owner's lanes were purged, or are being
// purged. Owned by the loop.
type purging struct {
	done  lanes
	busy  bool
	again bool
}

// purged is the outcome of a purge.
type purged struct {
	key protocol.OwnerKey
	to  lanes // 0 where a lane was not purged
	// of is the creation of the stream that the cursors are of.
	of time.Time
}

// purge removes answered requests, by the persisted cursor only: the record as
// the stream delivered it. A view that is behind purges less. The work is done
// outside of the loop, one purge an owner at a time, so that the depth of every
// queue means unanswered requests also when many owners are busy.
func (l *loop) purge(ctx context.Context, key protocol.OwnerKey) {
	e := l.view[key]
	if e == nil {
		return
	}
	unsure := l.stream.Created.IsZero() || max(e.cursorQ, e.cursorC) > l.stream.Last
	if (unsure && l.lookAtStream(ctx) != nil) || l.foreign(e) {
		return
	}
	p := l.purging[key]
	if p == nil {
		p = &purging{}
		l.purging[key] = p
	}
	if p.busy {
		p.again = true
		return
	}
	to := lanes{}
	if e.cursorQ > p.done.q {
		to.q = e.cursorQ
	}
	if e.cursorC > p.done.c {
		to.c = e.cursorC
	}
	if to != (lanes{}) {
		p.busy = true
		l.startPurge(ctx, purged{key: key, to: to, of: l.stream.Created})
	}
}

// startPurge purges in a goroutine, which tells the loop how far it came.
func (l *loop) startPurge(ctx context.Context, p purged) {
	l.work.Go(func() {
		select {
		case l.purgeSlots <- struct{}{}:
			if !l.s.isStream(ctx, p.of) {
				p.to = lanes{}
			}
			p.to.q = l.s.purgeLane(ctx, p.key, protocol.LaneQueue, p.to.q)
			p.to.c = l.s.purgeLane(ctx, p.key, protocol.LaneControl, p.to.c)
			<-l.purgeSlots
		case <-ctx.Done():
		}
		select {
		case l.purged <- p:
		case <-ctx.Done():
		}
	})
}

// lifeKnown is for how long an answer to isStream is good. A round trip before
// every purge would let the queues of busy owners fill up.
const lifeKnown = 250 * time.Millisecond

// streamLife is a stream's creation, with when it was asked for.
type streamLife struct{ created, asked time.Time }

// isStream asks whether the stream of requests is still the one that the cursors
// are of. The server cannot be told to purge that one only: where a stream is
// made anew, and requests are stored in it, between this and the purge, an owner
// may lose the first of them.
func (s *shard) isStream(ctx context.Context, created time.Time) bool {
	if known := s.life.Load(); known != nil && time.Since(known.asked) < lifeKnown {
		return known.created.Equal(created)
	}
	asked := time.Now()
	now, err := s.c.cfg.Conn.StreamCreated(ctx, protocol.ActStream(s.id))
	if err != nil {
		return false
	}
	s.life.Store(&streamLife{now, asked})
	return now.Equal(created)
}

// purgeLane returns up to where the lane was purged, 0 if it was not.
func (s *shard) purgeLane(ctx context.Context, key protocol.OwnerKey, lane protocol.Lane, to protocol.Seq) protocol.Seq {
	if to == 0 {
		return 0
	}
	if err := s.c.cfg.Conn.PurgeTo(ctx, protocol.ActStream(s.id), protocol.ActSubject(s.id, key, lane), to); err != nil {
		if ctx.Err() == nil {
			s.log.Warn("cannot purge", "owner", key.String(), "error", err)
		}
		return 0
	}
	return to
}

func (l *loop) onPurged(ctx context.Context, p purged) {
	state := l.purging[p.key]
	if state == nil || !p.of.Equal(l.stream.Created) {
		return // the stream was replaced meanwhile
	}
	state.done.q, state.done.c = max(state.done.q, p.to.q), max(state.done.c, p.to.c)
	state.busy = false
	if state.again {
		state.again = false
		l.purge(ctx, p.key)
	}
}
