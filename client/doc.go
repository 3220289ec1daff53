// Package client is the Go SDK: it sends requests of agents to the fleet over
// NATS and waits for their results. The command line, the demo and the load
// harness use it; so can any program that has a tenant's credentials. It knows
// the wire contract (package protocol) and nothing of the fleet's inside.
//
// # What it owns
//
//   - [Client]: a connection of a tenant's user. It comes back by itself, for ever.
//   - [Owner]: a handle on one environment, with one subscription on done.O.>.
//   - [Operator]: a connection of a user of the fleet's own account: workers,
//     all owners, drain.
//
// # A request's way
//
//	          act.O.q                 done.O.R
//	publish ───────────▶ acknowledged ────────▶ result
//	  ▲  │ no answer        │   │
//	  │  └── again, same id │   └ 2, 4, 8, 15 s without one, or a reconnect:
//	  │                     ▼                 ask fleet.result
//	  └──── not_stored ── asked ── answered ──▶ result
//	                        │ queued, running: go on waiting
//
// Publishing again is safe because the id stays: the fleet answers an id once,
// and the copy with the stored result. Once a publish got no answer, a later
// refusal (a full queue, say) proves nothing any more, so fleet.result is asked
// before the refusal is believed.
//
// A message on done.O.R counts only if its last Nats-Stream header names a
// BF_RES stream (the server adds that header after every header of a publisher)
// and its body names this owner and this request. A neighbour of the same tenant
// can make the server send other things there, by naming the subject as a reply
// subject. Those, and results that are pushed again, are a hint at most: to ask
// fleet.result, at most once a second.
//
// # What comes back
//
// Where there is a result, it is returned with a nil error, whatever its status;
// [Err] turns a status other than ok into an error. Without a result the error
// is a [*NoResult], which holds a *protocol.Error (errors.As finds it), the
// request's id, with which [Client.Reattach] goes on waiting from anywhere, and
// the context's cause where it was the context that ended.
//
// Cancelling the context ends that wait only. [Client.Cancel] cancels the action.
//
// Every wait ends: without a deadline in its context a request is waited for as
// long as the fleet may take to answer it (queue deadline, run budget, opening).
//
// # Traces
//
// Each request carries W3C trace context. Without a tracer provider in the
// process, [WithTrace] makes ids all the same, so that the fleet's logs can be
// searched for the id that the client printed.
//
// # What it never does
//
// It never sends an effect a second time under another id: whether that is right
// is the agent's decision. It never logs arguments, results or passwords. It
// starts no goroutine of its own; those of its NATS connection end with Close.
//
// # Locks
//
// Client.mu guards the map of owners, Owner.mu its waiting requests. Nothing
// waits while holding either.
package client
