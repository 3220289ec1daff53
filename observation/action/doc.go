// Package action performs an agent's actions on a page: it checks the element,
// dispatches input, waits for the page to settle and says what the page did. It
// owns no state between actions. It never decides whether a URL or a credential
// may be used, never observes, and never runs an action again.
//
// # Life of an action
//
//	Resolve -> prepare -> dispatch() -> commands -> settle -> Performed
//	   |          |           |            |
//	   |          |           |            +- failed: dispatched yes or unknown
//	   |          |           +- refused by the caller: dispatched no
//	   |          +- stale_ref, ref_changed, covered, element_disabled…: no
//	   +- stale_ref: no
//
// prepare is one call of the page's script: connected, unchanged since it was
// shown, brought into view (through nested scrollers and from under sticky
// headers), at rest, enabled, and hit by a click at a point that it returns. It
// waits half a second for an obstacle to go and eight for a moving target to
// rest; a resting one costs no frame.
//
// dispatch is the caller's: it is called once, directly before the first command
// that can have an effect. A check of a box that is as wanted and a wait have
// none, and do not call it.
//
// # Round trips
//
//	click, check   2: prepare; moved, pressed, released in one pipeline
//	hover          3: prepare; moved; is it over the element
//	drag           prepare both; press; prepare the other; 10 moves; is it taken
//	fill           4: prepare; focus; insert; read back (text is inserted only
//	               where the page has confirmed the focus)
//	select         2: prepare; choose
//	type           prepare; focus; one for each key; read back
//	press          3 with a ref, 2 without
//
// # Guard
//
// A click is armed with the target in the call that prepares it: a press that hits
// something else is kept from the page, with all that follows it (81-guard.js). What
// came is told with the first look at the page, which costs nothing more. A click
// that was kept from the page is sent again, as often as that may help; one that
// nobody heard of is answered dispatched=unknown. Each press of a double click is
// judged by itself.
//
// # Frames
//
// The script's calls are made in the target's frame, text and keys go to its
// session. A click is the page's: its point is followed outwards, one call for each
// document around the frame, which brings the frame into view and checks that it is
// hit at that point (frame.go). Changes count in all of these documents. A frame
// that goes away before the dispatch is stale_ref, after it a change of the page.
//
// # Settling
//
// Two frames after the dispatch: nothing changed and nothing new in flight ->
// none_yet, at once. Else until DOM and network were quiet for 100 ms, at most
// 5 s. What was in flight before (a long poll) does not count. A navigation
// waits for DOMContentLoaded (30 s), then for the first quiet moment (1.5 s).
// A dialog ends every wait, with the verdict dialog_opened.
//
// # Errors
//
// Everything races the crash of the page, the loss of the browser and the
// caller's context. An error says dispatched=no until dispatch() was called,
// then unknown unless it is known that the input arrived.
//
// # Secrets
//
// The value of a credential is an argument of PerformCredential and of two calls
// into the isolated world. It is in no error, and the page's script answers only
// whether it is in the field.
//
// The package starts no goroutine.
package action
