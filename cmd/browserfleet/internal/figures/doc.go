// Package figures measures what the fleet promises to be able to do: how soon
// another worker answers, what the fleet adds to an action, how many actions one
// server carries. `browserfleet bench` is its command, docs/benchmarks.md says how
// to read what it prints.
//
// # A figure
//
// Each figure starts fleets of its own (package devfleet: real processes on this
// machine, in a folder that is removed), does one thing to them again and again,
// and returns rows. A row is one quantity with its bar: the median over repeats,
// and the least and the most of them. No figure depends on another one.
//
//	lost         SIGKILL to the holder; the owner's next action is answered
//	lost-chrome  the same with a real browser that has a checkpoint
//	move         the holder is drained while the environment is idle
//	added        an action through the fleet, over the same one called in process
//	rate         as many actions a second as it takes
//	many         50,000 owners, 5,000 of them active, beside 100 at the same rate
//	burst        SIGKILL to a worker of 100 owners that all have queued work
//	dialog       a page asks, the agent has the dialog, answers, and the page goes on
//	late         a page loops without an end; its action's answer after its budget
//	died         SIGKILL to a browser; its environment answers again, from the checkpoint
//	wedged       the frame of an open dialog is removed, and the browser replaced
//
// # How time is taken
//
// By the agent: from the moment at which a request is due to its result in hand.
// Where a rate is given the loop is open: a request is sent when its time has
// come, whether or not earlier ones were answered, and what it waited because the
// harness was late counts. Without a rate each owner waits for its answer: that
// measures how much goes through, and its latencies mean little.
//
// Samples are kept whole; a quantile is the sample of that rank, nothing is
// interpolated. p99 of few samples is nearly their greatest: the table says how
// many there were.
//
// # What it does not do
//
// It judges no promises: `browserfleet loadtest` and `chaos` do. It asserts
// nothing in tests; a bar that was missed makes the command's status 1. Figures
// of a busy machine are worth nothing, so the load at the start is printed.
//
// The 45,000 sleeping owners of "many" are written as records, as hibernation
// leaves them, and never acted: what they cost while they sleep is the question.
// The 5,000 active ones acted through the fleet.
//
// # Goroutines and locks
//
// runPaced, runFlat and runEach start goroutines and wait for them. tally.mu guards the
// samples. The collector's server ends with its stop.
package figures
