// Package devstore is the S3 store that `browserfleet dev`, the demo and the
// tests run: versitygw 1.8 over a folder, bound to a loopback address.
//
// # What it owns
//
// Run: the gateway of one folder, from start to stop. The folder holds
//
//	objects/   one directory a bucket, one file an object
//	meta/      only where the file system has no extended attributes: the
//	           metadata that otherwise lives in them
//
// It never chooses credentials (its caller keeps them in a 0600 file) and never
// serves production: versitygw's posix backend does not fsync, so a power cut
// may lose what was acknowledged. A killed process loses nothing (objects are
// published by linking a finished temporary file).
//
// # Always in a child process
//
// versitygw calls os.Chdir on the whole process and allows one instance a
// process, so Run belongs into a re-exec'd child of our own binary; every path
// it is given is made absolute first. StartForTest's equivalent for tests is
// testkit.Store.
//
// # Why this server
//
// Of the stores that can be embedded it alone was correct under 50 concurrent
// conditional writers, checks signatures and Content-MD5, publishes
// atomically, and survived kill -9 in the middle of overwrites. Traps: trailing
// checksums over http are answered with 400; SSE-C is accepted and ignored;
// conditional deletes are racy. internal/objectstore uses none of them.
//
// # Goroutines
//
// Run starts one goroutine for the gateway and returns only after it ended. The
// gateway stops when Run's context does.
package devstore
