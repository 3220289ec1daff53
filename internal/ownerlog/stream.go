package ownerlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// ErrStreamReplaced: a record's cursors belong to another stream of requests
// than the present one. Somebody made the stream anew, or restored an older
// copy of it.
var ErrStreamReplaced = errors.New("the stream of requests is not the one that the record belongs to")

// Stream is what tells one stream of requests from another of the same name.
type Stream struct {
	Created time.Time
	Last    protocol.Seq
}

// Life is the creation of the stream that a record's cursors belong to, as far
// as the record knows it.
type Life struct{ Seconds, Nanos int64 }

// LifeOf is the record's.
func LifeOf(rec *protocol.OwnerRecord) Life {
	return Life{rec.ActStreamCreated, rec.ActStreamNanos}
}

// set makes the record's cursors those of the stream.
func (st Stream) set(rec *protocol.OwnerRecord) {
	rec.ActStreamCreated, rec.ActStreamNanos = st.Created.Unix(), int64(st.Created.Nanosecond())
}

// none: a record without cursors.
func (l Life) none() bool { return l.Seconds == 0 }

// is reports whether the stream that was created then is this one. A record that
// does not know the nanoseconds cannot tell two streams of one second apart.
func (l Life) is(created time.Time) bool {
	return l.Seconds == created.Unix() && (l.Nanos == 0 || l.Nanos == int64(created.Nanosecond()))
}

// after reports whether this one was created later.
func (l Life) after(created time.Time) bool {
	return time.Unix(l.Seconds, l.Nanos).After(created)
}

// LookAt asks for the shard's stream of requests. The last sequence is read
// after the creation, so that a stream that is replaced in between looks wrong.
func LookAt(ctx context.Context, c Log, s protocol.Shard) (Stream, error) {
	var st Stream
	var err error
	if st.Created, err = c.StreamCreated(ctx, protocol.ActStream(s)); err != nil {
		return st, err
	}
	st.Last, err = c.StreamLast(ctx, protocol.ActStream(s))
	return st, err
}

// proof is the least last sequence of the stream of requests that the record
// proves: whoever wrote it had read that far.
func proof(rec *protocol.OwnerRecord) protocol.Seq {
	least := max(rec.CursorQ, rec.CursorC)
	for _, in := range []*protocol.Inflight{rec.InflightQ, rec.InflightC} {
		if in != nil {
			least = max(least, in.Seq)
		}
	}
	return least
}

// Behind reports whether what a leader says of the stream comes from before what
// the record proves: the leader has not caught up, or somebody restored an older
// copy of the stream.
func (st Stream) Behind(rec *protocol.OwnerRecord) bool {
	life := LifeOf(rec)
	return !life.none() && (life.after(st.Created) || (life.is(st.Created) && proof(rec) > st.Last))
}

// Settle makes the record one of this stream. Cursors of another one say nothing
// here: believing them would skip, or purge, requests that nobody answered. Then
// the ring of finished ids is kept, and the STARTs: those that this stream does not
// hold by id alone. The error says so. Where the stream is
// Behind, it must be known to be an older copy: Confirm, not Settle alone.
func (st Stream) Settle(rec *protocol.OwnerRecord) error {
	life := LifeOf(rec)
	if life.none() || (life.is(st.Created) && proof(rec) <= st.Last) {
		st.set(rec)
		return nil
	}
	err := fmt.Errorf("%w: record of %d.%09d at %d and %d, stream of %s at %d; the cursors start at 0", ErrStreamReplaced,
		life.Seconds, life.Nanos, rec.CursorQ, rec.CursorC, st.Created.UTC().Format(time.RFC3339Nano), st.Last)
	for _, in := range []*protocol.Inflight{rec.InflightQ, rec.InflightC} {
		if in != nil && (!life.is(st.Created) || in.Seq > st.Last) {
			in.Seq = 0
		}
	}
	rec.CursorQ, rec.CursorC = 0, 0
	st.set(rec)
	return err
}

// Foreign reports whether a cursor cannot be one of this stream.
func (st Stream) Foreign(life Life, cursor protocol.Seq) bool {
	return (!life.none() && !life.is(st.Created)) || cursor > st.Last
}
