package checkpoints

import "fmt"

// slotState is where a handle stands with the slot that it wants to write.
type slotState string

const (
	slotWriting    slotState = "writing"    // the conditional PUT is due or in flight
	slotReading    slotState = "reading"    // the slot is taken, or the answer was lost: whose is it?
	slotRelisting  slotState = "relisting"  // a stranger has it: find the highest slot
	slotConfirming slotState = "confirming" // compare-and-set on the owner record is due
	slotDone       slotState = "done"       // the slot is ours
	slotFenced     slotState = "fenced"     // somebody else holds the environment
	slotFailed     slotState = "failed"     // not known to be written; the holder may try again
)

var slotStates = []slotState{
	slotWriting, slotReading, slotRelisting, slotConfirming, slotDone, slotFenced, slotFailed,
}

// slotEvent is what the store or the owner record answered.
type slotEvent string

const (
	evStored     slotEvent = "stored"     // the PUT succeeded
	evTaken      slotEvent = "taken"      // 412: the slot holds an object
	evUnanswered slotEvent = "unanswered" // the PUT's answer was lost
	evOurs       slotEvent = "ours"       // the slot holds this very write
	evEarlier    slotEvent = "earlier"    // the slot holds an earlier write of this handle
	evVacant     slotEvent = "vacant"     // the slot is still free
	evForeign    slotEvent = "foreign"    // the slot holds somebody's write
	evLater      slotEvent = "later"      // somebody has written under a later epoch
	evListed     slotEvent = "listed"     // the next free slot is known
	evConfirmed  slotEvent = "confirmed"  // compare-and-set succeeded: still the holder
	evRefused    slotEvent = "refused"    // compare-and-set lost
	evBroken     slotEvent = "broken"     // store or record cannot be reached, or out of time
)

var slotEvents = []slotEvent{
	evStored, evTaken, evUnanswered, evOurs, evEarlier, evVacant, evForeign, evLater,
	evListed, evConfirmed, evRefused, evBroken,
}

// The order list -> confirm -> write is what keeps a late writer harmless: a
// rival's compare-and-set after ours comes before the rival's own listing, so
// the rival aims at the same slot or a higher one, and one slot has one winner.
var slotTable = map[slotState]map[slotEvent]slotState{
	slotWriting: {
		evStored: slotDone, evTaken: slotReading, evUnanswered: slotReading, evBroken: slotFailed,
	},
	slotReading: {
		evOurs: slotDone, evEarlier: slotWriting, evVacant: slotWriting,
		evForeign: slotRelisting, evLater: slotFenced, evBroken: slotFailed,
	},
	slotRelisting: {
		evListed: slotConfirming, evLater: slotFenced, evBroken: slotFailed,
	},
	slotConfirming: {
		evConfirmed: slotWriting, evRefused: slotFenced, evBroken: slotFailed,
	},
}

// nextSlotState is the state machine: pure, no I/O, no clock.
func nextSlotState(s slotState, ev slotEvent) (slotState, error) {
	next, ok := slotTable[s][ev]
	if !ok {
		return s, fmt.Errorf("checkpoint slot: %q does not follow from state %q", ev, s)
	}
	return next, nil
}

// final says that the machine has ended.
func (s slotState) final() bool { return len(slotTable[s]) == 0 }
