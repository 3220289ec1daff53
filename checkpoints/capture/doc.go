// Package capture takes the state of a live environment out of its browser and
// puts a kept state back, over a Session that somebody else implements: it
// knows cookies and web storage, and no CDP.
//
// # What it owns
//
//   - Session, Frame, Eval: what it needs of a browser.
//   - Capture: cookies, the localStorage of the main frame's storage key merged
//     with the earlier state's other keys, the tab.
//   - Restore: cookies, then every first-party localStorage, before any script
//     of a page runs; and the fidelity report of what came back.
//   - js/*.js: the functions that run in isolated worlds.
//
// It never opens a page's URL (Restore makes no request to any site), never
// stores anything, and never runs in a page's own world.
//
// # Capture
//
// Storage first, then cookies: a page that logs in writes both, and the cookie
// is what counts. localStorage is read in chunks of 256 Ki characters, since a
// string of 5 MB that is read by value holds a page's main thread for 450 ms
// (measured on Chromium 156). A page that does not answer, or whose storage
// changes under the reading, costs its storage this time: the earlier state's
// is kept, Capture.Consistent is false, and a warning says so. Cookies come from
// the browser process, which answers even while a dialog blocks the page.
//
// Areas are keyed by storage key, never by origin: a frame in another site's
// page has storage of its own. Third-party (partitioned) keys cannot be reached
// from a page of the origin; they are not captured, and Restore names them.
//
// # Restore
//
//	cookies --> each stored origin, in a page whose requests are answered with
//	            an empty document (Session.WithOrigin) --> report
//
// Cookies that the browser refuses as a set are halved until the bad ones are
// alone, and what came back is what the browser lists afterwards. A loss is
// reported by name, never by value, and does not end the restore: only a session
// that fails as a whole does.
//
// # Trust
//
// What an Eval returns was written by a page's renderer, which may be hostile:
// it is bounded, must parse, and reaches no other storage key than the one that
// the browser named.
//
// # Goroutines and locks
//
// None. Every call to the browser has a deadline: 2 s a chunk, 5 s a cookie
// call, 10 s an origin.
package capture
