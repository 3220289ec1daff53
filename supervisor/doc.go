// Package supervisor owns one launched browser and the one environment in it. It
// starts the browser, attaches every target paused, keeps a picture of the page
// that is right at any moment, answers dialogs, closes or adopts popups, notices
// crashes, and ends the browser. It does not decide what an action is, does not judge
// URLs or schemes (callers do, before they navigate), and does not retry.
//
// # For the layers above
//
//	s, err := supervisor.Start(ctx, supervisor.Config{...})
//	p := s.Page()           the first tab; s.Tabs(), s.Tab(id) are all that are open
//
//	p.Call, p.Subscribe   cdproto's cdp.Session on the page session:
//	                        cdp.Call(ctx, p, page.Navigate, page.NavigateParams{URL: u})
//	p.Send                one command without waiting; order of Send = order on the wire
//	p.Browser()           the same three for browser-level commands
//	p.World(ctx)          the isolated world of the main frame's current document
//	p.Worlds()            those of all frames, with the session that each lives on
//	p.WorldIn(ctx, id)    that of one frame, of any kind, made if there is none
//	p.Snapshot()          the newest picture, immutable, without waiting for the browser
//	p.Await(ctx, cond)    the first picture that satisfies a condition
//	p.Watch()             what happens from now on, and a channel that wakes
//	p.AnswerDialog(...)   answers a dialog, exactly once
//	s.OpenTab, s.CloseTab, s.SetPopups, s.Titles, s.AwaitTabs, s.Watch
//	p.OpenHidden(ctx)     a page nobody sees, for the storage of other origins
//	s.Done(), s.Err()     the browser is lost: exited, wedged, closed
//	s.Close(ctx)          ends process, profile and goroutines
//
// An action must not wait for a CDP reply alone: with a dialog open, evaluate,
// screenshots, DOM.* and the reply of mouseReleased hang until it is answered.
// So a caller sends, then selects over
//
//	pending.Done()   the reply, or a failure: crash, detach, loss of the browser
//	watch.Wake()     something happened; watch.Take().Dialogs says if a dialog opened
//	ctx.Done()       the deadline
//
// What still answers with a dialog open: Storage.*, Network.getCookies,
// Page.getNavigationHistory, Target.* on the browser session. Navigations answer
// what is open first, see below.
//
// # Attach
//
// Target.setAutoAttach at browser level pauses every page before its first
// request; on each page and iframe session it does the same for iframes and
// workers. An attached target gets, pipelined: Page, Runtime, Inspector, Network,
// lifecycle events, nested auto-attach, emulation, the world's script; then
// Runtime.runIfWaitingForDebugger. Start waits for the acknowledgements before it
// returns: commands pipelined onto a page that was not paused lose events
// (Page.frameNavigated was missing in every such run, measured on Chromium 156).
// Workers get Runtime and are let run: their errors are their tab's.
//
// # Frames
//
// The tree is kept by events; what they do not tell (measured on 156):
//
//   - a navigation of the main frame removes all others without a word;
//   - a session that ends takes those along that were attached through it, also
//     without a word: the event would have come on the session that ended;
//   - a page that was running before we attached, and one that comes back from the
//     bfcache, tells nothing of its frames. It is asked (Page.getFrameTree), and the
//     answer is taken in its place among the events (cdp.SendOrdered).
//
// A cross-site frame is in the tree as long as its session is; a frame that moves
// to its parent's process is attached there anew. A frame whose process died stays,
// empty and Crashed, until its parent loads it again.
//
// # Worlds
//
// Config.WorldScript runs in an isolated world named Config.WorldName at the
// start of every document of every frame, before the page's scripts. Order on the
// wire at a navigation (measured): executionContextsCleared, lifecycle init,
// frameNavigated, executionContextCreated. So a world that is in the table belongs
// to the frame's current loader.
//
// # Dialogs
//
// A dialog of any frame of the tab arrives on the page session, with the frame's
// id. States (dialog_fsm.go):
//
//	          claim              closed
//	open ---------------> answering ----> closed
//	 | ^------------------'   |             ^
//	 |      not sent          | frame removed, or
//	 |  frame removed         | answer not taken
//	 '----------> orphaned <--'-------------' page gone
//
// Who answers, the first rule that applies: a dialog in the way of the agent's own
// navigation is answered at once (agent_navigation; beforeunload accepted); a storm
// (more than 20 since BeginAction, or three that say the same within two seconds)
// is dismissed and counted; else Config.Dialogs. What is left to the agent is
// dismissed by the watchdog after Config.DialogTimeout. An answer is claimed
// before it is sent: of several, one wins, and the others are told by whom.
//
// An orphaned dialog is never answered, by nobody. Measured on Chromium 156, both
// browsers: when a frame is removed while its dialog is open (also one of the page's
// own process whose parent lives in another, a descendant of the removed frame, a
// frame that is moved in the document, or by document.open), an answer ends the whole
// browser process, and in the full browser so does Page.navigate; closing the tab
// hung it. Changing the frame's src does no harm, nor does the end of the frame's
// process. So from then on the page takes no command, Snapshot.Orphaned tells the
// owner to save what still answers (Storage.* at browser level) and to replace the
// browser. The same goes for a dialog whose answer the browser does not take.
//
// In front of an open dialog Page.navigate and Page.reload do harm, too: the
// headless shell goes to the new document without closing the dialog, which leaves
// the renderer stuck or the dialog orphaned. Page answers what is open first, in
// the same batch. A page that goes on asking would have the next dialog in the way:
// Page.MakeWay, before the navigation, answers until the page is quiet, or ends the
// process that asks (a cross-site frame's before its page's: it must not be removed
// while it asks). A renderer that is stuck all the same is ended, which heals the tab.
//
// Ids are d-GENERATION-N and never reused. A print is recorded (Snapshot.Prints):
// headless browsers do nothing else about it.
//
// # Tabs, popups and downloads
//
// An environment has tabs t1, t2 and so on; an id is never used again. All pages
// share one lock and one table of sessions (tabs.go). With PopupsAdopt a window that
// a page opens becomes a tab, up to 16; CloseTab ends one by Target.closeTarget,
// which asks neither its beforeunload nor its dialog. A page that closes itself
// leaves the list; with the last one the environment is at its end.
//
// Otherwise windows, and always downloads, are refused and recorded. A popup that can reach its opener is closed by
// Fetch.enable, runIfWaitingForDebugger and Target.closeTarget sent together:
// closing it while it is paused leaves the opener's renderer hung for more than
// 30 s. One that cannot (noopener) is closed while paused: released, it got a
// request out under load. So the egress proxy is the guard, not this.
//
// A hidden page (OpenHidden) is the one exception. While its creation is under
// way, pages without an opener wait, paused, until the reply tells which is ours.
//
// # Loss
//
// Page crash: pending calls of the session fail with cdp.ErrCrashed, Snapshot.Crashed
// is set, later calls fail at once; Page.navigate and Page.reload revive it. The
// crash of a cross-site frame fails the calls of its session and nothing else.
//
// Freeze: every beat each renderer gets a question that needs its main thread
// (responsive.go). One that is unanswered for 2.5 s makes the page, or the frame,
// Unresponsive, until it is answered; an open dialog is no freeze. Nothing is killed
// for it here: a busy page may have its action's time.
// Page.EndRenderer is the way out that keeps the browser and its other tabs.
//
// Browser loss: the pipe ends, the process exits, its network process dies (Chromium
// starts another, but the context's proxy is forgotten and it reaches nothing any
// more, measured), or two heartbeats in a row
// (Browser.getVersion, every second, one and a half seconds each) go unanswered,
// which is noticed after at most four seconds; then the process group is killed,
// everything pending fails, Done is closed. Silence does not count while the host
// is slow (heartbeat.go): when our own timer was late, or Heartbeat.HostSlow says
// that no CPU is to be had. The deadlines of actions hold all the same.
//
// # Goroutines and locks
//
// The three of the connection (package cdp), one that waits for the process
// (package chromium), and here runHeartbeat, runWatch, runNetworkWatch, one that recovers a page from a dialog
// that was there before (runRecover), and one per answer
// to a dialog that waits for its reply (at most 10 s). Close waits for all. All state about the page
// is changed by the connection's handler, in wire order, under tabs.mu; the lock
// is held for memory operations and for Send, never while something is awaited.
package supervisor
