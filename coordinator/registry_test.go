package coordinator

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func beat(id protocol.WorkerID, slots, owners int) protocol.Heartbeat {
	return protocol.Heartbeat{V: protocol.Version, Worker: id, Slots: slots, Owners: owners, Ready: true}
}

// takers are the workers that can take an owner.
func takers(r *registry) (all []candidate) {
	for _, c := range r.candidates() {
		if excluded(c, need{}) == "" {
			all = append(all, c)
		}
	}
	return all
}

// give takes a worker for an owner.
func give(r *registry, n int) protocol.WorkerID {
	id, _, _ := r.take(need{key: owner("a", n)})
	return id
}

// later moves the bubble's clock.
func later(d time.Duration) time.Time {
	time.Sleep(d)
	return time.Now()
}

func TestFiveMissedHeartbeatsAndAnUnansweredPingMakeAWorkerGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		r.heard(beat("w", 4, 0))
		if got := r.silent(later(missedAfter)); got != nil {
			t.Fatalf("%v suspected after %s", got, missedAfter)
		}
		if got := r.silent(later(time.Millisecond)); !slices.Equal(got, []protocol.WorkerID{"w"}) {
			t.Fatalf("suspected %v", got)
		}
		if got := r.silent(later(time.Second)); got != nil {
			t.Fatalf("asked twice: %v", got)
		}
		if !r.alive("w", time.Now()) || len(takers(r)) != 0 {
			t.Fatal("a suspect keeps its owners and gets no new ones")
		}
		if !r.asked("w", false) || r.alive("w", time.Now()) {
			t.Fatal("no answer, and not gone")
		}
		if r.asked("w", false) != true || r.asked("stranger", false) {
			t.Fatal("verdicts change when they are repeated")
		}
		if room := r.heard(beat("w", 4, 0)); !room || !r.alive("w", time.Now()) {
			t.Fatal("it came back, and nobody looks")
		}
	})
}

func TestAnAnsweredPingClearsASuspect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		r.heard(beat("w", 4, 0))
		r.silent(later(missedAfter + time.Millisecond))
		if r.asked("w", true) {
			t.Fatal("answered, and gone")
		}
		if got := r.silent(later(missedAfter)); got != nil {
			t.Fatalf("suspected again at once: %v", got)
		}
		if got := r.silent(later(time.Millisecond)); len(got) != 1 {
			t.Fatal("an answer makes a worker immortal")
		}
	})
}

func TestAWorkerNeverHeardOfHasAGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		if !r.alive("former", later(missedAfter+pingTimeout-time.Millisecond)) {
			t.Fatal("buried before it could be heard")
		}
		if r.alive("former", later(time.Millisecond)) {
			t.Fatal("a worker that this coordinator never heard of lives for ever")
		}
	})
}

func TestManySilentWorkersMakeTheCoordinatorDoubtItself(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		workers, silent int
		doubts          bool
	}{{1, 1, false}, {2, 2, false}, {3, 3, true}, {10, 2, false}, {10, 3, false}, {10, 4, true}, {9, 3, true}} {
		t.Run(fmt.Sprintf("%d of %d", tc.silent, tc.workers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRegistry()
				var asked []protocol.WorkerID
				step := func(d time.Duration, living int) {
					for end := time.Now().Add(d); time.Now().Before(end); {
						for i := range living {
							r.heard(beat(protocol.WorkerID(fmt.Sprint(i)), 4, 0))
						}
						asked = append(asked, r.silent(later(100*time.Millisecond))...)
					}
				}
				step(time.Second, tc.workers)
				step(2*missedAfter, tc.workers-tc.silent)
				if (len(asked) == 0) != tc.doubts {
					t.Fatalf("asked %v", asked)
				}
				step(doubtFor, tc.workers-tc.silent)
				if len(asked) != tc.silent {
					t.Fatalf("the doubt does not end: asked %v", asked)
				}
			})
		})
	}
}

func TestADoubtThatWasWrongIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		all := []protocol.WorkerID{"a", "b", "c", "d"}
		for range 3 { // each time the coordinator alone was deaf
			for _, id := range all {
				r.heard(beat(id, 4, 0))
			}
			for range 20 {
				if got := r.silent(later(100 * time.Millisecond)); got != nil {
					t.Fatalf("asked %v", got)
				}
			}
		}
	})
}

