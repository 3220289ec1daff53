// Package coordinator places owners on workers, and answers for owners that
// nobody holds. Several coordinators may run: a lease names one leader a shard,
// and a second leader is harmless, since every assignment is a compare-and-set
// of the owner's record.
//
// # What it owns
//
//   - The registry: workers by their heartbeats. Five missed ones make a worker
//     suspect, an unanswered question makes it gone, a word of it makes it up:
//
//     up ── missed ──▶ suspect ── no_answer ──▶ gone
//     ▲ ◀─── heard ─────┘                        │
//     └────────────────────── heard ─────────────┘
//
//   - A leader's loop a shard: its view of the records, the requests seen, and
//     at most one job an owner at a time.
//
//   - The life of owners: acquire, release, close, delete, reset, and a person's
//     control. Where a worker holds the owner it is asked, since only the holder
//     writes the record; else the record is written here. Each waits in a
//     goroutine of its own, 512 at most, until its deadline.
//
//   - The line: owners that wait for a worker, for a request or for an acquire.
//     Each tenant has a queue in it, and the tenants take turns, so a flood delays
//     its own tenant only. Who was tried and fitted nowhere is parked, and keeps
//     its place, until a worker has room again:
//
//     none ── join ──▶ waiting ── turn ──▶ called ── leave (placed) ──▶ none
//     ▲  ▲                  ◀─── back ───┘│
//     │  └─ retry ── parked ◀── unfit ────┘
//     └───────────── leave, from anywhere: it wants no worker any more
//
//     Room is kept for who is called. That something else is done for an owner
//     meanwhile (what is due of it is answered) changes nothing about its place:
//     it is placed when that is done.
//
//   - Quotas: what tenants may use (bf_policy, key tenant.T.quotas, watched),
//     against what they use of all shards.
//
//   - The services fleet.result, fleet.describe, fleet.list and bf.ops.*, from
//     leader reads, in a queue group: any coordinator answers them. Lists come from
//     any replica that has what the leader had when the question came.
//
// # What it never does
//
// It never runs an action, and never decides by its view alone: a job begins
// with a leader read, and ends with a write that the server may refuse. Its view
// can be lost at any time; the streams hold everything.
//
// # Placement
//
// Connected, eligible and draining are three things: a worker may be there and
// take nobody (not ready, full, it refused an owner), and one that drains hands
// over what it has. Among the eligible that have the tenant's labels and the
// owner's required capabilities, the most points win: free slots, memory, CPU,
// and having held the owner last (choose, which is pure). A worker is counted as
// taken before the next owner chooses. Who let go of an owner a moment ago does
// not get it back before its heartbeats have said why. What a worker refuses, also
// later, when it turns out not to hold it, is taken back; silence takes back
// nothing, until the worker is gone. While several workers that died together are
// about to come back, their idle owners are spared for a moment: they would all go
// to the few that are left, and stay there.
//
// bf.ops.leader.explain tells the last
// decision with all scores, the queue, and what the owner waits for; decisions
// live in the leader's memory and end with it.
//
// # Backpressure
//
//	what                                       answer            status   when
//	over the tenant's owners, environments,
//	or queued bytes                            quota_exceeded    error    at once
//	more than MaxWaiting of the tenant wait    no_capacity       error    at once
//	nobody took the owner in time              no_capacity       expired  at the queue deadline
//
// All are results of stored requests, with retry_after_ms and position. An owner
// without a record gets none by being refused: these are the only answers without
// a START, see refuse. Queued bytes are not held against who waits already, nor
// against owners that a worker holds: those are bounded by 64 requests a lane.
// What other shards use is known as their leaders last said it, so a quota over
// several shards can be passed by what they take within a second.
//
// # Several coordinators
//
// Each says every second which shards it leads, with the tenants' usage (bf.crd.ID,
// core NATS). Nobody takes more than its part of the shards while others live,
// and whoever has more gives one away every three seconds; a shard that nobody
// leads for five seconds is anybody's. Quotas are read before leading.
//
// # What workers hold
//
// Heartbeats carry, for each shard, the number and a digest of the worker's
// (owner, epoch) pairs; the shard's leader compares them with its view. A
// difference that lasts is listed with the workers, and the worker is asked for
// its list: what it lost, or knows under an old epoch, it is assigned again;
// what it holds without a record, it is told to confirm by writing the record,
// which decides.
//
// # Level, not edge
//
// Pushes, written records and silent workers make the leader look at an owner at
// once. Every five seconds it looks at all of them, whatever was pushed: it
// wakes owners whose queue holds more than their cursor, repeats assignments
// that may not have been heard, takes moving and answering records that stand
// still for unassigned, and purges what the persisted cursors say is answered.
//
// A coordinator that has just started finds the owners that the fleet's last run
// held, of workers that it never heard of. Those with work, a lease, control or an
// action under way are placed at once; the idle ones are let go, and their next
// action opens them. Owners of a worker that was lost while this coordinator ran
// are all placed at once.
//
// What the stream of requests says of itself is believed unless it is less than
// what is known (the view's cursors, the last look): then a purge that removes
// nothing proves how far the stream is. Before that nothing is purged by it.
//
// # Goroutines and locks
//
// Run owns one goroutine each for suspicion, beats and quotas, and two a shard
// (lease, loop); jobs run in goroutines that the loop waits for, at most sixteen
// at a time, and questions of agents and operators in theirs, at most 512. The registry, the peers and the quotas have a mutex each; a loop's
// state (view, line, usage, decisions) has one owner.
package coordinator
