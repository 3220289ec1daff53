// Package natsx is the fleet's way to NATS: connecting, reading and writing
// stored messages, leases, and the settings of the streams. It knows the rules
// that every service must keep when it reads what strangers sent; nobody else
// reads a server's header or builds an API subject.
//
// It knows no request, record or result: it moves bytes.
//
// # Which read
//
//	ReadPush          a republished message: a hint with the payload in it
//	DirectNext, Multi any replica; cheap; may be stale (3.4 ms on a quiet R3
//	                  stream: 119 of 3,000 reads right after the PubAck)
//	LastMulti         a replica that has all that its leader had a moment before
//	LeaderLast, Next  the leader; behind only where it was cut off, leads again,
//	                  and has not applied yet what it missed (a second or two)
//
// What was already answered, and who holds an owner, is asked of the leader.
// "Not found" of a direct read means "not here yet".
//
// # What a publisher can forge
//
// Republishing and Direct Get append the server's headers to the publisher's
// own, and the server checks neither. So (all measured on nats-server 2.15):
//
//   - The publisher's Nats-Sequence, Nats-Subject, Status... come first:
//     Header.Get returns the forgery. The last value is the server's.
//   - A header block with an empty line in its middle hides what the server
//     appends behind it; then even the last value is the publisher's. A block
//     that was not parsed to its end has another length than its canonical
//     encoding: plainHeaders.
//   - A stored "Status: 404" looks like the server's answer, and one of 503 with
//     an empty body is turned into ErrNoResponders by the client. A status is
//     believed only if nothing but a status is there.
//
// Whatever cannot be trusted is read again from the leader, whose JSON answer
// has subject, sequence and time outside the headers. So no publisher can hide
// its message from its holder and block a queue. Message.Header never holds a
// Nats- header.
//
// Subscribe to pushes with a callback or a channel: SubscribeSync's NextMsg
// swallows a message with an empty body and a forged "Status: 503".
//
// # Subjects
//
// A raw client can store the literal token "*". Purging "its" subject empties
// every queue that the wildcard matches (measured). So each token of each
// subject that is read, written or purged must be [A-Za-z0-9_-]; anything else
// is ErrToken. Only SubjectCounts takes wildcards, and it only counts.
//
// # Writes
//
//	CAS      the fence: stored only if the subject's last sequence is the given
//	Create   the first and only message of a subject
//	Publish  a plain store
//
// Each waits for the stream's acknowledgement. What went wrong:
//
//	ErrConflict     refused: another sequence, or taken. Nothing was stored
//	ErrUnavailable  nobody to ask, or the store refused. Nothing was stored
//	ErrUncertain    sent, no answer: it may be stored. Make the same write again
//	                (same nonce); if refused, a leader read tells whose it is
//
// A stream with replicas may refuse a write because another of its subject is in
// flight, the holder's own last one too; CAS asks again until the stream has
// decided.
//
// A write while disconnected fails at once; nothing is kept to be sent later. A
// user without the right to publish a subject gets ErrUncertain: the server
// tells permissions asynchronously, in the log.
//
// # Leases
//
//	         Acquire                 ErrConflict, Release
//	free ───────────────▶ held ─────────────────────────▶ free
//	 ▲                     │ ▲ Renew
//	 └── TTL ends ─────────┘ └─┘
//
// A lease is a key with a TTL of its own, renewed by a raw compare-and-set:
// jetstream's kv.Update drops the TTL, and the lease would never end. The term
// is the sequence of the write that acquired it.
//
// # Goroutines and locks
//
// nats.go's own, which Close ends. Conn has no lock of its own and is safe for
// concurrent use; a Lease belongs to one goroutine. Every call has a deadline:
// its context's, or two seconds.
package natsx
