package checkpoints

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// relistAfter: a handle that has not written for so long looks, after its PUT,
// whether somebody wrote above it. It is well below the age at which Collect
// deletes a manifest, so a holder that slept while its slot was taken and
// collected again cannot mistake the free slot for success.
const relistAfter = 5 * time.Minute

// Writer is who takes an environment.
type Writer struct {
	Worker protocol.WorkerID
	// Generation of the environment that is being started. The seal carries at
	// least the newest manifest's + 1.
	Generation protocol.Generation
	// Confirm makes a compare-and-set on the owner record, and returns nil only
	// when it succeeded: the caller is the holder. An error that wraps ErrFenced
	// says that it is not; any other, that it could not be found out. It is
	// called directly before the seal is written, and again before anything is
	// written above a stranger's slot.
	Confirm func(ctx context.Context) error
}

// Handle is the right to write an environment's checkpoints. One goroutine uses
// it. It ends with ErrFenced, for good, when another holder has appeared.
type Handle struct {
	store   *Store
	env     EnvID
	writer  WriterID
	confirm func(ctx context.Context) error

	epoch  uint64 // the manifests' own epoch, above all earlier holders'
	last   Manifest
	parts  []storedPart // of last
	since  uint64       // every slot since this one is ours
	proven time.Time    // begin of the last write that succeeded
	fenced bool
	loaded *Loaded
}

