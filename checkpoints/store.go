package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// Objects is what a checkpoint store needs of an object store: that of any
// concurrent PutNew of one key, one succeeds, and objectstore's error classes.
// objectstore.Store and objectstore.Memory implement it.
type Objects interface {
	PutNew(ctx context.Context, key string, body []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	List(ctx context.Context, prefix, startAfter string) ([]objectstore.Entry, error)
	Delete(ctx context.Context, key string) error
}

var (
	_ Objects = (*objectstore.Store)(nil)
	_ Objects = (*objectstore.Memory)(nil)
)

// Time limits of whole operations. Each store call has a shorter one of its own.
const (
	loadTime    = 60 * time.Second
	commitTime  = 60 * time.Second
	collectTime = 2 * time.Minute
)

// Store reads and writes the checkpoints of any number of environments. It
// keeps nothing between calls and is safe for concurrent use.
type Store struct {
	objects Objects
	keys    *Keyring
}

// New makes a store. Checkpoints are sealed under the keyring's primary key and
// opened with any of its keys; tenants with keys of their own get a Store each.
func New(objects Objects, keys *Keyring) *Store {
	return &Store{objects: objects, keys: keys}
}

// Slot is one manifest object in a listing.
type Slot struct {
	Seq      uint64    `json:"seq"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"` // by the store's clock
}

// Slots lists an environment's manifests, newest first.
func (s *Store) Slots(ctx context.Context, env EnvID) ([]Slot, error) {
	return s.slotsAfter(ctx, env, 0)
}

func (s *Store) slotsAfter(ctx context.Context, env EnvID, seq uint64) ([]Slot, error) {
	after := ""
	if seq > 0 {
		after = slotKey(env, seq)
	}
	entries, err := s.objects.List(ctx, slotPrefix(env), after)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	slots := make([]Slot, 0, len(entries))
	for _, e := range entries {
		if n, ok := slotSeq(env, e.Key); ok && n > seq {
			slots = append(slots, Slot{Seq: n, Size: e.Size, Modified: e.Modified})
		}
	}
	slices.Reverse(slots)
	return slots, nil
}

// Verify reads and opens one checkpoint without touching a browser: for
// `checkpoints show` and `checkpoints verify`.
func (s *Store) Verify(ctx context.Context, env EnvID, seq uint64) (*Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	o, _, _, err := s.read(ctx, env, seq)
	if err != nil {
		return nil, err
	}
	return &o.manifest, nil
}

// Erase deletes every manifest of an environment, oldest first, so that an
// erasure that is interrupted leaves the newest. Only the holder may call it.
func (s *Store) Erase(ctx context.Context, env EnvID) (deleted int, err error) {
	ctx, cancel := context.WithTimeout(ctx, collectTime)
	defer cancel()
	slots, err := s.Slots(ctx, env)
	if err != nil {
		return 0, err
	}
	for _, slot := range slices.Backward(slots) {
		if err := s.objects.Delete(ctx, slotKey(env, slot.Seq)); err != nil {
			return deleted, fmt.Errorf("erase checkpoint %d: %w", slot.Seq, err)
		}
		deleted++
	}
	return deleted, nil
}

// read gets a manifest object, verifies every byte of it, and opens its state.
// What fails verification is read once more: a bit that flipped on the way
// (which the client library does not notice) must not condemn a good object.
func (s *Store) read(ctx context.Context, env EnvID, seq uint64) (o *object, st State, unread int, err error) {
	for range 2 {
		var data []byte
		if data, err = s.objects.Get(ctx, slotKey(env, seq)); err != nil {
			return nil, st, 0, fmt.Errorf("read checkpoint %d: %w", seq, err)
		}
		if o, err = openObject(env, seq, data, s.keys); err == nil {
			st, unread, err = joinState(env, o.manifest.Tabs, o.parts)
		}
		if err == nil {
			return o, st, unread, nil
		}
		if !errors.Is(err, ErrCorrupt) {
			break
		}
	}
	return nil, State{}, 0, fmt.Errorf("open checkpoint %d: %w", seq, err)
}
