// Package demo drives a fleet as an agent would, and shows what happened: it
// starts one on free ports in a temporary folder, with the bundled shop, works in
// it through NATS alone, kills the worker that holds the environment, and goes on
// on another worker with what survived.
//
// # Steps
//
//	open, observe, search, result, login, extract, screenshot, kill, account
//
// A step is a goal, not a script: it looks at the page that it was shown last and
// does what leads on from there. When an answer says that the page may be another
// one (outcome_unknown, generation_changed, stale_ref and the like), the agent
// observes and takes the step again from what it sees, at most attempts times. So
// it never repeats an effect blindly: after a login whose outcome is unknown it
// looks whether it is signed in.
//
// # Verdict
//
// Run returns nil only if every step reached its goal, the environment came back
// on another worker, still signed in, with a fidelity report; no effect was
// dispatched twice (by the workers' dispatch logs) and the shop counted no more
// sign-ins than were sent; and, after the fleet was stopped, none of its processes
// and no profile folder is left.
//
// # Faults for tests
//
// [Kill] ends a child of the fleet with SIGKILL when a step begins, or some time
// after; nats, store and coordinator come back by themselves, workers do not.
//
// # Many owners
//
// failover_test.go uses the same agents for many owners at once, whose workers are
// killed in turn: `make failover`.
//
// # Goroutines
//
// A late kill is a goroutine of its step, which waits for it.
package demo
