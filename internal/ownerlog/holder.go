package ownerlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// ErrFenced: somebody else wrote the record. The holder may begin nothing, and
// commit nothing, any more.
var ErrFenced = errors.New("the owner is held by somebody else")

// Backoff between repeats of a write that got no answer.
const (
	retryFirst = 20 * time.Millisecond
	retryMost  = time.Second
	// writeTimeout bounds one try. An election of the stream's leader takes up
	// to nine seconds; the holder goes on trying until its context ends.
	writeTimeout = 2 * time.Second
)

// Holder is an owner in the hands of this process.
type Holder struct {
	conn  Log
	shard protocol.Shard
	key   protocol.OwnerKey
	// created is BF_ACT's creation: part of the names of requests without id.
	created time.Time

	rec   *protocol.OwnerRecord
	fence protocol.Seq
	// dirty: the cursor in memory is ahead of the record.
	dirty bool
	// fenced: somebody else's record was seen. It stays so: nothing of this
	// holder may be written or answered any more.
	fenced bool
	// alarm is what is wrong with the streams, see Settle.
	alarm error
	// proven is when the leader of the results last had what it must have.
	proven time.Time
	// former began under the stream's namesake, and still run: their end moves no
	// cursor.
	former []protocol.RequestID
	// sinceHint counts finished requests that the shard's leader was not told of.
	sinceHint int
}

// Read is the owner's record as the stream's leader has it; nil when there is
// none. The sequence is the fence.
func Read(ctx context.Context, c Log, s protocol.Shard, k protocol.OwnerKey) (*protocol.OwnerRecord, protocol.Seq, error) {
	m, err := c.LeaderLast(ctx, protocol.OwnStream(s), protocol.OwnSubject(s, k))
	if errors.Is(err, natsx.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the record of %s: %w", k, err)
	}
	rec, err := protocol.DecodeOwnerRecord(m.Data)
	if err != nil {
		return nil, 0, fmt.Errorf("record of %s at %d: %w", k, m.Seq, err)
	}
	if rec.Epoch == 0 {
		rec.Epoch = protocol.Epoch(m.Seq)
	}
	return rec, m.Seq, nil
}

// Claim reads the record, lets change alter it (nil where there is none yet),
// and writes it. change returns the record to write; an error of it is returned
// as it is, and nothing is written. ErrBehind: what was read could not be
// believed, and nothing is claimed.
func Claim(ctx context.Context, c Log, s protocol.Shard, k protocol.OwnerKey, change Change) (*Holder, error) {
	return ClaimFrom(ctx, c, s, k, 0, change)
}

// Change is what a claim makes of the record.
type Change func(rec *protocol.OwnerRecord, fence protocol.Seq) (*protocol.OwnerRecord, error)

// ClaimFrom is Claim for who knows that the record was written at a sequence: an
// older one is not believed.
func ClaimFrom(ctx context.Context, c Log, s protocol.Shard, k protocol.OwnerKey, least protocol.Seq, change Change) (*Holder, error) {
	rec, fence, err := ReadFrom(ctx, c, s, k, least)
	if err != nil {
		return nil, err
	}
	next, err := change(rec, fence)
	if err != nil {
		return nil, err
	}
	stream, err := Confirm(ctx, c, s, next)
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", k, err)
	}
	h := &Holder{conn: c, shard: s, key: k, created: stream.Created, rec: rec, fence: fence}
	h.alarm = stream.Settle(next)
	if err := h.write(ctx, next); err != nil {
		return nil, fmt.Errorf("claim %s: %w", k, err)
	}
	return h, nil
}

// Record is the record as last written or advanced in memory. Read only.
func (h *Holder) Record() *protocol.OwnerRecord { return h.rec }

// Fence is the sequence of the newest write.
func (h *Holder) Fence() protocol.Seq { return h.fence }

// Key is the owner.
func (h *Holder) Key() protocol.OwnerKey { return h.key }

// Shard is the owner's shard.
func (h *Holder) Shard() protocol.Shard { return h.shard }

// StreamCreated is the creation of the shard's stream of requests.
func (h *Holder) StreamCreated() time.Time { return h.created }

// Alarm is what Claim found wrong with the stream of requests; nil if nothing.
// The holder can go on; an operator must know.
func (h *Holder) Alarm() error { return h.alarm }

// Resettle looks whether the stream of requests is still the one of the claim. A
// newer one makes the record its own: the ring stays, the cursors start at 0, and
// lanes have to be made anew. running, what this holder runs, goes on, and is
// answered. A stream that looks older is left to the next look: its leader is from
// before.
func (h *Holder) Resettle(ctx context.Context, running ...protocol.RequestID) (alarm, err error) {
	st, err := LookAt(ctx, h.conn, h.shard)
	if err != nil || !st.Created.After(h.created) {
		return nil, err
	}
	next := h.rec.Clone()
	alarm = st.Settle(next)
	if err := h.write(ctx, next); err != nil {
		return nil, err
	}
	h.created, h.alarm, h.former = st.Created, alarm, running
	return alarm, nil
}

