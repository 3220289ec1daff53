package protocol

import "fmt"

// RecordState is the state of an owner record.
type RecordState string

// The states.
const (
	// RecordNone: there is no record yet.
	RecordNone RecordState = ""
	// RecordUnassigned: nobody holds the owner.
	RecordUnassigned RecordState = "unassigned"
	// RecordAnswering: a coordinator holds it to answer what is due.
	RecordAnswering RecordState = "answering"
	// RecordAssigned: the named worker holds it.
	RecordAssigned RecordState = "assigned"
	// RecordMoving: its worker let go and wants it placed elsewhere.
	RecordMoving RecordState = "moving"
	// RecordHibernated: saved and closed; the next request wakes it.
	RecordHibernated RecordState = "hibernated"
	// RecordFailed: it died too often.
	RecordFailed RecordState = "failed"
	// RecordDeleted: its state was removed.
	RecordDeleted RecordState = "deleted"
)

// RecordStates are all states.
var RecordStates = []RecordState{
	RecordNone, RecordUnassigned, RecordAnswering, RecordAssigned, RecordMoving,
	RecordHibernated, RecordFailed, RecordDeleted,
}

// RecordEvent is what happens to a record.
type RecordEvent string

// The events, with who may cause them.
const (
	RecordAssign    RecordEvent = "assign"    // coordinator: place on a worker
	RecordAnswer    RecordEvent = "answer"    // coordinator: hold it to answer
	RecordLetGo     RecordEvent = "let_go"    // coordinator that answers: done
	RecordProgress  RecordEvent = "progress"  // holder: START, cursor
	RecordRelease   RecordEvent = "release"   // worker: place it elsewhere
	RecordUnassign  RecordEvent = "unassign"  // coordinator: its holder is gone
	RecordHibernate RecordEvent = "hibernate" // worker
	RecordFail      RecordEvent = "fail"      // worker or coordinator
	RecordReset     RecordEvent = "reset"     // operator or agent
	RecordDelete    RecordEvent = "delete"    // holder or coordinator
	RecordAcquire   RecordEvent = "acquire"   // coordinator: an agent wants it
	RecordWake      RecordEvent = "wake"      // worker that has just hibernated it
)

// RecordEvents are all events.
var RecordEvents = []RecordEvent{
	RecordAssign, RecordAnswer, RecordLetGo, RecordProgress, RecordRelease,
	RecordUnassign, RecordHibernate, RecordFail, RecordReset, RecordDelete,
	RecordAcquire, RecordWake,
}

var recordTable = map[RecordState]map[RecordEvent]RecordState{
	RecordNone: {
		RecordAssign: RecordAssigned, RecordAnswer: RecordAnswering, RecordAcquire: RecordUnassigned,
	},
	RecordUnassigned: {
		RecordAssign: RecordAssigned, RecordAnswer: RecordAnswering, RecordFail: RecordFailed,
		RecordDelete: RecordDeleted, RecordAcquire: RecordUnassigned,
	},
	RecordAnswering: {
		RecordProgress: RecordAnswering, RecordLetGo: RecordUnassigned, RecordUnassign: RecordUnassigned,
		// Another coordinator may take over what a dead one left.
		RecordAnswer: RecordAnswering, RecordAssign: RecordAssigned,
	},
	RecordAssigned: {
		RecordProgress: RecordAssigned, RecordAssign: RecordAssigned, RecordRelease: RecordMoving,
		RecordUnassign: RecordUnassigned, RecordHibernate: RecordHibernated, RecordFail: RecordFailed,
		// The holder is gone and nobody can take the owner: its due requests
		// are still answered.
		RecordAnswer: RecordAnswering,
		// Its holder closes it for good.
		RecordDelete: RecordDeleted,
	},
	RecordMoving: {
		RecordAssign: RecordAssigned, RecordAnswer: RecordAnswering, RecordUnassign: RecordUnassigned,
		RecordFail: RecordFailed, RecordDelete: RecordDeleted,
	},
	RecordHibernated: {
		RecordAssign: RecordAssigned, RecordAnswer: RecordAnswering, RecordDelete: RecordDeleted,
		RecordUnassign: RecordUnassigned, RecordAcquire: RecordHibernated,
		// A request came while it was hibernating: nobody else has written since.
		RecordWake: RecordAssigned,
	},
	// A coordinator answers for these in place: if it dies meanwhile, the owner
	// must not come back to life.
	RecordFailed: {
		RecordProgress: RecordFailed, RecordReset: RecordUnassigned, RecordDelete: RecordDeleted,
	},
	RecordDeleted: {
		RecordProgress: RecordDeleted,
	},
}

// NextRecordState is the record's state machine: pure, no clock, no I/O.
func NextRecordState(s RecordState, ev RecordEvent) (RecordState, error) {
	next, ok := recordTable[s][ev]
	if !ok {
		return s, fmt.Errorf("owner record: %q does not follow from state %q", ev, s)
	}
	return next, nil
}
