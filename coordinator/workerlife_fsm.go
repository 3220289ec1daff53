package coordinator

import "fmt"

// WorkerState is what a coordinator believes of a worker.
type WorkerState string

// The states. Draining is not one of them: a draining worker is up, takes no new
// owners, and says so in its heartbeats.
const (
	WorkerUp      WorkerState = "up"
	WorkerSuspect WorkerState = "suspect" // five heartbeats missed; being asked
	WorkerGone    WorkerState = "gone"    // it did not answer either
)

// WorkerStates are all states.
var WorkerStates = []WorkerState{WorkerUp, WorkerSuspect, WorkerGone}

// WorkerEvent is what happens to a worker, seen from here.
type WorkerEvent string

// The events.
const (
	Heard    WorkerEvent = "heard"     // a heartbeat or an answer
	Missed   WorkerEvent = "missed"    // five heartbeats are missing
	NoAnswer WorkerEvent = "no_answer" // the confirming ping was not answered
)

// WorkerEvents are all events.
var WorkerEvents = []WorkerEvent{Heard, Missed, NoAnswer}

var workerTable = map[WorkerState]map[WorkerEvent]WorkerState{
	WorkerUp:      {Heard: WorkerUp, Missed: WorkerSuspect, NoAnswer: WorkerUp},
	WorkerSuspect: {Heard: WorkerUp, Missed: WorkerSuspect, NoAnswer: WorkerGone},
	// A worker that comes back after all is up again: what was taken from it is
	// fenced, and it finds out by itself.
	WorkerGone: {Heard: WorkerUp, Missed: WorkerGone, NoAnswer: WorkerGone},
}

// nextWorkerState is pure.
func nextWorkerState(s WorkerState, ev WorkerEvent) (WorkerState, error) {
	to, ok := workerTable[s][ev]
	if !ok {
		return s, fmt.Errorf("worker: %q does not follow from state %q", ev, s)
	}
	return to, nil
}
