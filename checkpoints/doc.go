// Package checkpoints keeps the state of environments in an object store, so
// that they outlive their machines: an encrypted, write-once manifest object
// per checkpoint, taken over by the next holder, verified byte for byte.
//
// # What it owns
//
//   - State: cookies, localStorage by storage key, tabs; its digest.
//   - Store: Load (the newest manifest that verifies), Seal (take over),
//     Collect (delete old ones), Slots, Verify, Erase.
//   - Handle: a holder's right to write; Commit.
//   - Keyring: the keys that wrap each manifest's key.
//   - FidelityReport: what an agent is told after a restore.
//
// It never touches a browser (checkpoints/capture does), never decides who the
// holder is (the owner record does: Writer.Confirm), never decides which actions
// run (LastAction is evidence), and never logs: its errors hold sequence
// numbers, sizes and stages, no origins and no part ids.
//
// # Objects
//
//	v1/ENV/m/SEQ    a manifest; ENV is a hash (EnvID), SEQ has 20 digits
//
// The newest is the highest SEQ; there is no pointer to it, and no metadata,
// ETag or versioning of the store is relied on. An object is
//
//	header (JSON, one line, at most 4 KiB) LF
//	body    header.body_len bytes: AES-256-GCM(zstd(JSON)), AAD = the header's line
//	inline  header.inline_len bytes: the parts' AES-256-GCM(zstd(JSON))
//
// A box of AES-256-GCM is a 96-bit random nonce, the text, the tag. The body's
// key is fresh per object and stands in the header, wrapped by a key of the
// keyring with AAD (env, seq, epoch): an opened key vouches for the epoch. A
// part's key is fresh per part and stands in the body; its AAD is (env, part
// id), so unchanged bytes are carried from checkpoint to checkpoint without
// being encrypted again. Lists in an AAD are length-prefixed.
//
// Schema rules: a reader refuses a schema or min_reader_schema above its own
// (ErrSchemaTooNew), ignores unknown fields, and carries parts of unknown kinds
// on unread. Where.Blob is reserved for parts that are objects of their own.
//
// # Writing
//
// A commit is one conditional PUT of the next slot (If-None-Match: *). A
// takeover is a seal: Load, Confirm, conditional PUT of the next slot with the
// next epoch and the same parts. After it, an earlier holder's commit finds its
// slot taken by a later epoch and is fenced. The slot machine, for both:
//
//	          seal begins                 commit begins
//	              v                            v
//	refused <- confirming --confirmed--> writing --stored--> done
//	   v          ^                      |  ^  ^
//	 fenced       | listed    taken,     |  |  | vacant (the PUT was lost)
//	   ^          |           unanswered v  |  | earlier (an own lost write: next slot)
//	   |      relisting <--foreign-- reading --ours--> done
//	   +--later---+-----------later-----+
//	                      (any of them) --broken--> failed
//
// After every 412 and every lost answer the slot is read back and recognised by
// writer_id and commit_nonce, since a store may commit and then drop the
// connection. List comes before Confirm and Confirm directly before the PUT:
// a rival that became the holder after our Confirm lists after our listing, so
// it aims at our slot or above, and one slot has one winner. A failed write
// leaves the handle usable; fenced is for good.
//
// A handle that has not written for 5 minutes also looks above its new slot,
// because Collect may by then have freed a slot that another holder had taken.
//
// # Reading
//
// Newest first, everything verified before any of it is used. Past a damaged
// manifest, and past a burned one (its epoch is lower than that of an earlier
// slot), the reader falls back, and says so in Loaded.Skipped. It never falls
// back past a store that fails, a key that is missing or a newer format, and
// never to an empty browser.
//
// # Goroutines and locks
//
// None. Store is safe for concurrent use; a Handle belongs to one goroutine.
package checkpoints
