package checkpoints

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// maxSlotSteps bounds one write: a quiet one takes one step, a lost answer
// two or three, a rival four more.
const maxSlotSteps = 40

// slotWrite drives the state machine of one write. Its owner supplies what
// differs between a seal and a commit.
type slotWrite struct {
	handle *Handle
	state  slotState
	seq    uint64
	nonce  string
	writes int

	// encode makes the object for the current slot.
	encode func(seq uint64) ([]byte, Manifest, error)
	// relist finds the next free slot after a stranger took ours: evListed with
	// seq set, evLater, or evBroken with the error.
	relist func(ctx context.Context, w *slotWrite) (slotEvent, error)
	// epochs says whether a later epoch in the slot fences (a commit) or is only
	// a reason to list again (a seal, which has no epoch yet).
	epochs bool

	encodedSeq uint64 // the slot that body was made for
	body       []byte
	manifest   Manifest
}

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// run takes steps until the machine ends. nil: the slot is ours and manifest is
// what it holds.
func (w *slotWrite) run(ctx context.Context) error {
	var cause error
	for range maxSlotSteps {
		event, err := w.step(ctx)
		if err != nil {
			cause = err
		}
		if w.state, err = nextSlotState(w.state, event); err != nil {
			return err
		}
		if w.state.final() {
			return w.outcome(cause)
		}
	}
	return fmt.Errorf("no free slot after %d steps: %w", maxSlotSteps, ErrUnavailable)
}

func (w *slotWrite) outcome(cause error) error {
	switch w.state {
	case slotDone:
		return nil
	case slotFenced:
		return ErrFenced
	default:
		return fmt.Errorf("write checkpoint %d: %w", w.seq, cause)
	}
}

func (w *slotWrite) step(ctx context.Context) (slotEvent, error) {
	switch w.state {
	case slotWriting:
		return w.write(ctx)
	case slotReading:
		return w.readBack(ctx)
	case slotRelisting:
		return w.relist(ctx, w)
	default:
		return w.confirm(ctx)
	}
}

func (w *slotWrite) write(ctx context.Context) (slotEvent, error) {
	if w.encodedSeq != w.seq || w.body == nil {
		var err error
		if w.body, w.manifest, err = w.encode(w.seq); err != nil {
			return evBroken, err
		}
		w.encodedSeq = w.seq
	}
	if w.writes++; w.writes > 1 && !backOff(ctx, w.writes) {
		return evBroken, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	err := w.handle.store.objects.PutNew(ctx, slotKey(w.handle.env, w.seq), w.body)
	switch {
	case err == nil:
		return evStored, nil
	case errors.Is(err, objectstore.ErrExists):
		return evTaken, nil
	case errors.Is(err, objectstore.ErrAmbiguous):
		return evUnanswered, err
	}
	return evBroken, err
}

// readBack finds out whose object is in the slot. The writer id is unique to
// the handle, so a manifest with it and another nonce is a write of ours whose
// answer never came.
func (w *slotWrite) readBack(ctx context.Context) (slotEvent, error) {
	o, _, _, err := w.handle.store.read(ctx, w.handle.env, w.seq)
	switch {
	case errors.Is(err, objectstore.ErrNotFound):
		return evVacant, nil
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrUnknownKey), errors.Is(err, ErrSchemaTooNew):
		return evForeign, nil // not ours: what we write, we can read
	case err != nil:
		return evBroken, err
	}
	return w.judge(o.manifest), nil
}

func (w *slotWrite) judge(m Manifest) slotEvent {
	switch {
	case m.WriterID == w.handle.writer && m.CommitNonce == w.nonce:
		return evOurs
	case m.WriterID == w.handle.writer:
		w.handle.adopt(m)
		w.seq = m.Seq + 1
		return evEarlier
	case w.epochs && m.Epoch > w.handle.epoch:
		return evLater
	}
	return evForeign
}

// confirm proves that we are the holder, directly before the write.
func (w *slotWrite) confirm(ctx context.Context) (slotEvent, error) {
	err := w.handle.confirm(ctx)
	switch {
	case err == nil:
		return evConfirmed, nil
	case errors.Is(err, ErrFenced):
		return evRefused, err
	}
	return evBroken, fmt.Errorf("confirm the owner record: %w", err)
}

// backOff waits before the n-th write of a slot: 25 ms doubling up to 0.8 s,
// half of it random. False: the context ended.
func backOff(ctx context.Context, n int) bool {
	d := 25 * time.Millisecond << min(n-2, 5)
	timer := time.NewTimer(d/2 + mathrand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
