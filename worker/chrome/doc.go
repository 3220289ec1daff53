// Package chrome is the worker's real browser: one Chromium process, one egress
// proxy and one page an environment, put together from the rooms below. It is an
// environment.Launcher.
//
// # What it owns
//
//   - Open: a proxy on a port and with a credential of its own; a browser whose
//     only way out that proxy is; the kept state in it, before any page is
//     opened.
//   - Run: which room does which kind; the URL policy before a navigation; the
//     credential for a fill; the observation after an action; the evidence
//     (what happened meanwhile, what the proxy refused).
//   - Masking: no secret that the owner could fill stands in a text that leaves
//     the page, whole or cut off, whenever it was filled.
//   - Tabs: which tab an action is of (the one it names, else its ref's, else the
//     current one), and which is current after it: a window that was adopted, the
//     opener of one that was closed.
//   - A page that has used up its action's time and does not answer either: its
//     renderer is ended; browser and other tabs stay. What is known to be silent is
//     not waited for (silence.go).
//   - Doomed: a dialog of a removed frame makes the browser a trap (see package
//     supervisor), but cookies still answer: the environment saves and replaces it.
//   - Dialogs: Answer, beside Run or as an action, and what the answer led to.
//     Behind a dialog a checkpoint takes the cookies and carries the rest on.
//   - Lost: the process died, or its last page closed itself; the environment
//     replaces the browser.
//   - Ready: whether browsers can be opened here. The proof is a browser whose
//     page has computed something: the pool's, or one that is opened for that
//     alone; three failed starts in a row are proof of the contrary.
//   - Tired: a browser that is old, large or much used asks to be replaced
//     between actions (Limits).
//
// # What it never does
//
// It decides nothing about owners, records or results, never runs an action
// again, and holds no lock but that of its readiness.
//
// # Goroutines
//
// RunPool starts browsers ahead of need (its caller begins it and waits for it).
// One a browser waits for its loss, one measures its memory, one tells what happens
// in it (the events of its owner); one answers requests with empty documents
// while an origin's storage is restored, and one waits for what follows an answer
// to a dialog. Close waits for those of the browser, the restore and the action
// for their own.
package chrome