// Seal takes an environment over: it proves with Confirm that the caller is the
// holder, then writes a manifest with the same state and the next epoch. From
// then on no earlier holder can commit. Only after Seal may a browser start, and
// it starts from the handle's Loaded: if an earlier holder's last checkpoint
// came in between, that is newer than the loaded that was passed in.
//
// loaded comes from Load. An environment that was never written is sealed, too.
func (s *Store) Seal(ctx context.Context, env EnvID, loaded *Loaded, w Writer) (*Handle, error) {
	if loaded == nil || w.Confirm == nil || w.Worker == "" {
		return nil, errors.New("seal: loaded state, worker and Confirm are required")
	}
	if loaded.Manifest == nil && loaded.NewestSeq > 0 {
		// Load said so already; an empty seal would hide what may yet be mended.
		return nil, fmt.Errorf("seal over manifests that cannot be used: %w", ErrCorrupt)
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	h := &Handle{
		store: s, env: env, confirm: w.Confirm, loaded: loaded,
		writer: WriterID(string(w.Worker) + "-" + strings.ToLower(rand.Text()[:13])),
	}
	started := time.Now()
	write := &slotWrite{
		handle: h, state: slotConfirming, seq: loaded.NewestSeq + 1, nonce: newNonce(),
		relist: h.reload,
	}
	write.encode = func(seq uint64) ([]byte, Manifest, error) { return h.encodeSeal(seq, write.nonce, w.Generation) }
	if err := write.run(ctx); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	h.hold(write.manifest, h.loaded.parts, started)
	return h, nil
}

// reload is a seal's relist: what the rival wrote becomes the base.
func (h *Handle) reload(ctx context.Context, w *slotWrite) (slotEvent, error) {
	loaded, err := h.store.Load(ctx, h.env)
	if err != nil {
		return evBroken, err
	}
	h.loaded = loaded
	w.seq, w.body = loaded.NewestSeq+1, nil
	return evListed, nil
}

// encodeSeal repeats the loaded state under the next epoch.
func (h *Handle) encodeSeal(seq uint64, nonce string, generation protocol.Generation) ([]byte, Manifest, error) {
	l := h.loaded
	if l.maxEpoch == math.MaxUint64 || seq == 0 {
		return nil, Manifest{}, corrupt(StageHeader, "sequence or epoch at its end")
	}
	h.epoch, h.since = l.maxEpoch+1, seq
	body := Body{}
	if l.Manifest != nil {
		body = l.Manifest.Body
		body.ParentSeq = l.Manifest.Seq
		generation = max(generation, l.Manifest.Generation+1)
	}
	body.Kind, body.Reason, body.Generation, body.SinceSeq = KindSeal, ReasonTakeover, generation, seq
	return sealObject(h.header(seq, nonce), body, l.parts, h.store.keys)
}

func (h *Handle) header(seq uint64, nonce string) Header {
	return Header{
		Env: h.env, Seq: seq, Epoch: h.epoch, WriterID: h.writer, CommitNonce: nonce,
		CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
	}
}

// Loaded is the state that the seal repeats: what the browser starts from.
func (h *Handle) Loaded() *Loaded { return h.loaded }

// Env is the environment.
func (h *Handle) Env() EnvID { return h.env }

// Last is the newest manifest of this handle: the seal, or the last commit.
func (h *Handle) Last() Manifest { return h.last }

// Commit makes a state durable in the next slot. On nil the manifest is stored
// and will be found by the next holder.
//
// ErrFenced: another holder has appeared; stop the browser, publish nothing.
// ErrUnavailable: not known to be stored; the handle stays good, call again
// (what a lost answer hid is found out then). ErrTooLarge: nothing was written.
func (h *Handle) Commit(ctx context.Context, state State, meta Meta) (*Manifest, error) {
	if h.fenced {
		return nil, ErrFenced
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	started := time.Now()
	parts, err := splitState(h.env, state, h.last.Seq+1, h.parts)
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	write := &slotWrite{
		handle: h, state: slotWriting, seq: h.last.Seq + 1, nonce: newNonce(), epochs: true,
		relist: h.rebase,
	}
	body := Body{Kind: KindCheckpoint, Meta: meta, Tabs: state.Tabs}
	write.encode = func(seq uint64) ([]byte, Manifest, error) {
		return h.encodeCheckpoint(seq, write.nonce, body, parts)
	}
	if err = write.run(ctx); err == nil {
		err = h.stillAlone(ctx, write.seq, started)
	}
	if errors.Is(err, ErrFenced) {
		h.fenced = true
	}
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	h.hold(write.manifest, parts, started)
	m := h.last
	return &m, nil
}

func (h *Handle) encodeCheckpoint(seq uint64, nonce string, b Body, parts []storedPart) ([]byte, Manifest, error) {
	header := h.header(seq, nonce)
	b.ParentSeq, b.SinceSeq = h.last.Seq, h.since
	b.StateSeq, b.StateAt = seq, header.CreatedAt
	return sealObject(header, b, parts, h.store.keys)
}

// rebase is a commit's relist: a stranger of no later epoch has our slot, which
// readers will skip. The next slot is above all that is there.
func (h *Handle) rebase(ctx context.Context, w *slotWrite) (slotEvent, error) {
	l, err := h.store.Load(ctx, h.env)
	switch {
	case errors.Is(err, ErrDeleted):
		return evLater, err
	case err != nil:
		return evBroken, err
	case l.maxEpoch > h.epoch:
		return evLater, nil
	}
	h.since = l.NewestSeq + 1
	w.seq, w.body = l.NewestSeq+1, nil
	return evListed, nil
}

// stillAlone looks above our new slot when the handle slept (see relistAfter).
func (h *Handle) stillAlone(ctx context.Context, seq uint64, started time.Time) error {
	if time.Since(h.proven) < relistAfter {
		return nil
	}
	above, err := h.store.slotsAfter(ctx, h.env, seq)
	if err != nil {
		return err
	}
	if len(above) > 0 {
		return fmt.Errorf("%w: slots above ours are in use", ErrFenced)
	}
	h.proven = started
	return nil
}

// adopt takes note of an earlier write of ours whose answer never came.
func (h *Handle) adopt(m Manifest) { h.last = m }

func (h *Handle) hold(m Manifest, parts []storedPart, started time.Time) {
	h.last, h.parts, h.proven = m, parts, started
}
