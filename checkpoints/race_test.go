package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

func TestFiftyHoldersInARowLeaveOneThatCanWrite(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, s *Store) {
		env, record := envOf("contended"), &ownerRecord{}
		handles := make([]*Handle, 50)
		var wg sync.WaitGroup
		for i := range handles {
			wg.Go(func() {
				h, err := takeOver(t.Context(), s, env, record.take())
				if err != nil {
					if !errors.Is(err, ErrFenced) {
						t.Errorf("writer %d: %v", i, err)
					}
					return
				}
				if _, err := h.Commit(t.Context(), stateNamed(fmt.Sprint(i)), Meta{}); err != nil && !errors.Is(err, ErrFenced) {
					t.Errorf("writer %d: %v", i, err)
				}
				handles[i] = h
			})
		}
		wg.Wait()
		winner := mustWinner(t, s, env, record, handles)
		l := mustLoad(t, s, env)
		if nameOf(l.State) != "final" || l.Manifest.WriterID != winner.writer || len(l.Skipped) != 0 {
			t.Errorf("loaded %q of %s, skipped %v", nameOf(l.State), l.Manifest.WriterID, l.Skipped)
		}
		epochsNeverFall(t, s, env)
	})
}

// mustWinner commits "final" with the record's holder (a new one if that gave
// up) and then sees everybody else refused.
func mustWinner(t *testing.T, s *Store, env EnvID, record *ownerRecord, handles []*Handle) *Handle {
	t.Helper()
	winner, err := takeOver(t.Context(), s, env, record.take())
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, winner, stateNamed("final"))
	for i, h := range handles {
		if h == nil {
			continue
		}
		if _, err := h.Commit(t.Context(), stateNamed("zombie"), Meta{}); !errors.Is(err, ErrFenced) {
			t.Errorf("writer %d after the last takeover: %v", i, err)
		}
	}
	return winner
}

