package ownerlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// ErrBehind: a stream's leader answers from before what is known to be stored. A
// server that was cut off and becomes the leader again does so until it has
// applied what it missed (measured in a cluster of three: two thousand messages
// behind, for 0.9 s, four seconds after the cut was mended). Its answers are not
// believed; nothing is assumed in their place.
var ErrBehind = errors.New("the stream's leader has not caught up with what is known")

const (
	// catchUp is how long a leader that is behind is asked again, every lookAgain.
	// It is less than the 5 s after which a coordinator looks at the owner again.
	catchUp   = 4 * time.Second
	lookAgain = 200 * time.Millisecond
	// provenFor is for how long a leader that was as far as it must be is believed
	// without another proof. Electing another one takes longer: followers wait four
	// seconds and more (hard-coded in nats-server's raft) before they try.
	provenFor = 3 * time.Second
)

// Prover is a Log whose user may prove how far the stream of requests is: by
// something that the stream's replicas agree on, after everything that was
// stored before. Workers have no right to any such write.
type Prover interface {
	// Prove returns when the leader has applied all that was stored before.
	Prove(ctx context.Context, s protocol.Shard) error
}

// untilCaughtUp repeats look while it is ErrBehind, for at most catchUp.
func untilCaughtUp(ctx context.Context, look func() error) error {
	for begun := time.Now(); ; {
		err := look()
		if !errors.Is(err, ErrBehind) || time.Since(begun) > catchUp {
			return err
		}
		if err := wait(ctx, lookAgain, err); err != nil {
			return err
		}
	}
}

// ReadFrom is Read for who knows that the record was written at a sequence: a
// leader that has only older ones is asked again, and then not believed.
func ReadFrom(ctx context.Context, c Log, s protocol.Shard, k protocol.OwnerKey, least protocol.Seq) (rec *protocol.OwnerRecord, fence protocol.Seq, err error) {
	err = untilCaughtUp(ctx, func() (err error) {
		rec, fence, err = Read(ctx, c, s, k)
		if err == nil && fence < least {
			return fmt.Errorf("%w: the record of %s at %d, known at %d", ErrBehind, k, fence, least)
		}
		return err
	})
	return rec, fence, err
}

// Confirm looks at the stream that a record is to be settled with, until what it
// sees can be believed. A stream that stays behind is an older copy only if that
// is proved, twice in a row; who cannot prove it gives up.
func Confirm(ctx context.Context, c Log, s protocol.Shard, rec *protocol.OwnerRecord) (st Stream, err error) {
	look := func() error {
		if st, err = LookAt(ctx, c, s); err == nil && st.Behind(rec) {
			return fmt.Errorf("%w: the stream of requests at %d, known at %d", ErrBehind, st.Last, proof(rec))
		}
		return err
	}
	prover, able := c.(Prover)
	if !able {
		return st, untilCaughtUp(ctx, look)
	}
	for proofs := 0; ; proofs++ {
		if err := look(); !errors.Is(err, ErrBehind) || proofs == 2 {
			return st, ignoreBehind(err)
		}
		if err := wait(ctx, lookAgain, ErrBehind); err != nil {
			return st, err
		}
		if err := prover.Prove(ctx, s); err != nil {
			return st, fmt.Errorf("%w, and nothing proves that it will not: %w", ErrBehind, err)
		}
	}
}

// ignoreBehind: what is proved to be an older copy is one.
func ignoreBehind(err error) error {
	if errors.Is(err, ErrBehind) {
		return nil
	}
	return err
}

// CannotTell answers a request that ErrBehind keeps from being done. Creating
// this answer asks the results' stream for certain: it is refused where there is
// another one. After it that stream is known again.
func CannotTell() *protocol.Error {
	err := protocol.Errorf(protocol.CodeUnavailable, "the servers cannot tell yet whether it was answered before; it was not run").
		WithDispatched(protocol.DispatchedNo)
	err.Retryable, err.RecommendedAction = true, "send it again under a new id"
	return err
}

// mustHave is how far the results' leader must be to be believed when it has no
// result of a request; 0 if that need not be asked. While the ring of finished ids
// is not full, nothing ever fell out of it. Else it is where the owner's newest
// result was stored: sequences outlive the results, so neither an id's time nor a
// result's retention comes into it.
func (h *Holder) mustHave() protocol.Seq {
	if len(h.rec.Done) < protocol.DoneRing || time.Since(h.proven) < provenFor {
		return 0
	}
	return h.rec.ResultSeq
}

// prove waits until the results' leader is as far as it must be.
func (h *Holder) prove(ctx context.Context, known protocol.Seq) (at time.Time, err error) {
	err = untilCaughtUp(ctx, func() error {
		at = time.Now()
		last, err := h.resultsLast(ctx)
		if err == nil && last < known {
			return fmt.Errorf("%w: the results at %d, known at %d", ErrBehind, last, known)
		}
		return err
	})
	return at, err
}

// resultsLast asks the results' leader how far it is.
func (h *Holder) resultsLast(ctx context.Context) (protocol.Seq, error) {
	stream := protocol.ResStream(h.shard)
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		last, err := h.conn.StreamLast(ctx, stream)
		if err == nil {
			return last, nil
		}
		if err := wait(ctx, pause, err); err != nil {
			return 0, fmt.Errorf("how far is %s: %w", stream, err)
		}
	}
}

// proved remembers that the results' leader was as far as it must be.
func (h *Holder) proved(at time.Time) {
	if at.After(h.proven) {
		h.proven = at
	}
}
