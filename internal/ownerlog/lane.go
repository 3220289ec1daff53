package ownerlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Lane is one queue of an owner, in stream order.
//
// Requests come as pushes; Fill repairs what pushes missed. A push that does not
// follow the last one by the server's Nats-Last-Sequence makes the lane ask for
// a Fill before it gives out anything behind the gap.
type Lane struct {
	conn    Log
	stream  string
	subject string
	lane    protocol.Lane
	key     protocol.OwnerKey
	created time.Time // of the stream

	waiting []natsx.Message
	// last is the sequence up to which nothing is missing; want is the highest
	// that a push named, so that a read that is behind cannot end a gap early.
	last, want protocol.Seq
	gap        bool
	// missed is since when the leader does not have what a push named.
	missed time.Time
}

// NewLane is the lane behind the holder's cursor.
func (h *Holder) NewLane(l protocol.Lane) *Lane {
	return &Lane{
		conn: h.conn, stream: protocol.ActStream(h.shard), subject: protocol.ActSubject(h.shard, h.key, l),
		lane: l, key: h.key, created: h.created, last: h.rec.Cursor(l), gap: true,
	}
}

// Push takes a pushed request. It reports whether the lane now has a gap.
func (l *Lane) Push(m natsx.Message) (gap bool) {
	switch {
	case m.Seq <= l.last || m.Subject != l.subject:
		return l.gap
	case m.Time.Before(l.created):
		// Of the stream's namesake before it was made anew: its sequences would
		// hide this one's. Servers' clocks may differ, so the stream is asked.
		l.gap = true
		return true
	case l.gap || m.LastSeq > l.last:
		// The payload is not kept: Fill reads it again in its place.
		l.gap, l.want = true, max(l.want, m.Seq)
		return true
	}
	l.waiting = append(l.waiting, m)
	l.last = m.Seq
	return false
}

// Gap reports whether something may be missing.
func (l *Lane) Gap() bool { return l.gap }

// Suspect makes the next Fill look at the stream: after a reconnect, and every
// few seconds, since pushes are sent at most once.
func (l *Lane) Suspect() { l.gap = true }

// Fill reads what the stream holds behind the last known request, up to a
// queue's depth. leader asks the stream's leader, which is never behind; Direct
// Get may be by some milliseconds: then the gap stays, and the next Fill should
// ask the leader.
func (l *Lane) Fill(ctx context.Context, leader bool) error {
	read := l.conn.DirectNext
	if leader {
		read = l.conn.LeaderNext
	}
	for range 2 * protocol.QueueDepth {
		m, err := read(ctx, l.stream, l.subject, l.last+1)
		if errors.Is(err, natsx.ErrNotFound) {
			l.atEnd(leader, time.Now())
			return nil
		}
		if err != nil {
			return fmt.Errorf("read lane %s of %s: %w", l.lane, l.key, err)
		}
		if m.Seq <= l.last {
			return fmt.Errorf("read lane %s of %s: asked behind %d, got %d", l.lane, l.key, l.last, m.Seq)
		}
		l.waiting = append(l.waiting, m)
		l.last = m.Seq
	}
	return nil
}

// atEnd: there is nothing more behind last. What a push named and the leader does
// not have was purged, or the leader is an old server that has not caught up: to
// go on behind it would lose every request in between. So the gap stays, until no
// such leader can be behind any more; then the push is forgotten, and nothing is
// skipped.
func (l *Lane) atEnd(leader bool, now time.Time) {
	l.gap = l.last < l.want
	switch {
	case !l.gap:
		l.missed = time.Time{}
	case leader && l.missed.IsZero():
		l.missed = now
	case leader && now.Sub(l.missed) > catchUp:
		l.want, l.gap, l.missed = l.last, false, time.Time{}
	}
}

// Head is the next request, without taking it.
func (l *Lane) Head() (protocol.Stored, bool) {
	if len(l.waiting) == 0 {
		return protocol.Stored{}, false
	}
	m := l.waiting[0]
	return protocol.Stored{Key: l.key, Lane: l.lane, Seq: m.Seq, StoredAt: m.Time, Data: m.Data}, true
}

// HeadMessage is the next request's message: its headers carry trace context.
func (l *Lane) HeadMessage() natsx.Message { return l.waiting[0] }

// Drop takes the head away.
func (l *Lane) Drop() {
	l.waiting[0] = natsx.Message{}
	l.waiting = l.waiting[1:]
}

// Last is the sequence up to which the lane knows every request.
func (l *Lane) Last() protocol.Seq { return l.last }

// Len is how many requests wait.
func (l *Lane) Len() int { return len(l.waiting) }

// Waiting are the waiting requests, oldest first.
func (l *Lane) Waiting() []protocol.Stored {
	all := make([]protocol.Stored, len(l.waiting))
	for i, m := range l.waiting {
		all[i] = protocol.Stored{Key: l.key, Lane: l.lane, Seq: m.Seq, StoredAt: m.Time, Data: m.Data}
	}
	return all
}

// Peek is the first request behind the record's cursor, as the stream's leader
// has it, without holding the owner.
func Peek(ctx context.Context, c Log, s protocol.Shard, k protocol.OwnerKey, rec *protocol.OwnerRecord, l protocol.Lane) ([]protocol.Stored, error) {
	var cursor protocol.Seq
	if rec != nil {
		cursor = rec.Cursor(l)
	}
	m, err := c.LeaderNext(ctx, protocol.ActStream(s), protocol.ActSubject(s, k, l), cursor+1)
	if errors.Is(err, natsx.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look into lane %s of %s: %w", l, k, err)
	}
	return []protocol.Stored{{Key: k, Lane: l, Seq: m.Seq, StoredAt: m.Time, Data: m.Data}}, nil
}
