// Command schemagen writes what derives from the wire contract's Go types: the
// JSON Schemas in protocol/schema and the error table in docs/errors.md. Run it
// from anywhere in the module:
//
//	go run ./internal/schemagen          write the files
//	go run ./internal/schemagen -check   say which files differ, and fail
//
// The Go types of package protocol are the source; nobody edits a generated
// file. A test of this package fails while a committed file differs from what
// the types say, so a changed field and its schema arrive in one commit, and a
// reviewer sees in the schema's diff what a change means on the wire.
//
// # What the schemas promise
//
// Each file is a self-contained JSON Schema (draft 2020-12) of one message:
// bodies of requests, results, events, owner records, heartbeats and the service
// messages. They describe what a sender may send, not more: unknown fields are
// allowed everywhere, because a receiver ignores them. A field is required when
// its Go tag has no omitempty.
//
// request.json goes further than the type Request, whose args are raw JSON: for
// each kind of the effect table it says which args belong to it, and asks for
// element_ref where the kind cannot do without an element.
//
// Descriptions are the doc comments of the Go fields. Enumerations are written
// down in enums.go, because Go does not know the constants of a type; a test
// reads the source of package protocol and fails when a constant is missing
// there.
//
// # What it never does
//
// It opens no network connection, starts no goroutine and writes nothing outside
// the module. The service binary does not import it.
package main
