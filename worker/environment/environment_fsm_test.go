package environment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// transitions is the whole table as it was decided, one line a state; an event
// that is not listed is refused. It repeats the code on purpose: a change of the
// machine has to be made twice, and read.
var transitions = map[State]string{
	Opening:        "opened=idle open_failed=unavailable release=closing gone=closed",
	Unavailable:    "retry=opening release=closing gone=closed",
	Idle:           "begin=running lost=opening take_over=human_in_control release=closing gone=closed",
	Running:        "end=idle lost=opening release=running gone=closed",
	HumanInControl: "hand_back=idle lost=opening release=closing gone=closed",
	Closing:        "gone=closed lost=closing opened=closing open_failed=closing",
	Closed:         "",
}

func TestTransitionsOfEveryPair(t *testing.T) {
	t.Parallel()
	if len(States) != len(transitions) || len(table) != len(transitions) {
		t.Fatalf("%d states, %d rows here, %d there", len(States), len(transitions), len(table))
	}
	for _, state := range States {
		row := map[string]State{}
		for _, field := range strings.Fields(transitions[state]) {
			event, to, _ := strings.Cut(field, "=")
			row[event] = State(to)
		}
		for _, event := range Events {
			t.Run(fmt.Sprintf("%s/%s", state, event), func(t *testing.T) {
				t.Parallel()
				want, legal := row[string(event)]
				got, err := next(state, event)
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

func TestUnknownStatesAndEventsAreRefused(t *testing.T) {
	t.Parallel()
	if got, err := next("asleep", Opened); err == nil || got != "asleep" {
		t.Errorf("an unknown state has a transition to %q", got)
	}
	if got, err := next(Idle, "explode"); err == nil || got != Idle {
		t.Errorf("an unknown event leads to %q", got)
	}
}

// Whatever happens in whatever order, an action begins only in an idle
// environment that was opened, and nothing follows the end.
func TestNoSequenceOfEventsRunsWithoutABrowser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, open := Opening, false
		for _, ev := range rapid.SliceOf(rapid.SampledFrom(Events)).Draw(t, "events") {
			to, err := next(s, ev)
			switch {
			case err != nil && to != s:
				t.Fatalf("a refused %q moved %q to %q", ev, s, to)
			case err == nil && !slices.Contains(States, to):
				t.Fatalf("%q leads from %q to %q", ev, s, to)
			case s == Closed && err == nil:
				t.Fatalf("%q follows the end", ev)
			case err == nil && to == Running && ev == Begin && (s != Idle || !open):
				t.Fatalf("an action begins in %q, open %v", s, open)
			case s == Closing && err == nil && to != Closing && to != Closed:
				t.Fatalf("%q leads from closing to %q", ev, to)
			}
			if err == nil {
				open = to == Idle || to == Running || to == HumanInControl
				s = to
			}
		}
		if s == Closed {
			return
		}
		if to, err := next(s, Gone); err != nil || to != Closed {
			t.Fatalf("a fence does not close %q: %q, %v", s, to, err)
		}
	})
}