func epochsNeverFall(t *testing.T, s *Store, env EnvID) {
	t.Helper()
	slots, err := s.Slots(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(slots) - 1 {
		later, err := s.Verify(t.Context(), env, slots[i].Seq)
		if err != nil {
			t.Fatal(err)
		}
		earlier, err := s.Verify(t.Context(), env, slots[i+1].Seq)
		if err != nil {
			t.Fatal(err)
		}
		if later.Seq != earlier.Seq+1 || later.Epoch < earlier.Epoch {
			t.Errorf("slot %d has epoch %d, slot %d has %d", earlier.Seq, earlier.Epoch, later.Seq, later.Epoch)
		}
	}
}

func TestZombieAndNewHolderRaceForOneSlot(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, s *Store) {
		rounds := 200
		if _, fake := s.objects.(*objectstore.Memory); !fake {
			rounds = 100 // a dozen requests each
		}
		var mu sync.Mutex
		zombieFirst := 0
		group, ctx := errgroup.WithContext(t.Context())
		group.SetLimit(8)
		for round := range rounds {
			group.Go(func() error {
				first, err := zombieRound(ctx, s, envOf(fmt.Sprintf("zombie-%d", round)))
				if err != nil {
					return fmt.Errorf("round %d: %w", round, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if first {
					zombieFirst++
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		t.Logf("the zombie was first in %d of %d rounds", zombieFirst, rounds)
	})
}

// zombieRound lets a holder commit while another seals. Whatever the order, the
// new holder starts from all that was acknowledged, and the old one ends.
func zombieRound(ctx context.Context, s *Store, env EnvID) (zombieFirst bool, err error) {
	record := &ownerRecord{}
	old, err := takeOver(ctx, s, env, record.take())
	if err != nil {
		return false, err
	}
	if _, err := old.Commit(ctx, stateNamed("before"), Meta{}); err != nil {
		return false, err
	}
	seen, err := s.Load(ctx, env) // before the race, so that both aim at one slot
	if err != nil {
		return false, err
	}
	var group errgroup.Group
	var committed error
	group.Go(func() error {
		_, committed = old.Commit(ctx, stateNamed("zombie"), Meta{})
		return nil
	})
	var next *Handle
	group.Go(func() (err error) {
		next, err = s.Seal(ctx, env, seen, Writer{Worker: "next", Confirm: record.take()})
		return err
	})
	if err := group.Wait(); err != nil {
		return false, err
	}
	want := "before"
	switch {
	case committed == nil:
		want, zombieFirst = "zombie", true
	case !errors.Is(committed, ErrFenced):
		return false, committed
	}
	if got := nameOf(next.Loaded().State); got != want {
		return false, fmt.Errorf("the new holder starts from %q, want %q", got, want)
	}
	if _, err := old.Commit(ctx, stateNamed("late"), Meta{}); !errors.Is(err, ErrFenced) {
		return false, fmt.Errorf("the old holder's next commit: %v", err)
	}
	if _, err := next.Commit(ctx, stateNamed("after"), Meta{}); err != nil {
		return false, err
	}
	l, err := s.Load(ctx, env)
	if err != nil || nameOf(l.State) != "after" || len(l.Skipped) != 0 {
		return false, fmt.Errorf("at last: %q, %v", nameOf(l.State), err)
	}
	return zombieFirst, nil
}

func TestALateSealerIsRefusedByItsConfirm(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	env, record := envOf("late"), &ownerRecord{}
	late := record.take()
	l := mustLoad(t, s, env)
	next, err := takeOver(t.Context(), s, env, record.take())
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, next, stateNamed("a"))
	_, err = s.Seal(t.Context(), env, l, Writer{Worker: "late", Confirm: late})
	wantErr(t, err, ErrFenced)
	mustCommit(t, next, stateNamed("b"))
}

func TestASealThatCannotConfirmWritesNothing(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	env, down := envOf("unconfirmed"), errors.New("no quorum")
	_, err := takeOver(t.Context(), s, env, func(context.Context) error { return down })
	if !errors.Is(err, down) || errors.Is(err, ErrFenced) {
		t.Fatalf("got %v", err)
	}
	if l := mustLoad(t, s, env); l.NewestSeq != 0 {
		t.Error("a manifest was written")
	}
}

// A stranger's slot of an earlier epoch is burned: the holder proves itself and
// writes above it, and readers pass over it.
func TestABurnedSlotIsWrittenOverAndSkipped(t *testing.T) {
	t.Parallel()
	s, m := memoryStore(t)
	env := envOf("burned")
	zombie := mustTake(t, s, env)
	h := mustTake(t, s, env)
	mustCommit(t, h, stateNamed("good"))
	burn(t, s, m, zombie, h.last.Seq+1, 3)

	l := mustLoad(t, s, env)
	if nameOf(l.State) != "good" || len(l.Skipped) != 1 || l.Skipped[0].Reason != StageBurned {
		t.Fatalf("loaded %q, skipped %v", nameOf(l.State), l.Skipped)
	}
	confirmed := 0
	h.confirm = func(context.Context) error { confirmed++; return nil }
	newest := mustCommit(t, h, stateNamed("better"))
	if newest.Seq != l.NewestSeq+1 || confirmed == 0 {
		t.Errorf("committed at %d after %d confirmations", newest.Seq, confirmed)
	}
	if l := mustLoad(t, s, env); nameOf(l.State) != "better" || len(l.Skipped) != 0 {
		t.Errorf("loaded %q, skipped %v", nameOf(l.State), l.Skipped)
	}
	// The next holder may come while the burned slots are the newest.
	burn(t, s, m, zombie, newest.Seq+1, 2)
	next := mustTake(t, s, env)
	if nameOf(next.Loaded().State) != "better" || next.epoch != newest.Epoch+1 {
		t.Errorf("took over %q at epoch %d", nameOf(next.Loaded().State), next.epoch)
	}
}

func TestARefusedHolderDoesNotWriteAboveABurnedSlot(t *testing.T) {
	t.Parallel()
	s, m := memoryStore(t)
	env := envOf("burned-refused")
	zombie := mustTake(t, s, env)
	h := mustTake(t, s, env)
	burn(t, s, m, zombie, h.last.Seq+1, 1)
	h.confirm = func(context.Context) error { return ErrFenced }
	_, err := h.Commit(t.Context(), stateNamed("a"), Meta{})
	wantErr(t, err, ErrFenced)
}

// burn writes n slots as a holder of an earlier epoch would that saw nothing.
func burn(t *testing.T, s *Store, m Objects, zombie *Handle, seq uint64, n int) {
	t.Helper()
	zombie.since = seq
	for i := range uint64(n) {
		parts, err := splitState(zombie.env, stateNamed("burned"), seq+i, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := zombie.encodeCheckpoint(seq+i, newNonce(), Body{Kind: KindCheckpoint}, parts)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.PutNew(t.Context(), slotKey(zombie.env, seq+i), data); err != nil {
			t.Fatal(err)
		}
	}
}

// A holder that slept until its slot was taken and collected finds it free.
func TestASleeperWhoseSlotWasCollectedIsFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := memoryStore(t)
		env := envOf("sleeper")
		sleeper := mustTake(t, s, env)
		h := mustTake(t, s, env)
		for range 7 {
			mustCommit(t, h, stateNamed("new"))
		}
		slept(2 * relistAfter)
		mustCommit(t, h, stateNamed("newest"))
		if err := m.Delete(t.Context(), slotKey(env, sleeper.last.Seq+1)); err != nil {
			t.Fatal(err)
		}
		_, err := sleeper.Commit(t.Context(), stateNamed("old"), Meta{})
		wantErr(t, err, ErrFenced)
		if got := nameOf(mustLoad(t, s, env).State); got != "newest" {
			t.Errorf("loaded %q", got)
		}
	})
}
