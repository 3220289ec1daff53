// Package check judges what a fleet did, from what it left behind: it reads the
// streams and the workers' dispatch logs, and says which promises were broken.
// The load harness uses it, and so does every test that hurts a fleet.
//
// # What it owns
//
// The evidence, and the rules that turn evidence into a verdict. [Judge] is
// pure: the same evidence gives the same verdict, and forged evidence shows that
// each rule bites. What gathers evidence stands beside it:
//
//	Ledger          the requests that were stored: what publishers know (a PubAck,
//	                a result), completed with what Watch saw and BF_ACT still holds
//	                (a publisher that got no answer cannot tell)
//	Watch           the pushes on bf.push and bf.done, as they happen
//	ReadDispatches  the dispatch logs
//	Gather          waits until all is answered or the grace is over, then reads
//	                the results (BF_RES) and the owners' records (BF_OWN)
//
// Queues are purged by the persisted cursor, so BF_ACT alone cannot tell what
// was stored: the ledger can.
//
// # The rules
//
//	lost               a stored request has no stored result after the grace
//	second_results     a request has two different results, whether stored, under
//	                   two names, or pushed; or its result was pushed twice
//	                   without the header Bf-Repeat
//	reordered          in the order of epochs, and of the log within one, an owner's
//	                   dispatches are not in stream order; or one epoch has two
//	                   workers; or an action was dispatched before the one before
//	                   it had ended; or results of the queue were not stored in the
//	                   order of their requests (a cancel may answer ahead)
//	double_dispatched  a write was dispatched twice, or dispatched and answered
//	                   dispatched=no, or dispatched after its result was stored,
//	                   unless that says outcome_unknown (a holder that was paused
//	                   after START may land the one effect that was answered so);
//	                   a read was dispatched more than twice
//	orphan_processes   whatever the caller's search found
//
// A read that was in flight when its holder died is dispatched once more; that
// breaks nothing. Neither does a result that nobody asked for: a publisher may
// have died before it could say what it stored. Such things are notes.
//
// # Clocks
//
// Two rules compare clocks: a dispatch with the server's store time of its
// result, and a dispatch with the end of the action before. Evidence.Skew is how
// far two clocks may differ, and is subtracted in the fleet's favour. Everything
// else is by sequence and epoch.
//
// # What it never does
//
// It writes nothing, and does not know how a fleet is made: it gets a connection
// to the fleet's account and the paths of files. It imports no service.
//
// # Goroutines and locks
//
// None of its own. Watch's callbacks run on goroutines of its connection and write
// into the Ledger, which has one mutex. Every wait is bounded by the context or
// the grace.
package check
