// Package protocol is the wire contract of the fleet: ids, subjects, streams,
// requests, results, observations, the owner record and the error table. It
// imports the standard library only, does no I/O, starts no goroutine and keeps
// no state. Whatever crosses a process boundary has its type here.
//
// # A request's way
//
// An agent publishes a [Request] on act.O.q (actions) or act.O.c (control). The
// server stores it in BF_ACT and pushes it to the owner's holder. The holder
// names it in the [OwnerRecord] (START), runs it, creates its [Result] in BF_RES
// and moves the cursor. The server refuses a second result, and republishes the
// first to done.O.R.
//
// [Admit] gives every stored message, also a malformed one, the one name under
// which it is answered.
//
// # The owner record
//
// Who may write a transition, and who may create results in a state:
//
//	from         event      to          written by          answers here
//	(none)       assign     assigned    coordinator         nobody
//	none, unassigned, hibernated
//	             acquire    unassigned, hibernated as before
//	                                    coordinator         nobody
//	unassigned   assign     assigned    coordinator         nobody
//	none, unassigned, moving, hibernated; assigned to a dead worker
//	             answer     answering   coordinator         that coordinator
//	answering    let_go     unassigned  that coordinator
//	assigned     progress   assigned    the named worker    the named worker
//	assigned     release    moving      the named worker
//	assigned     assign     assigned    coordinator, when the worker is gone
//	assigned     hibernate  hibernated  the named worker    nobody
//	hibernated   wake       assigned    the worker that hibernated it, if nobody wrote since
//	assigned     unassign   unassigned  the named worker, when an ephemeral one ends;
//	                                    coordinator, when the worker is gone and the
//	                                    owner was idle
//	moving       assign     assigned    coordinator         nobody
//	hibernated   assign     assigned    coordinator         nobody
//	unassigned, assigned, moving
//	             fail       failed      holder, coordinator
//	failed       progress   failed      coordinator         that coordinator
//	failed       reset      unassigned  coordinator
//	assigned     delete     deleted     the named worker
//	unassigned, moving, hibernated, failed
//	             delete     deleted     coordinator
//	deleted      progress   deleted     coordinator         that coordinator
//
// moving and answering older than five seconds count as unassigned: their
// holder died. assigned has no time-out of its own; its worker's heartbeats are
// it. The diagram:
//
//	            assign                release
//	unassigned ────────▶ assigned ──────────────▶ moving
//	   ▲  ▲  │ answer     │  │  ▲  ◀──────────────  │
//	   │  │  ▼            │  │  │      assign
//	   │  answering       │  │  └──────── hibernated
//	   │                  │  └─ hibernate ───▲
//	   └── reset ── failed ◀── fail
//
// Every write is a compare-and-set on the last sequence of the record's subject
// (the fence) and carries a new nonce. A write that got no answer is repeated
// with the same nonce; if it is refused, a leader read tells whose record stands
// there: our nonce, it was us; anything else, the owner is lost.
//
// No result is created before its writer has written a START that names the
// request, and whoever finds a START without a result never runs that request
// again (a read: once more). So a holder that was replaced while it was paused
// cannot answer, or run, what its successor runs.
//
// # Leases
//
// An agent's lease ([ClientLease]) and a person's ([ControlLease]) are in the
// record. While a worker holds the owner it alone writes them, asked on
// bf.ctl.WORKER.holder; else a coordinator does. A lease is renewed by any action
// of the owner. The end of the last one hibernates the environment as soon as
// its queue is empty; an ephemeral one ends.
//
// # How things end
//
//	what happened                        status           dispatched  verdict
//	it worked                            ok               yes         what the page did
//	refused by checks                    error            no          refused
//	time-out before dispatch             error            no          refused
//	time-out after dispatch              error            unknown     unknown
//	cancelled while queued               cancelled        no          refused
//	interrupted while running            outcome_unknown  unknown     unknown
//	the page could not be read after it  ok, warning      yes         unknown
//	the page crashed under it            error            unknown     unknown
//	the browser died under it            outcome_unknown  unknown     unknown
//	its worker died or was fenced        outcome_unknown  unknown     unknown
//	waited longer than its deadline      expired          no          refused
//
// # Versions
//
// Every message carries v, the major version. An unknown one is refused;
// unknown fields are ignored, so that fields can be added.
package protocol
