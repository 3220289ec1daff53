package checkpoints

import (
	"context"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// Skipped is a manifest that a reader passed over.
type Skipped struct {
	Seq    uint64 `json:"seq"`
	Reason Stage  `json:"reason"`
}

// Loaded is what a store holds of an environment.
type Loaded struct {
	// Manifest is the newest that verifies; nil when the environment has never
	// been written.
	Manifest *Manifest
	State    State
	// Skipped are newer manifests that could not be used, newest first.
	Skipped []Skipped
	// NewestSeq is the highest slot in use, skipped ones included. A caller that
	// knows of a higher one has found a store that was rolled back.
	NewestSeq uint64
	// Unread counts parts that a newer version wrote; they are carried on.
	Unread int

	parts    []storedPart
	maxEpoch uint64 // highest authentic epoch seen
}

// Fresh says that no checkpoint was ever made: an empty browser is right.
func (l *Loaded) Fresh() bool { return l.Manifest == nil || l.Manifest.StateSeq == 0 }

// Load finds the newest manifest that verifies, and reports what it passed over.
//
// It falls back only past manifests that are damaged or were written by a
// holder that was no longer one. A store that fails (ErrUnavailable), a key
// that is missing (ErrUnknownKey) and a format that is newer (ErrSchemaTooNew)
// end it: the state is there, and an older one, let alone an empty browser,
// must not take its place. When there are manifests and none verifies, the
// error is ErrCorrupt, and the Loaded beside it lists them; beside ErrDeleted it
// has the tombstone; beside any other error it is nil.
func (s *Store) Load(ctx context.Context, env EnvID) (*Loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	slots, err := s.Slots(ctx, env)
	if err != nil {
		return nil, err
	}
	l := &Loaded{}
	if len(slots) == 0 {
		return l, nil
	}
	l.NewestSeq = slots[0].Seq
	for _, slot := range slots {
		if l.Manifest != nil && slot.Seq >= l.Manifest.SinceSeq {
			continue // written by the same handle as the candidate: no later epoch here
		}
		done, err := s.consider(ctx, env, slot.Seq, l)
		if err != nil {
			return nil, err
		}
		if done {
			break
		}
	}
	return l, l.verdict(len(slots))
}

// consider reads one slot. With no candidate yet, the slot becomes it or is
// skipped. With one, the slot is the first below the candidate's handle: a
// later epoch there means that the candidate was written by a zombie.
func (s *Store) consider(ctx context.Context, env EnvID, seq uint64, l *Loaded) (done bool, err error) {
	o, state, unread, err := s.read(ctx, env, seq)
	if err != nil {
		return l.passOver(seq, err)
	}
	if l.Manifest != nil {
		if o.manifest.Epoch <= l.Manifest.Epoch {
			return true, nil
		}
		l.drop()
	}
	l.Manifest, l.State, l.Unread, l.parts = &o.manifest, state, unread, o.parts
	l.maxEpoch = max(l.maxEpoch, o.manifest.Epoch)
	return false, nil
}

// passOver decides what a slot that could not be read means.
func (l *Loaded) passOver(seq uint64, cause error) (done bool, err error) {
	stage, epoch, skippable := skipReason(cause)
	if !skippable {
		// Below a candidate that verifies, a manifest that this version or this
		// keyring can no longer read is no reason to stop: keys are retired. A
		// store that fails is: the candidate may be burned.
		if l.Manifest != nil && (errors.Is(cause, ErrUnknownKey) || errors.Is(cause, ErrSchemaTooNew)) {
			return true, nil
		}
		return true, cause
	}
	l.maxEpoch = max(l.maxEpoch, epoch)
	if l.Manifest != nil {
		if epoch <= l.Manifest.Epoch {
			return epoch > 0, nil // 0: it tells nothing, the one below it may
		}
		// Damaged as it is, its key vouches for a later epoch.
		l.drop()
	}
	l.Skipped = append(l.Skipped, Skipped{Seq: seq, Reason: stage})
	return false, nil
}

// drop passes over the candidate: it is burned.
func (l *Loaded) drop() {
	l.Skipped = append(l.Skipped, Skipped{Seq: l.Manifest.Seq, Reason: StageBurned})
	l.Manifest, l.State, l.Unread, l.parts = nil, State{}, 0, nil
}

func (l *Loaded) verdict(slots int) error {
	switch {
	case l.Manifest == nil:
		return fmt.Errorf("none of %d manifests can be used: %w", slots, ErrCorrupt)
	case l.Manifest.Kind == KindTombstone:
		return ErrDeleted
	}
	return nil
}

// skipReason says whether a reader may pass over a manifest that failed to
// read, and which epoch the manifest authentically has (0: not known).
func skipReason(err error) (reason Stage, epoch uint64, ok bool) {
	var damaged *CorruptError
	switch {
	case errors.As(err, &damaged):
		return damaged.Stage, damaged.epoch, true
	case errors.Is(err, objectstore.ErrNotFound):
		return StageGone, 0, true
	}
	return "", 0, false
}
