package protocol_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

// transitions is the whole table as it was decided, one line a state; an event
// that is not listed is refused. It repeats the code on purpose: a change of the
// machine has to be made twice, and read.
var transitions = map[protocol.RecordState]string{
	"":           "assign=assigned answer=answering acquire=unassigned",
	"unassigned": "assign=assigned answer=answering fail=failed delete=deleted acquire=unassigned",
	"answering":  "progress=answering answer=answering let_go=unassigned unassign=unassigned assign=assigned",
	"assigned":   "progress=assigned assign=assigned answer=answering release=moving unassign=unassigned hibernate=hibernated fail=failed delete=deleted",
	"moving":     "assign=assigned answer=answering unassign=unassigned fail=failed delete=deleted",
	"hibernated": "assign=assigned answer=answering unassign=unassigned delete=deleted acquire=hibernated wake=assigned",
	"failed":     "progress=failed reset=unassigned delete=deleted",
	"deleted":    "progress=deleted",
}

func TestRecordTransitionsOfEveryPair(t *testing.T) {
	t.Parallel()
	if len(protocol.RecordStates) != len(transitions) {
		t.Fatalf("%d states, %d rows", len(protocol.RecordStates), len(transitions))
	}
	for _, state := range protocol.RecordStates {
		row := map[string]protocol.RecordState{}
		for _, field := range strings.Fields(transitions[state]) {
			event, next, _ := strings.Cut(field, "=")
			row[event] = protocol.RecordState(next)
		}
		for _, event := range protocol.RecordEvents {
			t.Run(fmt.Sprintf("%s/%s", state, event), func(t *testing.T) {
				t.Parallel()
				want, legal := row[string(event)]
				got, err := protocol.NextRecordState(state, event)
				if legal && (err != nil || got != want) {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
				if !legal && (err == nil || got != state) {
					t.Errorf("got %q, %v; want a refusal and the same state", got, err)
				}
			})
		}
	}
}

func TestRecordRefusesUnknownStatesAndEvents(t *testing.T) {
	t.Parallel()
	if _, err := protocol.NextRecordState("paused", protocol.RecordAssign); err == nil {
		t.Error("an unknown state has a transition")
	}
	if _, err := protocol.NextRecordState(protocol.RecordAssigned, "explode"); err == nil {
		t.Error("an unknown event has a transition")
	}
}

// TestRecordNeverLeavesItsStates drives the machine with any events: it stays
// within its states, never returns to "no record", reaches assigned by assign
// and wake only, and an illegal event changes nothing.
func TestRecordNeverLeavesItsStates(t *testing.T) {
	t.Parallel()
	known := map[protocol.RecordState]bool{}
	for _, s := range protocol.RecordStates {
		known[s] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		r := protocol.OwnerRecord{V: protocol.Version}
		now := storedAt
		for _, ev := range rapid.SliceOfN(rapid.SampledFrom(protocol.RecordEvents), 1, 50).Draw(t, "events") {
			before := r
			now = now.Add(time.Second)
			if err := r.Move(ev, now); err != nil {
				if r.State != before.State || !r.Since.Equal(before.Since.Time) {
					t.Fatalf("%s was refused in %q and still changed it to %q", ev, before.State, r.State)
				}
				continue
			}
			switch {
			case !known[r.State]:
				t.Fatalf("%s led from %q to unknown %q", ev, before.State, r.State)
			case r.State == protocol.RecordNone:
				t.Fatalf("%s made the record of %q vanish", ev, before.State)
			case r.State == protocol.RecordAssigned && before.State != protocol.RecordAssigned && ev != protocol.RecordAssign && ev != protocol.RecordWake:
				t.Fatalf("%s assigned from %q", ev, before.State)
			case r.State != before.State && !r.Since.Equal(now):
				t.Fatalf("entered %q at %s, since says %s", r.State, now, r.Since)
			case r.State == before.State && !r.Since.Equal(before.Since.Time):
				t.Fatalf("stayed in %q, since moved", r.State)
			}
		}
	})
}

// TestEveryStateIsReachable and can be answered in: a stored request gets its
// answer whatever became of its owner.
func TestEveryStateIsReachable(t *testing.T) {
	t.Parallel()
	reached := map[protocol.RecordState]bool{protocol.RecordNone: true}
	for range protocol.RecordStates {
		for state := range reached {
			for _, ev := range protocol.RecordEvents {
				if next, err := protocol.NextRecordState(state, ev); err == nil {
					reached[next] = true
				}
			}
		}
	}
	for _, state := range protocol.RecordStates {
		if !reached[state] {
			t.Errorf("%q cannot be reached", state)
		}
	}
}
