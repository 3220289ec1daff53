// Package relay is a network between a client and a server on loopback that can
// be cut, healed and slowed down: where network namespaces cannot be made, and in
// tests, it stands for a cable.
//
// It owns a listener, the connections through it, and two counters: how many
// faults hold it, and how many make it slow. It knows nothing of what passes, and
// loses nothing of it.
//
//	moving  <-- Hold(true) / Hold(false) -->  still
//	   |                                        |
//	   +---------------- Close -----------------+--> closed
//
// While it stands still, connections stay open and nothing passes in either
// direction, as with a cable that was pulled out; new ones are accepted (the
// kernel does that) and wait. What was read before goes on its way afterwards. A
// slow relay passes Bandwidth bytes a second in each direction.
//
// # Goroutines and locks
//
// One that accepts, and two a connection. One mutex guards counters and the set
// of connections. Close closes everything and waits for all of them.
package relay
