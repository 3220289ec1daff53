package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// minTTL is the shortest per-message TTL that the server takes (error 10165).
const minTTL = time.Second

// Lease is a key of a bucket that one holder keeps by writing it again before
// its TTL ends. It is used by one goroutine.
//
// It says who should act, not who may: a holder whose process was paused still
// believes in it. Writes are fenced by compare-and-set on their own subjects.
type Lease struct {
	conn            *Conn
	stream, subject string
	holder          string
	ttl             time.Duration

	rev     protocol.Seq // of our newest write, 0 when we do not hold it
	expires time.Time
}

// leaseValue is what the key holds.
type leaseValue struct {
	Holder string `json:"holder"`
}

// NewLease names a lease. holder must be unique to this process: a record with
// this name is taken for ours. A ttl below one second is one second.
func NewLease(c *Conn, bucket, key, holder string, ttl time.Duration) *Lease {
	return &Lease{
		conn: c, stream: "KV_" + bucket, subject: "$KV." + bucket + "." + key,
		holder: holder, ttl: max(ttl, minTTL).Truncate(time.Second),
	}
}

// Acquire takes the lease if nobody holds it. term grows from holder to holder.
// ok is false when somebody else holds it. After an error nothing is known:
// Acquire again finds out.
func (l *Lease) Acquire(ctx context.Context) (term uint64, ok bool, err error) {
	l.rev = 0
	cur, err := l.current(ctx)
	if err != nil {
		return 0, false, err
	}
	if cur.Holder != "" && cur.Holder != l.holder {
		return 0, false, nil
	}
	if err := l.write(ctx, cur.seq); err != nil {
		if errors.Is(err, ErrConflict) {
			return 0, false, nil // somebody else was faster
		}
		return 0, false, err
	}
	return uint64(l.rev), true, nil
}

// Renew writes the key again. ErrConflict means that the lease is lost; after
// any other error it may be held until Expires, and Renew may be tried again.
func (l *Lease) Renew(ctx context.Context) error {
	if l.rev == 0 {
		return fmt.Errorf("renew %s: %w: not held", l.subject, ErrConflict)
	}
	err := l.write(ctx, l.rev)
	if !errors.Is(err, ErrConflict) {
		return err
	}
	// An earlier renewal without an answer may have been stored.
	cur, readErr := l.current(ctx)
	if readErr != nil {
		return readErr
	}
	if cur.Holder == l.holder {
		return l.write(ctx, cur.seq)
	}
	l.rev = 0
	return fmt.Errorf("renew %s: %w", l.subject, err)
}

// Release gives the lease up, so that the next holder need not wait for its
// TTL. It is best effort: without it the TTL ends the lease.
func (l *Lease) Release(ctx context.Context) {
	if l.rev == 0 {
		return
	}
	h := nats.Header{"KV-Operation": {"DEL"}}
	if _, err := l.conn.CAS(ctx, l.subject, nil, h, l.rev); err != nil {
		l.conn.log.Debug("lease not released", "lease", l.subject, "error", err)
	}
	l.rev, l.expires = 0, time.Time{}
}

// Expires is until when, by this process's clock, nobody else can hold the
// lease; the zero time when it is not held.
func (l *Lease) Expires() time.Time {
	if l.rev == 0 {
		return time.Time{}
	}
	return l.expires
}

// leaseState is what stands in the bucket: no holder when the key is free.
type leaseState struct {
	leaseValue
	seq protocol.Seq
}

func (l *Lease) current(ctx context.Context) (leaseState, error) {
	m, err := l.conn.LeaderLast(ctx, l.stream, l.subject)
	if errors.Is(err, ErrNotFound) {
		return leaseState{}, nil
	}
	if err != nil {
		return leaseState{}, err
	}
	state := leaseState{seq: m.Seq}
	if len(m.Data) == 0 { // the marker of a key that expired or was released
		return state, nil
	}
	if err := json.Unmarshal(m.Data, &state.leaseValue); err != nil {
		return leaseState{}, fmt.Errorf("lease %s: %w", l.subject, err)
	}
	return state, nil
}

// write is a raw publish: kv.Update drops the TTL without a word, and a lease
// without one is held for ever (measured on 2.15).
func (l *Lease) write(ctx context.Context, expect protocol.Seq) error {
	body, err := json.Marshal(leaseValue{Holder: l.holder})
	if err != nil {
		return fmt.Errorf("encode lease: %w", err)
	}
	sent := time.Now()
	seq, err := l.conn.CAS(ctx, l.subject, body, nats.Header{jetstream.MsgTTLHeader: {l.ttl.String()}}, expect)
	if err != nil {
		return err
	}
	l.rev, l.expires = seq, sent.Add(l.ttl)
	return nil
}
