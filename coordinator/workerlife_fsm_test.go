package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// workerTransitions is the whole table as it was decided; see the diagram in
// doc.go.
var workerTransitions = map[WorkerState]string{
	WorkerUp:      "heard=up missed=suspect no_answer=up",
	WorkerSuspect: "heard=up missed=suspect no_answer=gone",
	WorkerGone:    "heard=up missed=gone no_answer=gone",
}

func TestWorkerTransitionsOfEveryPair(t *testing.T) {
	t.Parallel()
	if len(WorkerStates) != len(workerTransitions) || len(workerTable) != len(workerTransitions) {
		t.Fatalf("%d states, %d rows here, %d there", len(WorkerStates), len(workerTransitions), len(workerTable))
	}
	for _, state := range WorkerStates {
		row := map[string]WorkerState{}
		for _, field := range strings.Fields(workerTransitions[state]) {
			event, to, _ := strings.Cut(field, "=")
			row[event] = WorkerState(to)
		}
		for _, event := range WorkerEvents {
			t.Run(fmt.Sprintf("%s/%s", state, event), func(t *testing.T) {
				t.Parallel()
				want, legal := row[string(event)]
				got, err := nextWorkerState(state, event)
				if !legal || err != nil || got != want {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
			})
		}
	}
	if got, err := nextWorkerState("ill", Heard); err == nil || got != "ill" {
		t.Errorf("an unknown state has a transition to %q", got)
	}
	if got, err := nextWorkerState(WorkerUp, "explode"); err == nil || got != WorkerUp {
		t.Errorf("an unknown event leads to %q", got)
	}
}

// A worker is gone only if it was suspected and then did not answer, with
// nothing heard of it in between; a word of it makes it up.
func TestNoSequenceBuriesAWorkerThatWasHeard(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := WorkerUp
		var since []WorkerEvent // the last word
		for _, ev := range rapid.SliceOf(rapid.SampledFrom(WorkerEvents)).Draw(t, "events") {
			to, err := nextWorkerState(s, ev)
			if err != nil {
				t.Fatal(err)
			}
			if ev == Heard {
				since = nil
			}
			since = append(since, ev)
			missed := slices.Index(since, Missed)
			asked := missed >= 0 && slices.Contains(since[missed:], NoAnswer)
			if (to == WorkerGone) != asked {
				t.Fatalf("%q after %v", to, since)
			}
			if ev == Heard && to != WorkerUp {
				t.Fatalf("heard, and %q", to)
			}
			s = to
		}
	})
}
