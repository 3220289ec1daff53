// Package cdptest is the other end of a DevTools connection: a browser that
// follows a script, three ways to be connected with it, and the one suite that
// every carrier passes.
//
// # Parts
//
//	Browser   reads commands from a carrier; a Script answers, keeps silent,
//	          sends events or goes away
//	Echo      the script of a browser that works: it answers each command with
//	          its parameters, but for the domains Never, Fail and Gone
//	Pair      makes two connected carriers; Pipe, WebSocket and Memory are the
//	          pairs there are
//	Run       the suite: first a carrier by itself, then a cdp.Conn over it
//
// # Which pair
//
// Pipe and WebSocket are what the supervisor uses, over the kernel's pipes and
// sockets. Memory is for tests in a bubble of testing/synctest, whose clock
// stands still only for goroutines that wait for one another and not for a file.
// It passes the same suite, so what a test in a bubble finds out about time is
// true of the others too. BubbleSocket is a WebSocket over a net.Pipe, for the
// one timer that a carrier has itself.
//
// # Goroutines
//
// Start begins one, which reads commands and runs the script for each of them; so
// a script that blocks is a browser that no longer reads. Close ends the carrier
// and waits for it. The other methods may be called from any goroutine, but
// messages come in an order only from one.
package cdptest
