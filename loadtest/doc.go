// Package loadtest is the load harness: agents that work through a running fleet
// as fast as it answers, and a judgement of whether the fleet kept its promises
// meanwhile. It gets URLs and credentials; it never starts a fleet and imports no
// service. `browserfleet loadtest` is its command.
//
// # A run
//
//	owners (fresh, one goroutine each)              operator
//	  open, observe, fill, click ... ──▶ fleet ◀── Watch: pushes, as they happen
//	  count or time is up                             │
//	  └────────▶ grace: every request answered? ◀─────┘
//	                     │ streams, records, dispatch logs, orphans
//	                     ▼
//	               check.Judge ──▶ Report
//
// Each owner waits for its answer before it goes on, as an agent does that reads
// what it was shown. [Mix] says how often which step is taken; beside plain
// actions there are steps that agents also do and that fleets get wrong:
//
//	pipelined  several actions are sent at the same time
//	resend     a request that was answered is sent again under its id: the stored
//	           answer must come back
//	malformed  a body that is no request, an unknown kind, a bad argument...; what
//	           has no id is awaited by Reattach, and stands in that row
//	cancel     a queued action is cancelled while a slow one runs
//	ping       control, past the queue
//
// # What the latencies mean
//
// They are measured by the agent, from before the publish to the result in hand,
// in HdrHistograms of three digits, and corrected for nothing: the loop is
// closed. While an owner waits for a slow answer it sends nothing, so a stall of
// the fleet is one slow sample of each owner, not one of every request that an
// open loop would have sent meanwhile (coordinated omission). They answer "how
// long does an agent wait", not "how long would a visitor wait". Rate slows the
// owners down; it does not open the loop. Pipelined actions wait for each other,
// and stand in a row of their own.
//
// Errors counts codes by results and by requests without a result. What the mix
// provokes on purpose is counted apart, as provoked.
//
// # What the promises mean
//
// See package check, which has the rules. Without dispatch logs, of a fleet on
// other machines, double dispatches cannot be seen; the report says so.
//
// # What it leaves behind
//
// Owners are named load-RUN-N, with a random RUN, so that two runs never share
// one. Their records and environments stay in the fleet like those of any agent.
//
// # Goroutines and locks
//
// Run starts one goroutine an owner, and one for progress, and waits for them.
// recorder.mu guards the histograms and counts. Every request has a deadline.
package loadtest