// Update writes the record with a change.
func (h *Holder) Update(ctx context.Context, change func(*protocol.OwnerRecord) error) error {
	next := h.rec.Clone()
	if err := change(next); err != nil {
		return err
	}
	return h.write(ctx, next)
}

// Confirm proves that the owner is still ours, by writing the record again.
func (h *Holder) Confirm(ctx context.Context) error {
	return h.Update(ctx, func(*protocol.OwnerRecord) error { return nil })
}

// write puts next in place of the present record. It goes on until the write is
// known to stand, is known to be refused, or ctx ends.
func (h *Holder) write(ctx context.Context, next *protocol.OwnerRecord) error {
	if h.fenced {
		return ErrFenced
	}
	next.V, next.Nonce = protocol.Version, NewNonce()
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("record of %s: %w", h.key, err)
	}
	if len(data) > protocol.MaxRecordBytes {
		// The stream would refuse it for ever.
		return fmt.Errorf("record of %s has %d bytes; at most %d", h.key, len(data), protocol.MaxRecordBytes)
	}
	subject := protocol.OwnSubject(h.shard, h.key)
	var behind time.Time // since when the stream's leader has an older record than ours
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		seq, err := h.try(ctx, subject, data, next.Nonce)
		switch {
		case !errors.Is(err, ErrBehind):
			behind = time.Time{}
		case behind.IsZero():
			behind = time.Now()
		case time.Since(behind) > catchUp:
			// Whoever replaced the stream of records took the owner from us.
			err = fmt.Errorf("%w: %w", ErrFenced, err)
		}
		if err == nil {
			h.rec, h.fence, h.dirty = next, seq, false
			if next.Epoch == 0 {
				h.rec.Epoch = protocol.Epoch(seq)
			}
			return nil
		}
		if errors.Is(err, ErrFenced) {
			h.fenced = true
			return err
		}
		if err := wait(ctx, pause, err); err != nil {
			return fmt.Errorf("write the record of %s: %w", h.key, err)
		}
	}
}

// try writes once. The same data may be tried again: whichever copy the server
// stores first makes it refuse the others, and the nonce tells that it was us.
func (h *Holder) try(ctx context.Context, subject string, data []byte, nonce string) (protocol.Seq, error) {
	once, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	seq, err := h.conn.CAS(once, subject, data, nil, h.fence)
	if !errors.Is(err, natsx.ErrConflict) {
		return seq, err
	}
	stands, err := h.conn.LeaderLast(once, protocol.OwnStream(h.shard), subject)
	if err != nil && !errors.Is(err, natsx.ErrNotFound) {
		return 0, err
	}
	if err != nil || stands.Seq <= h.fence {
		// Nothing stands that could have refused it: a leader that was behind did.
		return 0, fmt.Errorf("%w: it has a record at %d, ours is at %d", ErrBehind, stands.Seq, h.fence)
	}
	rec, err := protocol.DecodeOwnerRecord(stands.Data)
	if err == nil && rec.Nonce == nonce {
		return stands.Seq, nil
	}
	return 0, ErrFenced
}

// Flush writes the cursor if it moved in memory, and tells the shard's leader.
func (h *Holder) Flush(ctx context.Context) error {
	if h.dirty {
		if err := h.Confirm(ctx); err != nil {
			return err
		}
	}
	h.hint(1)
	return nil
}

// Dirty reports whether the cursor in memory is ahead of the record.
func (h *Holder) Dirty() bool { return h.dirty }

// hintEvery bounds how many answered requests stay in a queue of 64.
const hintEvery = 16

// hint tells the shard's leader up to where the persisted cursors are. It may be
// lost: the leader also looks by itself.
func (h *Holder) hint(least int) {
	if h.dirty || h.sinceHint < least {
		return
	}
	data, err := json.Marshal(protocol.TrimHint{V: protocol.Version, CursorQ: h.rec.CursorQ, CursorC: h.rec.CursorC})
	if err == nil && h.conn.Send(protocol.TrimSubject(h.shard, h.key), data) == nil {
		h.sinceHint = 0
	}
}

// wait pauses before a repeat; when ctx ends it returns the cause with the error
// that made it wait.
func wait(ctx context.Context, d time.Duration, because error) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w (last: %w)", context.Cause(ctx), because)
	}
}

// NewNonce is new in every write of a record or a result.
func NewNonce() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
