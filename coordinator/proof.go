package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// proving is the log as a coordinator has it: it may purge, and so find out what
// workers cannot, whether a stream's leader has all that was ever stored.
type proving struct{ *natsx.Conn }

var _ ownerlog.Prover = proving{}

// nobody's queue: no owner has this subject, since it stands for none.
func nobody(s protocol.Shard) string {
	return protocol.ActSubject(s, protocol.OwnerKey{Tenant: "_", Owner: "nobody"}, protocol.LaneControl)
}

// Prove implements ownerlog.Prover.
func (p proving) Prove(ctx context.Context, s protocol.Shard) error {
	return p.CatchUp(ctx, protocol.ActStream(s), nobody(s))
}

// streams is the log of a coordinator.
func (s *shard) streams() ownerlog.Log { return proving{s.c.cfg.Conn} }

// settle makes the record one of the present stream of requests. The alarm says
// what was wrong with it. An older copy of the stream is proved to be one.
func (s *shard) settle(ctx context.Context, rec *protocol.OwnerRecord) (alarm, err error) {
	st, err := ownerlog.Confirm(ctx, s.streams(), s.id, rec)
	if err != nil {
		return nil, err
	}
	return st.Settle(rec), nil
}

// foreign reports whether the record's cursors are not of the present stream of
// requests. They say nothing then: nothing is purged by them.
func (l *loop) foreign(e *entry) bool {
	return e.beyond || (!l.stream.Created.IsZero() && l.stream.Foreign(e.life, 0))
}

// holderNotices is how long the holder of an owner has to notice by itself that
// the stream of requests is another: it keeps its browser, and a new holder would
// not.
const holderNotices = 5 * time.Second

// moves reports whether a held owner has to move because its holder has cursors
// of another stream, and did not notice.
func (l *loop) moves(e *entry) bool {
	return l.foreign(e) && time.Since(l.streamSeen) > holderNotices
}

// errLooksOlder: what the stream's leader says comes from before what is known.
var errLooksOlder = errors.New("the stream of requests looks like an older copy of itself")

// lookAtStream notices a stream of requests that was replaced, or restored from
// an older copy. What looks like an older copy is proved to be one, or not
// believed.
func (l *loop) lookAtStream(ctx context.Context) error {
	st, err := ownerlog.LookAt(ctx, l.s.c.cfg.Conn, l.s.id)
	if err != nil {
		return err
	}
	if l.looksOlder(st) {
		if err := (proving{l.s.c.cfg.Conn}).Prove(ctx, l.s.id); err != nil {
			return fmt.Errorf("%w: %w", errLooksOlder, err)
		}
		if st, err = ownerlog.LookAt(ctx, l.s.c.cfg.Conn, l.s.id); err != nil {
			return err
		}
	}
	old := l.stream
	switch {
	case old.Created.IsZero():
		l.streamSeen = time.Now()
	case !old.Created.Equal(st.Created) || st.Last < old.Last:
		l.s.log.Error("the stream of requests was replaced", "created", old.Created, "last", old.Last, "now_created", st.Created, "now_last", st.Last)
		l.streamSeen = time.Now()
		clear(l.queued)
		clear(l.purging)
	}
	l.stream = st
	for _, e := range l.view {
		e.beyond = max(e.cursorQ, e.cursorC) > st.Last
	}
	return nil
}

// looksOlder reports whether the stream is less far than it was, or than a
// record's cursor.
func (l *loop) looksOlder(st ownerlog.Stream) bool {
	if st.Created.Before(l.stream.Created) || (st.Created.Equal(l.stream.Created) && st.Last < l.stream.Last) {
		return true
	}
	for _, e := range l.view {
		if max(e.cursorQ, e.cursorC) > st.Last && !st.Foreign(e.life, 0) {
			return true
		}
	}
	return false
}
