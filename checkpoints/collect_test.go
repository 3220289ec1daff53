package checkpoints

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

func seqsOf(t *testing.T, s *Store, env EnvID) (seqs []uint64) {
	t.Helper()
	slots, err := s.Slots(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, slot := range slots {
		seqs = append(seqs, slot.Seq)
	}
	return seqs
}

func mustCollect(t *testing.T, s *Store, env EnvID, keep Keep) Collected {
	t.Helper()
	c, err := s.Collect(t.Context(), env, keep)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCollectKeepsTheNewestCheckpointsAndSealsDoNotCount(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, s *Store) {
		env := envOf("collect")
		for i := range 4 { // slots: seal, checkpoint, checkpoint, seal, ...
			h := mustTake(t, s, env)
			mustCommit(t, h, stateNamed(fmt.Sprint(2*i)))
			mustCommit(t, h, stateNamed(fmt.Sprint(2*i+1)))
		}
		mustTake(t, s, env)
		mustTake(t, s, env) // slots 13 and 14: seals
		if got := mustCollect(t, s, env, Keep{Checkpoints: 5}); got.Deleted != 8 || got.Kept != 6 {
			t.Errorf("collected %+v", got)
		}
		// The newest is a seal and stays; five checkpoints stay below it.
		if diff := cmp.Diff([]uint64{14, 12, 11, 9, 8, 6}, seqsOf(t, s, env)); diff != "" {
			t.Error(diff)
		}
		if l := mustLoad(t, s, env); nameOf(l.State) != "7" || len(l.Skipped) != 0 {
			t.Errorf("loaded %q, skipped %v", nameOf(l.State), l.Skipped)
		}
		if got := mustCollect(t, s, env, Keep{Checkpoints: 5}); got.Deleted != 0 {
			t.Errorf("the second time: %+v", got)
		}
	})
}

func TestCollectKeepsWhatIsYoung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := memoryStore(t)
		env := envOf("young")
		h := mustTake(t, s, env)
		for range 3 {
			mustCommit(t, h, stateNamed("old"))
		}
		slept(DefaultKeep.MinAge)
		for range 6 {
			mustCommit(t, h, stateNamed("young"))
		}
		if got := mustCollect(t, s, env, DefaultKeep); got.Deleted != 4 || got.Kept != 6 {
			t.Errorf("collected %+v", got)
		}
		// Time alone deletes nothing: the newest manifest's time is what counts.
		slept(10 * DefaultKeep.MinAge)
		if got := mustCollect(t, s, env, DefaultKeep); got.Deleted != 0 {
			t.Errorf("collected %+v", got)
		}
	})
}

func TestCollectDoesNotCountWhatIsDamagedOrBurned(t *testing.T) {
	t.Parallel()
	s, m := memoryStore(t)
	env := envOf("collect-burned")
	zombie := mustTake(t, s, env)                           // 1
	h := mustTake(t, s, env)                                // 2
	mustCommit(t, h, stateNamed("a"))                       // 3
	mustCommit(t, h, stateNamed("b"))                       // 4
	mustCommit(t, h, stateNamed("c"))                       // 5
	burn(t, s, m, zombie, 6, 3)                             // 6, 7, 8
	mustPut(t, m, slotKey(env, 5), []byte("ruin"))          // b and a are what is good
	mustCollect(t, s, env, Keep{Checkpoints: 2, MinAge: 0}) // must keep both
	if l := mustLoad(t, s, env); nameOf(l.State) != "b" {
		t.Errorf("loaded %q", nameOf(l.State))
	}
	if _, err := s.Verify(t.Context(), env, 3); err != nil {
		t.Errorf("the second good one is gone: %v", err)
	}
	if got := seqsOf(t, s, env); got[len(got)-1] != 3 {
		t.Errorf("left %v", got)
	}
}

// Collect runs all the time beside a writer: every load in between verifies.
func TestCollectBesideAWriter(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	env := envOf("beside")
	h := mustTake(t, s, env)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.Collect(t.Context(), env, Keep{Checkpoints: 5}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 300 {
		mustCommit(t, h, stateNamed(fmt.Sprint(i)))
		if l := mustLoad(t, s, env); nameOf(l.State) != fmt.Sprint(i) {
			t.Fatalf("loaded %q after commit %d, skipped %v", nameOf(l.State), i, l.Skipped)
		}
	}
	close(done)
	wg.Wait()
	mustCollect(t, s, env, Keep{Checkpoints: 5})
	if got := seqsOf(t, s, env); len(got) != 5 {
		t.Errorf("left %v", got)
	}
}

func TestCollectInterruptedLeavesTheNewest(t *testing.T) {
	t.Parallel()
	s, m := memoryStore(t)
	env := envOf("interrupted")
	h := mustTake(t, s, env)
	for i := range 9 {
		mustCommit(t, h, stateNamed(fmt.Sprint(i)))
	}
	deletes := 0
	m.Fault = func(op, _ string) error {
		if op != "delete" {
			return nil
		}
		if deletes++; deletes > 2 {
			return &objectstore.Error{Op: op, Kind: objectstore.ErrUnavailable}
		}
		return nil
	}
	_, err := s.Collect(t.Context(), env, Keep{Checkpoints: 5, MinAge: time.Nanosecond - 1})
	wantErr(t, err, ErrUnavailable)
	if diff := cmp.Diff([]uint64{10, 9, 8, 7, 6, 5, 4, 3}, seqsOf(t, s, env)); diff != "" {
		t.Error(diff)
	}
}