func TestAPromiseIsCountedUntilHeartbeatsCountIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		r.heard(beat("w", 2, 0))
		give(r, 1)
		if got := takers(r); len(got) != 1 || got[0].free != 1 {
			t.Fatalf("%v", got)
		}
		give(r, 2)
		if got := takers(r); got != nil {
			t.Fatalf("overbooked: %v", got)
		}
		// However long the assignment is on its way, no heartbeat counts it yet.
		later(missedAfter)
		r.took("w", owner("a", 1), 0, later(0))
		r.took("w", owner("a", 9), 0, later(0))
		if room := r.heard(beat("w", 2, 0)); room || takers(r) != nil {
			t.Fatal("the promises were forgotten too early")
		}
		later(countedAfter)
		r.giveBack("w", owner("a", 2))
		// One was taken, one was refused: there is room.
		if r.heard(beat("w", 2, 1)); r.room() != 1 {
			t.Fatalf("room for %d", r.room())
		}
		if got := takers(r); len(got) != 1 || got[0].free != 1 {
			t.Fatalf("%v", got)
		}
		if give(r, 3) != "w" || give(r, 4) != "" {
			t.Fatal("one slot, one owner")
		}
		r.giveBack("w", owner("a", 3))
		r.giveBack("stranger", owner("a", 3))
		if give(r, 4) != "w" {
			t.Fatal("what was given back can be taken")
		}
	})
}

// A worker that says which heartbeat counts the owner is believed, however late
// its heartbeats are read.
func TestAPromiseIsCountedUntilTheHeartbeatThatTheWorkerNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		numbered := func(n uint64, owners int) protocol.Heartbeat {
			b := beat("w", 1, owners)
			b.Number = n
			return b
		}
		if !r.heard(numbered(1, 0)) || give(r, 1) != "w" {
			t.Fatal("no room")
		}
		r.took("w", owner("a", 1), 3, later(0))
		later(missedAfter)
		if r.heard(numbered(2, 0)); r.room() != 0 {
			t.Fatal("a heartbeat from before counts")
		}
		if r.heard(numbered(3, 1)); r.room() != 0 || len(r.workers["w"].promised) != 0 {
			t.Fatalf("promised %v", r.workers["w"].promised)
		}
	})
}

// A slot that heartbeats show as free again is found by somebody.
func TestRoomThatAHeartbeatBringsIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		if !r.heard(beat("w", 1, 0)) || give(r, 1) != "w" {
			t.Fatal("no room")
		}
		r.took("w", owner("a", 1), 0, later(0))
		later(countedAfter)
		if r.heard(beat("w", 1, 1)) || !r.heard(beat("w", 1, 0)) {
			t.Fatal("a free slot that nobody is told of")
		}
	})
}

func TestWhoTakesOwners(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*protocol.Heartbeat)
		want   int
	}{
		"an idle one":             {func(*protocol.Heartbeat) {}, 1},
		"a full one":              {func(b *protocol.Heartbeat) { b.Owners = 4 }, 0},
		"a draining one":          {func(b *protocol.Heartbeat) { b.Draining = true }, 0},
		"one that is not ready":   {func(b *protocol.Heartbeat) { b.Ready = false }, 0},
		"one that has many slots": {func(b *protocol.Heartbeat) { b.Slots = 100 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry()
			b := beat("w", 4, 1)
			tc.change(&b)
			if room := r.heard(b); room != (tc.want > 0) || len(takers(r)) != tc.want {
				t.Fatalf("room %v, candidates %v", room, takers(r))
			}
			if r.heard(b) {
				t.Error("room is news only once")
			}
		})
	}
}

func TestAWorkerThatRefusedIsPassedOverUntilItsNextWord(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	r.heard(beat("w", 4, 0))
	r.refused("w")
	r.refused("stranger")
	if got := takers(r); got != nil {
		t.Fatalf("%v", got)
	}
	if !r.heard(beat("w", 4, 0)) || len(takers(r)) != 1 {
		t.Fatal("its next heartbeat does not clear it")
	}
}

func TestGoneWorkersAreForgottenAndListsAreOrdered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		drains := beat("b", 1, 0)
		drains.Draining = true
		r.heard(drains)
		r.heard(beat("a", 1, 0))
		list := r.list(time.Now())
		if len(list) != 2 || list[0].Worker != "a" || list[0].State != "up" || list[1].State != "draining" || !list[0].Eligible || list[1].Ineligible != "draining" {
			t.Fatalf("%+v", list)
		}
		r.silent(later(missedAfter + time.Millisecond))
		r.asked("a", false)
		if list = r.list(time.Now()); list[0].State != "gone" {
			t.Fatalf("%+v", list)
		}
		r.silent(later(forgetAfter))
		for _, w := range r.list(time.Now()) {
			if w.Worker == "a" {
				t.Fatal("listed for ever")
			}
		}
	})
}

// Nobody is told that the fleet lacks something before its workers were heard.
func TestAMissingCapabilityIsKnownOnceEveryWorkerCouldBeHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		needs := []protocol.Capability{protocol.CapabilityScreenshot}
		if able, settled := r.able(needs, time.Now()); able || settled {
			t.Errorf("at once: able %v, settled %v", able, settled)
		}
		if able, settled := r.able(needs, later(2*time.Second)); able || !settled {
			t.Errorf("later: able %v, settled %v", able, settled)
		}
		b := beat("w-1", 1, 0)
		b.Capabilities = needs
		r.heard(b)
		if able, _ := r.able(needs, time.Now()); !able {
			t.Error("a worker has it")
		}
	})
}
