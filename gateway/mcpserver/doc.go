// Package mcpserver shows an owner's browser to models, as tools of the Model Context
// Protocol.
//
// # What it owns
//
// The tools: their names (browser_ and the kind of the protocol), descriptions,
// schemas and profiles; and the text that a model is answered with. A tool call is a
// request of the protocol: the fleet validates, orders and answers it as any other.
// The browser belongs to the owner, not to the connection: closing one and opening
// another finds the same page, and calls of several connections are run in the order
// in which they are stored.
//
// # A call
//
//	arguments -> known fields? -> request, validated -> fleet -> result -> text, picture
//
// What the model got wrong is a tool result with isError, one line: code, what
// happened, dispatched, what to do next. Only a call of an unknown tool is a protocol
// error. While a call waits, its client is told once in a while (progress).
//
// A call whose client goes away (or cancels) is not undone: it may have had its effect.
// It finishes, and the next answer begins with what became of it.
//
// # What it never does
//
// It keeps no page, knows no secret and no token, and never takes a selector or a
// script. Text of pages is marked as untrusted, in a frame that no page can close.
//
// # Goroutines and locks
//
// Each call has one that waits for its result; Server.Close ends them and waits.
// Server.mu protects the results that nobody was told yet.
package mcpserver
