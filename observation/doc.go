// Package observation turns a page into what an agent is shown, and a ref back
// into the one element that it means. It owns observations, refs and pictures;
// it never acts on a page (package action does), never decides about URLs, and
// never launches or attaches anything: a Page is given.
//
// # Shape
//
//	Page        the tab, of the supervisor: commands, a state, a signal
//	Read/Invoke calls of the page's script (package pagejs) in its isolated world
//	Observer    one an environment: observations, digests, the table of refs
//	Screenshot  a picture within bounds
//
// One observation is one round trip. The page collects, ranks coarsely and
// returns at most four times the budget with exact totals; here the answer is
// held against bounds, ranked, cut, given refs and a digest.
//
// # Frames
//
// Every frame has a pass of its own, all sent at once; a page without frames costs
// one round trip, with known frames the same one, and a new frame three before it
// (owner.go: which element holds it). The pass of a document says where the holders
// of its frames stand and whether a user sees them; so the passes are merged into
// one (frames.go): what is in a hidden frame is dropped, what is in another stands
// where its frame does. Totals, text and digest are of all. Frames may take a third
// of the time, 5 s at most; one that does not answer is named in unread_frames.
//
// Within makes a Page of a frame: calls go to its world, on its session.
//
// # What has no role
//
// Elements that a user can click though no role says so are listed as generic, with
// the reason (clickable_by): an onclick, the cursor of a link, a tabindex, a canvas.
// Only the outermost element with the cursor is: not every child of a card.
// Listeners that a script added are not asked for. DOMDebugger.getEventListeners on
// the document as the isolated world has it ends renderers (a null pointer in
// Chromium 156, about once in 300 looks); on the main world's handle it did not.
//
// # Refs
//
// A ref (e1, e2…) means one DOM node: a number in a table that the isolated
// world keeps, in a document that has a random token. Refs count up for a whole
// generation and are never used twice. A node that is shown again has its old
// ref, whatever was observed in between.
//
//	never shown ---- Observe ----> shown (fingerprint of what was shown)
//	shown      ---- Observe ----> shown (newer fingerprint)
//	shown      ---- document replaced, node removed ----> stale_ref
//	shown      ---- name, role, type, href or record differ from the newest
//	                fingerprint at the moment of dispatch ----> ref_changed
//	any        ---- new generation (New) ----> stale_ref
//
// Resolve knows the first and the last; the page checks the others right before
// dispatch, in the same call as the hit test.
//
// An observation id is "o-GENERATION-N". It is optional in requests; one of
// another generation is refused.
//
// # A part of a page
//
// A Query narrows a look: to a region (an element, a record with all that belongs to
// it), a frame with the frames in it, a role, or a text. The page's script filters, so
// totals are exact however much there is; a text is searched here, in what is left of
// the page's after secrets were taken out (up to 500,000 characters of a document, or
// the observation is partial). Finds near each other are one match with a count.
//
// # Differences
//
// What was shown in the newest four observations, slices included, is kept. A look
// with Since is answered by what changed since then, if that is smaller in JSON, and
// says so in its field difference; else it is whole, with the reason. An element that
// the budget pushed out of sight is not removed. A difference is always within one
// document.
//
// # Slices
//
// What a look reads beyond its budgets is kept until the next one: 60,000 characters,
// four times the elements. Next shows it slice by slice, with the same id and refs,
// and never asks the page. A token "c-GENERATION-N" holds for one slice.
//
//	observed ---- cut: continuation ---- Next ----> slice, new token
//	   |                                    +-----> last slice: none; what the page
//	   |                                            has beyond it is counted
//	   +- whole: no continuation
//	any ---- newer observation, token used ----> continuation_superseded
//	last slice shown ----> continuation_exhausted; new generation ----> generation_changed
//
// # Trust
//
// Text, names, values and labels are the page's: untrusted. Their sizes are
// bounded in the page and again here, because a page may have taken over its
// renderer; what is cut is cut at code points and counted. Values of secret
// fields do not leave the page at all.
//
// The world is addressed by its unique id: Chromium uses context numbers again
// in another process, where the same number can be the page's own world.
//
// # Goroutines and locks
//
// None. An Observer belongs to one goroutine at a time; every wait ends with the
// caller's context, a dialog, a crash or the loss of the page.
//
// # With a dialog open
//
// Chromium answers nothing that needs the renderer. Observe then returns at once
// what it knew last, marked stale, with the dialog in it.
package observation
