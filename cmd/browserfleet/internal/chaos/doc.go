// Package chaos hurts a fleet of real processes for a while and judges whether it
// kept its promises. `browserfleet chaos` is its command, `make chaos` runs it.
//
// # The fleet
//
// Three NATS servers hold every stream three times; two coordinators, four
// workers with the simulated browser, one S3 store. Agents of two tenants (package
// loadtest) work through it from outside, and are never hurt themselves.
//
//	host  runs                  reaches
//	n1    server-1, worker-1    worker-1 knows its own server only
//	n2    server-2, worker-2    worker-2 knows its own server only
//	n3    server-3
//	w3    worker-3              every server
//	w4    worker-4              every server
//	c1 c2 coordinator-1, -2     every server
//	hub   store, agents, the checker
//
// So a cut of w3 is a worker alone, and a cut of n1 is a worker together with its
// server, which still answers its pings and can store nothing.
//
// # The schedule
//
// [Plan] makes all faults from the seed before anything starts: the same seed,
// length and kind of network give the same schedule. What the fleet makes of it
// also depends on the machine, so a seed is a strong hint and no proof.
//
//	kill    SIGKILL; the process is started again after a while
//	pause   SIGSTOP; SIGCONT after a while: what it then does, a zombie does
//	cut     a host reaches no other and is reached by none
//	part    two hosts do not reach each other, and reach everyone else
//	slow    a host sends through a narrow link
//
// A fault may be aimed at whichever server leads a stream when it begins. A part
// of the fleet has one fault at a time, and so have the servers together, so that
// a quorum is left; but now and then all servers are killed at once. All is mended a while before the end: then every stored
// request must be answered.
//
// # Networks
//
// Namespaces: the program starts itself again through unshare(1), in a network,
// mount and process namespace of its own, as root or (with a user namespace)
// without it. There every host is a network namespace at one bridge. A cut takes
// the host off the bridge, a part is a route that swallows packets at both ends,
// and slow is tc's token bucket (netem is not in every kernel). When the first
// process of the process namespace ends, however it dies, the kernel ends all
// others, and with them the namespaces go.
//
// Relays: where namespaces cannot be made, everything listens on 127.0.0.1, and
// each host reaches each other one through a relay in this process (internal/relay)
// that can stand still or slow down. Connections then stall and never meet a reset
// from a kernel, and what the servers gossip about each other is hidden from them.
//
// # What is judged
//
// loadtest/check has the rules. Besides, a process that ends by itself is a
// finding, and so is one that is left at the end.
//
// # Goroutines and locks
//
// Run is the conductor: it alone touches processes and network. It begins when
// each tenant's agents have their first answer, and the run ends when every stored
// request has its own: how fast the machine is decides how long that takes, and
// nothing else. Each process has a goroutine that waits for its end; the agents'
// runs have one a tenant. Relays have their own, with one mutex a relay.
package chaos
