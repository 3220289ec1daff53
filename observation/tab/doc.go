// Package tab makes a supervised page usable for observation and action: it
// folds the supervisor's snapshot, worlds and watch into observation.State. It
// owns a watch and three subscriptions, nothing of the page itself.
//
// What the snapshot does not say and this package adds:
//
//	counts        dialogs, popups, downloads and same-document navigations since
//	              New, from the watch
//	Navigating    a navigation of the main frame that has begun and neither
//	              committed nor failed. Page.frameStartedNavigating names its
//	              loader; it is over when the frame has that loader, when the
//	              request of the same name failed or ended (a download, an answer
//	              without content), when another one began, or after 30 s.
//	              Page.frameRequestedNavigation, which the renderer sends at once,
//	              bridges the time until it begins.
//
// Replies overtake events: a reply settles its call at once, an event waits for
// the handler. AwaitTick closes that gap where it matters, with an event that the
// page's script sends.
//
// The package starts no goroutine: events wait in the channels until State looks.
// One goroutine uses a Tab at a time; Close ends watch and subscriptions.
package tab
