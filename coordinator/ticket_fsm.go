package coordinator

import "fmt"

// TicketState is where an owner stands on its way to a worker. That something
// else is done for the owner meanwhile (what is due of it is answered) is no
// state: it changes nothing about its place.
type TicketState string

// The states.
const (
	// TicketNone: it waits for no worker.
	TicketNone TicketState = ""
	// TicketWaiting: it is in its tenant's queue.
	TicketWaiting TicketState = "waiting"
	// TicketCalled: it had its turn. Room of a worker is kept for it, until it is
	// placed, or is not.
	TicketCalled TicketState = "called"
	// TicketParked: it had its turn, and nobody could take it. It keeps its place,
	// and is not called before something has changed.
	TicketParked TicketState = "parked"
)

// TicketStates are all states.
var TicketStates = []TicketState{TicketNone, TicketWaiting, TicketCalled, TicketParked}

// TicketEvent is what happens to a ticket.
type TicketEvent string

// The events.
const (
	TicketJoin  TicketEvent = "join"  // the owner wants a worker
	TicketTurn  TicketEvent = "turn"  // its tenant's turn, and it is the first
	TicketBack  TicketEvent = "back"  // the room that was kept for it was gone
	TicketUnfit TicketEvent = "unfit" // it was tried, and nobody could take it
	TicketRetry TicketEvent = "retry" // something has changed
	TicketLeave TicketEvent = "leave" // it is placed, or wants no worker any more
)

// TicketEvents are all events.
var TicketEvents = []TicketEvent{TicketJoin, TicketTurn, TicketBack, TicketUnfit, TicketRetry, TicketLeave}

var ticketTable = map[TicketState]map[TicketEvent]TicketState{
	TicketNone: {
		TicketJoin: TicketWaiting, TicketLeave: TicketNone,
	},
	TicketWaiting: {
		TicketJoin: TicketWaiting, TicketTurn: TicketCalled, TicketRetry: TicketWaiting, TicketLeave: TicketNone,
	},
	TicketCalled: {
		TicketJoin: TicketCalled, TicketBack: TicketWaiting, TicketUnfit: TicketParked, TicketRetry: TicketCalled, TicketLeave: TicketNone,
	},
	TicketParked: {
		TicketJoin: TicketParked, TicketRetry: TicketWaiting, TicketLeave: TicketNone,
	},
}

// nextTicketState is the ticket's state machine: pure, no clock, no I/O.
func nextTicketState(s TicketState, ev TicketEvent) (TicketState, error) {
	next, ok := ticketTable[s][ev]
	if !ok {
		return s, fmt.Errorf("ticket: %q does not follow from state %q", ev, s)
	}
	return next, nil
}
