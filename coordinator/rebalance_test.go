package coordinator

import (
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestUneven(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		all  []candidate
		want protocol.WorkerID
	}{
		"nobody":             {},
		"one alone":          {all: []candidate{{id: "a", slots: 10}}},
		"even":               {all: []candidate{{id: "a", slots: 10, free: 5}, {id: "b", slots: 10, free: 7}}},
		"much fuller":        {all: []candidate{{id: "a", slots: 10, free: 9}, {id: "b", slots: 10, free: 1}}, want: "b"},
		"too few to matter":  {all: []candidate{{id: "a", slots: 4, free: 4}, {id: "b", slots: 4, free: 2}}},
		"nowhere to go":      {all: []candidate{{id: "a", slots: 10, free: 9, ineligible: "draining"}, {id: "b", slots: 10, free: 1}}},
		"by load, not count": {all: []candidate{{id: "a", slots: 100, free: 90}, {id: "b", slots: 100, free: 50}}, want: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, found := uneven(tc.all)
			if got != tc.want || found != (tc.want != "") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Only what nobody would miss moves.
func TestWhoMayMove(t *testing.T) {
	t.Parallel()
	now, k := time.Now(), owner("a", 1)
	idle := entry{state: protocol.RecordAssigned, worker: "w", idle: true, wrote: now.Add(-idleFor), cursorQ: 5}
	for name, tc := range map[string]struct {
		change func(*loop, *entry)
		want   bool
	}{
		"an idle one":                   {func(*loop, *entry) {}, true},
		"one that acts, or is held":     {func(_ *loop, e *entry) { e.idle = false }, false},
		"one that was just written":     {func(_ *loop, e *entry) { e.wrote = now.Add(time.Second - idleFor) }, false},
		"one of which nothing is known": {func(_ *loop, e *entry) { e.wrote = time.Time{} }, false},
		"one with a request":            {func(l *loop, _ *entry) { l.queued[k] = &lanes{q: 6} }, false},
		"one that was answered":         {func(l *loop, _ *entry) { l.queued[k] = &lanes{q: 5} }, true},
		"one that is worked on":         {func(l *loop, _ *entry) { l.busy[k] = true }, false},
		"one that sleeps":               {func(_ *loop, e *entry) { e.state = protocol.RecordHibernated }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := idle
			l := &loop{view: map[protocol.OwnerKey]*entry{k: &e}, queued: map[protocol.OwnerKey]*lanes{}, busy: map[protocol.OwnerKey]bool{}}
			tc.change(l, &e)
			if got := l.movable(k, &e, now); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
