// Package objectstore is browserfleet's only door to S3-compatible storage. It
// wraps minio-go for the two things that live there: checkpoint manifests
// (write-once, guarded by a conditional PUT) and artifacts (screenshots,
// downloads).
//
// # What it owns
//
//   - Store: a client for one bucket and one key prefix, with a deadline on
//     every call and few retries.
//   - Memory: the same contract in memory, for tests and for fault injection.
//     Both pass the suite in objectstore/storetest.
//   - the error classes that callers branch on: ErrNotFound, ErrExists,
//     ErrUnavailable, ErrDenied, ErrAmbiguous, ErrUnsupported, ErrTooLarge.
//
// It never interprets a body, never encrypts, and never decides whether a slot
// may be taken: see package checkpoints for that.
//
// # The contract of PutNew
//
// PutNew is the one primitive on which the single-holder promise rests: of any
// number of concurrent calls for a key, one succeeds.
//
//	nil                           the object is stored and is ours
//	ErrExists                     the key holds an object. It may be the caller's
//	                              own: a server that commits and then resets the
//	                              connection makes minio-go send again, and the
//	                              second answer is 412 (measured on minio-go 7.4.1)
//	ErrAmbiguous+ErrUnavailable   the answer was lost; the object may be there
//	anything else                 nothing was stored
//
// So a caller reads the key back after ErrExists and after ErrAmbiguous, and
// recognises its own write by a nonce in the body.
//
// # Traps of minio-go 7.4.1 that this package closes
//
//   - conditional headers are dropped on multipart uploads: every PUT here is a
//     single part (DisableMultipart) with a known length;
//   - a body that cannot seek is tried once: bodies are []byte;
//   - 409 ConditionalRequestConflict (AWS: two conditional writes at once) is
//     not retried: it is here;
//   - a GET is never resumed and a truncated body is the caller's problem: Get
//     reads the whole object, checks the length and asks again, up to 3 times;
//   - there is no time-out of its own: deadlines are 5 s + size / 1 MB/s.
//
// A flipped bit in a GET body is returned without an error; integrity beyond
// the length belongs to the caller (checkpoints authenticates every byte).
// Trailing checksums are off: versitygw 1.8 answers 400 to them over http, and
// other servers store the framing as content. Content-MD5 is sent instead.
//
// # Start-up probe
//
// A store that ignores If-None-Match lets two workers own one environment.
// Probe writes a fresh key twice; the second write must be refused, or Probe
// returns ErrUnsupported and the service must not start.
//
// # Goroutines and locks
//
// The package starts no goroutine of its own; minio-go's are bound to the
// call's context, and Close ends idle connections. Store is safe for
// concurrent use. Memory has one mutex, which protects its map.
package objectstore
