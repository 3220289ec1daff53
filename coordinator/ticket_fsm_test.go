package coordinator

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ticketTransitions is the whole table as it was decided; see the diagram in
// doc.go.
var ticketTransitions = map[TicketState]string{
	TicketNone:    "join=waiting leave=",
	TicketWaiting: "join=waiting turn=called retry=waiting leave=",
	TicketCalled:  "join=called back=waiting unfit=parked retry=called leave=",
	TicketParked:  "join=parked retry=waiting leave=",
}

func TestTicketTransitionsOfEveryPair(t *testing.T) {
	t.Parallel()
	if len(TicketStates) != len(ticketTransitions) || len(ticketTable) != len(ticketTransitions) {
		t.Fatalf("%d states, %d rows here, %d there", len(TicketStates), len(ticketTransitions), len(ticketTable))
	}
	for _, state := range TicketStates {
		row := map[string]TicketState{}
		for _, field := range strings.Fields(ticketTransitions[state]) {
			event, to, _ := strings.Cut(field, "=")
			row[event] = TicketState(to)
		}
		for _, event := range TicketEvents {
			t.Run(fmt.Sprintf("%s/%s", state, event), func(t *testing.T) {
				t.Parallel()
				want, legal := row[string(event)]
				if !legal {
					want = state
				}
				if got, err := nextTicketState(state, event); got != want || (err == nil) != legal {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
			})
		}
	}
}

// Nobody is called twice without having been tried, or having left, in between.
func TestNoSequenceCallsATicketTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, called := TicketNone, false
		for _, ev := range rapid.SliceOf(rapid.SampledFrom(TicketEvents)).Draw(t, "events") {
			to, err := nextTicketState(s, ev)
			if err != nil {
				continue
			}
			if ev == TicketTurn && called {
				t.Fatalf("called again from %q", s)
			}
			called = (called || ev == TicketTurn) && ev != TicketBack && ev != TicketUnfit && ev != TicketLeave
			if called != (to == TicketCalled) {
				t.Fatalf("%q after %q", to, ev)
			}
			s = to
		}
	})
}
