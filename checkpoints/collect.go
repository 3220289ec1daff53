package checkpoints

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Keep is what Collect leaves.
type Keep struct {
	// Checkpoints: so many of the newest that verify stay. Seals, damaged and
	// burned manifests do not count.
	Checkpoints int
	// MinAge: what is younger stays, too. Measured against the newest
	// manifest's time, so that no clock but the store's counts.
	MinAge time.Duration
}

// DefaultKeep: five to fall back on; and a margin that is far longer than a
// restore may take and than a fenced holder may live, so that no reader loses
// the manifest that it reads and no zombie finds its slot free again.
var DefaultKeep = Keep{Checkpoints: 5, MinAge: 15 * time.Minute}

// Collected tells what Collect did.
type Collected struct {
	Kept    int `json:"kept"`
	Deleted int `json:"deleted"`
}

// Collect deletes what Keep does not hold. Any process may run it at any time,
// several at once: the newest manifest is never touched and deleting twice is
// harmless. It gives up on a manifest that it cannot judge (a missing key, a
// newer format): better too many than one too few.
func (s *Store) Collect(ctx context.Context, env EnvID, keep Keep) (Collected, error) {
	ctx, cancel := context.WithTimeout(ctx, collectTime)
	defer cancel()
	slots, err := s.Slots(ctx, env)
	if err != nil {
		return Collected{}, err
	}
	done := Collected{Kept: len(slots)}
	doomed, err := s.doomed(ctx, env, slots, keep)
	if err != nil {
		return done, fmt.Errorf("collect: %w", err)
	}
	// Oldest first: whatever interrupts this, the newest are all there.
	for _, slot := range slices.Backward(doomed) {
		if err := s.objects.Delete(ctx, slotKey(env, slot.Seq)); err != nil {
			return done, fmt.Errorf("collect checkpoint %d: %w", slot.Seq, err)
		}
		done.Deleted++
		done.Kept--
	}
	return done, nil
}

// doomed are the slots to delete, newest first.
func (s *Store) doomed(ctx context.Context, env EnvID, slots []Slot, keep Keep) ([]Slot, error) {
	want := max(keep.Checkpoints, 1)
	if len(slots) <= want {
		return nil, nil
	}
	c := cut{now: newestTime(slots), keep: keep, want: want}
	for i, slot := range slots {
		if c.full() && slot.Seq >= c.since {
			c.below = append(c.below, slot)
			continue // by the handle of the last counted one: nothing to learn
		}
		o, _, _, err := s.read(ctx, env, slot.Seq)
		if err != nil {
			if _, _, skippable := skipReason(err); !skippable {
				return nil, err
			}
			if c.full() {
				c.below = append(c.below, slot)
			}
			continue // damaged: evidence, until enough good ones are above it
		}
		if c.full() && o.manifest.Epoch <= c.epochs[want-1] {
			c.below = append(c.below, slots[i:]...)
			break
		}
		c.count(o.manifest, slot, i == 0)
	}
	return c.doomed(), nil
}

// cut finds, going down, where enough good checkpoints lie above.
type cut struct {
	now   time.Time
	keep  Keep
	want  int
	since uint64 // of the last counted manifest: see Body.SinceSeq

	epochs []uint64 // of the counted checkpoints, newest first
	seals  []Slot   // written over: they repeat an older state
	below  []Slot   // below the last counted one
}

func (c *cut) full() bool { return len(c.epochs) == c.want }

// count takes a manifest that verifies. What was counted above it under a lower
// epoch is burned; it no longer counts, and what lies around it stays this time.
func (c *cut) count(m Manifest, slot Slot, newest bool) {
	good := slices.DeleteFunc(c.epochs, func(e uint64) bool { return e < m.Epoch })
	if len(good) != len(c.epochs) {
		c.below = nil
	}
	c.epochs = good
	switch {
	case m.Kind == KindCheckpoint:
		c.epochs, c.since = append(c.epochs, m.Epoch), m.SinceSeq
	case !newest:
		c.seals = append(c.seals, slot)
	}
}

// doomed are the seals and, if enough are above them, the rest, by age.
func (c *cut) doomed() []Slot {
	doomed := c.seals
	if c.full() {
		doomed = append(doomed, c.below...)
	}
	return slices.DeleteFunc(doomed, func(s Slot) bool { return c.now.Sub(s.Modified) < c.keep.MinAge })
}

func newestTime(slots []Slot) (newest time.Time) {
	for _, slot := range slots {
		if slot.Modified.After(newest) {
			newest = slot.Modified
		}
	}
	return newest
}
