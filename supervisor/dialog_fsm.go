package supervisor

import "fmt"

// DialogState is where a dialog is in its life; the package comment has the
// diagram.
type DialogState string

const (
	DialogOpen      DialogState = "open"
	DialogAnswering DialogState = "answering"
	DialogClosed    DialogState = "closed"
	DialogOrphaned  DialogState = "orphaned"
)

type dialogEvent string

const (
	dialogClaimed      dialogEvent = "claimed"       // somebody is about to answer
	dialogNotSent      dialogEvent = "not_sent"      // the answer never reached the wire
	dialogUnanswerable dialogEvent = "unanswerable"  // the browser did not take the answer
	dialogGone         dialogEvent = "gone"          // the browser says that it is closed
	dialogFrameRemoved dialogEvent = "frame_removed" // its frame was removed while it was open
	dialogPageGone     dialogEvent = "page_gone"     // crash, or the session is detached
)

var dialogTable = map[DialogState]map[dialogEvent]DialogState{
	DialogOpen: {
		dialogClaimed:      DialogAnswering,
		dialogGone:         DialogClosed,
		dialogFrameRemoved: DialogOrphaned,
		dialogPageGone:     DialogClosed,
	},
	DialogAnswering: {
		dialogNotSent:      DialogOpen,
		dialogUnanswerable: DialogOrphaned,
		dialogGone:         DialogClosed,
		dialogFrameRemoved: DialogOrphaned,
		dialogPageGone:     DialogClosed,
	},
	// The browser can still close an orphaned dialog by itself, we never do.
	DialogOrphaned: {
		dialogNotSent:      DialogOrphaned,
		dialogUnanswerable: DialogOrphaned,
		dialogGone:         DialogClosed,
		dialogFrameRemoved: DialogOrphaned,
		dialogPageGone:     DialogClosed,
	},
	DialogClosed: {},
}

// nextDialog is the state machine: no clock, no lock, no effect.
func nextDialog(state DialogState, event dialogEvent) (DialogState, error) {
	next, ok := dialogTable[state][event]
	if !ok {
		return state, fmt.Errorf("supervisor: dialog is %s: %s does not apply", state, event)
	}
	return next, nil
}
