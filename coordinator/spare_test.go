package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/protocol"
)

// Twenty owners at once, and a worker that is heard of in the middle of it: all
// three end with about as many, whatever was counted when.
func TestABurstSpreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		has := map[protocol.WorkerID]int{}
		number := uint64(1)
		says := func(id protocol.WorkerID) {
			b := beat(id, 24, has[id])
			// One host, and loads that were read at different times.
			b.Number, b.FreeMemoryMB, b.CPULoad = number, 21_000, 2.4
			r.heard(b)
		}
		says("w-1-a")
		says("w-2-a")
		for i := range 20 {
			if i == 8 {
				says("w-3-b")
			}
			id := give(r, i)
			if id == "" {
				t.Fatalf("owner %d has no worker", i)
			}
			has[id]++
			r.took(id, owner("a", i), number+1, time.Now())
			if i%5 == 4 {
				number++
				for w := range has {
					says(w)
				}
			}
		}
		for _, id := range []protocol.WorkerID{"w-1-a", "w-2-a", "w-3-b"} {
			if n := has[id]; n < 6 || n > 7 {
				t.Errorf("%v", has)
				break
			}
		}
	})
}

func TestAWorkerIsLonelyForAMoment(t *testing.T) {
	t.Parallel()
	unready := func(id protocol.WorkerID) protocol.Heartbeat {
		b := beat(id, 4, 0)
		b.Ready = false
		return b
	}
	drains := func(id protocol.WorkerID) protocol.Heartbeat {
		b := beat(id, 4, 0)
		b.Draining = true
		return b
	}
	for name, tc := range map[string]struct {
		also []protocol.Heartbeat
		die  []protocol.WorkerID
		wait time.Duration
		want bool
	}{
		"two of three were lost":                       {die: []protocol.WorkerID{"w-1-a", "w-2-a"}, want: true},
		"one of three was lost":                        {die: []protocol.WorkerID{"w-1-a"}},
		"all three live":                               {},
		"one is back under its name, the other is not": {die: []protocol.WorkerID{"w-1-a", "w-2-a"}, also: []protocol.Heartbeat{beat("w-1-b", 4, 0)}, want: true},
		"both are back":                                {die: []protocol.WorkerID{"w-1-a", "w-2-a"}, also: []protocol.Heartbeat{beat("w-1-b", 4, 0), beat("w-2-b", 4, 0)}},
		"enough others are there":                      {die: []protocol.WorkerID{"w-1-a", "w-2-a"}, also: []protocol.Heartbeat{beat("w-4-a", 4, 0), beat("w-5-a", 4, 0)}},
		"they are there and not ready":                 {die: []protocol.WorkerID{"w-1-a", "w-2-a"}, also: []protocol.Heartbeat{unready("w-1-b"), unready("w-2-b")}, want: true},
		"the others drain":                             {die: []protocol.WorkerID{"w-1-a"}, also: []protocol.Heartbeat{drains("w-2-a")}},
		"they were lost a good while ago":              {die: []protocol.WorkerID{"w-1-a", "w-2-a"}, wait: comesBack},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRegistry()
				for _, id := range []protocol.WorkerID{"w-1-a", "w-2-a", "w-3-a"} {
					r.heard(beat(id, 4, 0))
				}
				later(missedAfter + time.Millisecond)
				for _, id := range r.silent(time.Now()) {
					r.asked(id, true)
				}
				for _, id := range tc.die {
					r.workers[id].state = WorkerGone
				}
				for _, b := range tc.also {
					r.heard(b)
				}
				later(tc.wait)
				r.heard(beat("w-3-a", 4, 0))
				if got := r.lonely(time.Now()); got != tc.want {
					t.Errorf("lonely: %v", got)
				}
			})
		})
	}
}

// Who is wanted, or has work, is placed wherever there is room.
func TestWhoIsSpared(t *testing.T) {
	t.Parallel()
	k := owner("a", 1)
	for name, tc := range map[string]struct {
		reason string
		change func(*loop, *entry)
		want   bool
	}{
		"an idle one":               {decide.WorkerLost, func(*loop, *entry) {}, true},
		"one that acts, or is held": {decide.WorkerLost, func(_ *loop, e *entry) { e.idle = false }, false},
		"one with a request":        {decide.WorkerLost, func(l *loop, _ *entry) { l.queued[k] = &lanes{q: 6} }, false},
		"one that is acquired":      {decide.WorkerLost, func(_ *loop, e *entry) { e.wanted = time.Now().Add(time.Hour) }, false},
		"one that moves":            {decide.Moved, func(*loop, *entry) {}, false},
		"one that waits already":    {decide.WorkerLost, func(l *loop, _ *entry) { l.line.join(ticket{key: k}) }, false},
		"one of a fleet that is there": {decide.WorkerLost, func(l *loop, _ *entry) {
			l.s.c.registry.heard(beat("w-1-b", 4, 0))
			l.s.c.registry.heard(beat("w-2-b", 4, 0))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRegistry()
				for _, id := range []protocol.WorkerID{"w-1-a", "w-2-a", "w-3-a"} {
					r.heard(beat(id, 4, 0))
				}
				r.workers["w-1-a"].state, r.workers["w-2-a"].state = WorkerGone, WorkerGone
				e := entry{state: protocol.RecordAssigned, worker: "w-1-a", idle: true, cursorQ: 5}
				l := &loop{
					s: &shard{c: &Coordinator{registry: r}}, view: map[protocol.OwnerKey]*entry{k: &e},
					queued: map[protocol.OwnerKey]*lanes{}, spared: map[protocol.OwnerKey]bool{}, line: newLine(),
				}
				tc.change(l, &e)
				if got := l.spare(k, tc.reason); got != tc.want || l.spared[k] != tc.want {
					t.Errorf("spared: %v, remembered: %v", got, l.spared)
				}
			})
		})
	}
}
