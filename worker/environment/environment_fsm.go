package environment

import "fmt"

// State of an environment.
type State string

// The states.
const (
	// Opening: its state is being fetched and its browser started.
	Opening State = "opening"
	// Unavailable: it could not be opened; the next request after a pause tries
	// again.
	Unavailable State = "unavailable"
	// Idle: open, and nothing runs.
	Idle State = "idle"
	// Running: one action runs.
	Running State = "running"
	// HumanInControl: a person drives; no action begins.
	HumanInControl State = "human_in_control"
	// Closing: it is saved and let go.
	Closing State = "closing"
	// Closed is final.
	Closed State = "closed"
)

// States are all states.
var States = []State{Opening, Unavailable, Idle, Running, HumanInControl, Closing, Closed}

// Event is what happens to an environment.
type Event string

// The events.
const (
	Opened     Event = "opened"      // the browser is there
	OpenFailed Event = "open_failed" // it is not
	Retry      Event = "retry"       // try to open again
	Begin      Event = "begin"       // an action begins
	End        Event = "end"         // it ended; the browser lives
	Lost       Event = "lost"        // the browser died or had to be killed
	TakeOver   Event = "take_over"   // a person takes control
	HandBack   Event = "hand_back"   // and gives it back
	Release    Event = "release"     // drain, move, hibernate
	Gone       Event = "gone"        // saved and closed, or fenced
)

// Events are all events.
var Events = []Event{Opened, OpenFailed, Retry, Begin, End, Lost, TakeOver, HandBack, Release, Gone}

var table = map[State]map[Event]State{
	Opening:        {Opened: Idle, OpenFailed: Unavailable, Release: Closing, Gone: Closed},
	Unavailable:    {Retry: Opening, Release: Closing, Gone: Closed},
	Idle:           {Begin: Running, Lost: Opening, TakeOver: HumanInControl, Release: Closing, Gone: Closed},
	Running:        {End: Idle, Lost: Opening, Release: Running, Gone: Closed},
	HumanInControl: {HandBack: Idle, Lost: Opening, Release: Closing, Gone: Closed},
	Closing:        {Gone: Closed, Lost: Closing, Opened: Closing, OpenFailed: Closing},
	Closed:         {},
}

// next is the environment's state machine: pure, no clock, no I/O. Release while
// an action runs changes nothing yet: the loop releases when the action ended.
func next(s State, ev Event) (State, error) {
	to, ok := table[s][ev]
	if !ok {
		return s, fmt.Errorf("environment: %q does not follow from state %q", ev, s)
	}
	return to, nil
}
