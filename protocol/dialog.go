package protocol

import "strings"

// KindDialog answers a JavaScript dialog. It may be sent on either lane. On lane c,
// where it must name its dialog, it passes the queue: an action that waits behind a
// dialog could not end otherwise. On lane q it takes its turn.
const KindDialog Kind = "dialog"

// DialogAction is what to do with a dialog.
type DialogAction string

// The dialog actions.
const (
	DialogAccept  DialogAction = "accept"
	DialogDismiss DialogAction = "dismiss"
)

// MaxPromptText bounds the text that a prompt is answered with, in bytes.
const MaxPromptText = 64 << 10

// DialogArgs answer a dialog.
type DialogArgs struct {
	// DialogID names it. On lane q it may be left out when the newest observation
	// showed exactly one.
	DialogID DialogID `json:"dialog_id,omitempty"`
	// Action is accept or dismiss. Accepting a beforeunload leaves the page.
	Action DialogAction `json:"action"`
	// PromptText is what an accepted prompt returns; without it, the page's default.
	PromptText *string `json:"prompt_text,omitempty"`
}

// Validate checks everything but whether there is such a dialog.
func (a *DialogArgs) Validate() *Error {
	switch {
	case a.Action != DialogAccept && a.Action != DialogDismiss:
		return Errorf(CodeInvalidArgument, "action %q: want accept or dismiss", clip(string(a.Action), 20))
	case a.DialogID != "" && !a.DialogID.valid():
		return Errorf(CodeInvalidArgument, "dialog_id %q: want the id of a pending dialog, such as d-3-1", clip(string(a.DialogID), 40))
	case a.PromptText != nil && len(*a.PromptText) > MaxPromptText:
		return Errorf(CodeInvalidArgument, "prompt_text has %d bytes; at most %d", len(*a.PromptText), MaxPromptText)
	case a.PromptText != nil && a.Action == DialogDismiss:
		return Errorf(CodeInvalidArgument, "prompt_text: a prompt that is dismissed returns none")
	}
	return nil
}

// Generation is that of the dialog's environment; false for what is no dialog id.
func (id DialogID) Generation() (Generation, bool) {
	rest, ok := strings.CutPrefix(string(id), "d-")
	if !ok {
		return 0, false
	}
	generation, number, ok := strings.Cut(rest, "-")
	if !ok || len(number) > 18 || !digits(number) || len(generation) > 18 || !digits(generation) {
		return 0, false
	}
	var g Generation
	for _, c := range generation {
		g = 10*g + Generation(c-'0')
	}
	return g, true
}

func (id DialogID) valid() bool {
	_, ok := id.Generation()
	return ok
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// DialogPolicy says who answers an environment's dialogs.
type DialogPolicy string

// The dialog policies. Whatever it is, a dialog in the way of the agent's own
// navigation is answered, and a storm of dialogs is dismissed.
const (
	// DialogMustRespond, the default, leaves them to the agent; one that nobody
	// answers is dismissed after 300 s.
	DialogMustRespond DialogPolicy = "must_respond"
	DialogAutoDismiss DialogPolicy = "auto_dismiss"
	DialogAutoAccept  DialogPolicy = "auto_accept"
)

// DialogPolicies are all dialog policies.
var DialogPolicies = []DialogPolicy{DialogMustRespond, DialogAutoDismiss, DialogAutoAccept}

// DialogStorm counts an action's dialogs when they were too many to list: more
// than 20, or three that said the same within two seconds.
type DialogStorm struct {
	// Opened are all; Dismissed those of them that were dismissed unseen.
	Opened    int `json:"opened"`
	Dismissed int `json:"dismissed"`
}

// PrintRequest is a page's wish to be printed, which nothing came of.
type PrintRequest struct {
	URL     string  `json:"url"`
	FrameID FrameID `json:"frame_id,omitempty"`
	At      Time    `json:"at"`
}

// bothLanes are the kinds that may be sent on either lane; Lookup tells the one
// that they are sent on when nothing else is asked for.
var bothLanes = map[Kind]bool{KindDialog: true}

// OnLane reports whether the kind may be sent on the lane.
func (k Kind) OnLane(l Lane) bool {
	info, ok := kinds[k]
	return ok && (info.Lane == l || bothLanes[k])
}
