// Package ownerlog is the messaging protocol of one owner: its record, its two
// queues and its results, as the one who holds the owner handles them. Workers
// hold owners to run their actions; a coordinator holds an owner that nobody
// else can, to answer what is due. Both go through this package, so that there
// is one implementation of the rules.
//
// # What it owns
//
//   - [Holder]: the owner record in memory with its fence. Every write is a
//     compare-and-set; a write that got no answer is repeated with the same
//     nonce; a refused one is settled by a leader read. [ErrFenced] means that
//     somebody else holds the owner: nothing may begin, be written or be
//     answered any more, also if that somebody has let go since.
//   - [Stream]: a record's cursors belong to one stream of requests. Where that
//     was made anew, or restored from an older copy, [Claim] keeps only the ring
//     of finished ids, starts at 0, and the holder has an Alarm. A stream that is
//     made anew under a holder is for [Holder.Resettle].
//   - [ErrBehind]: a leader is believed when it has what the record proves. Else it
//     is asked again for a while, and then nothing is assumed. Of the results the
//     record proves a sequence, that of the owner's newest one: it holds whatever
//     time an id carries, and when the result itself has expired. It is asked for
//     only while the ring is full: before that nothing can have fallen out of it.
//     What cannot be told is not run, and answered all the same ([CannotTell]):
//     the server refuses that answer where there is another, and storing it makes
//     the results known again, also of a stream that was made anew.
//   - [Holder.Start] names a request in the record before anything of it
//     happens, and asks the results' leader in parallel whether it was answered.
//   - [Holder.Answer] creates the one result, and refuses to do so for a request
//     that Start did not name.
//   - [Lane]: a queue in stream order, fed by pushes and repaired by reads. A
//     push is a hint with the payload in it.
//
// # What it never does
//
// It runs no action, knows no browser and no placement, starts no goroutine
// that outlives a call, and decides nothing from a message's headers but the
// server's own.
//
// # Use
//
// A Holder and its Lanes belong to one goroutine. None of them has a lock.
//
//	Claim ─▶ Start(request) ─▶ … the action … ─▶ Answer(result) ─▶ Start(next)
//	                    │                             │
//	                    └── answered before ─▶ Repeat ┴──▶ Flush when idle
//
// The cursor moves in memory with Answer and is written with the next Start, or
// by Flush. A crash between the two is found by the next holder: the record's
// START names a request whose result exists.
package ownerlog
