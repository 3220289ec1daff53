// Package worker is a process that holds owners and runs their environments. It
// owns which environments live here, the contact with the servers, the
// heartbeats, and the drain. What happens inside an environment is package
// environment's; browsers come from a Launcher.
//
// # What it never does
//
// It decides nothing about placement: an assignment names an owner and a fence,
// and the environment reads the record itself. It never keeps an owner because
// of a clock: only a write of the owner's record says whose it is.
//
// # Life
//
//	up ── SIGTERM, command, preemption ──▶ draining ── every owner handed over ──▶ ended
//	                                           └── deadline: the rest is named and closed
//
// A draining worker is a lame duck: it takes no owner, begins no action, and says
// so in its heartbeats. DrainTimeout is divided: actions that run may end by
// themselves; when ten seconds (or half of the time, if that is less) are left
// they are stopped and answered; until shortly before the end an environment whose
// state cannot be saved is tried again. Then its record is let go all the same, so
// that another worker can take it (with the newest checkpoint), and the owner is
// named: in the log's last word, by Unsaved, and in the count not_saved. It makes
// no difference whether there is another worker.
//
// # What it takes
//
// Three things: contact, readiness, admission. Ready in a heartbeat means contact
// and that a browser was opened here whose page computed something, and that not
// the last three starts failed. Full means ready, but short of memory or CPU
// (Admission). Either way Why says why, new owners are refused, and those that it
// has go on.
//
// A browser that asks for it (Tired) is replaced when nothing runs and nothing is
// queued, with its state; the agent is told "recycled".
//
// While contact is lost (no PONG for two seconds, or no stored write for twelve)
// every environment is suspended: nothing is dispatched, its proxy forwards
// nothing, browsers stay. When contact is back each environment writes its
// record: still ours, it goes on; refused, its browser is closed.
//
// Questions about an owner's life (leases, close, delete, control) go to its
// environment's loop, which answers when it can. What is kept of a deleted owner
// is removed here, when a coordinator asks: workers have the store.
//
// # Goroutines and locks
//
// Run owns six loops (pings, writes, watch, reconnects, heartbeats, streams), a seventh where a file
// announces preemption, and one goroutine an
// environment; it waits for all of them. mu guards the map of held
// environments; nothing waits while holding it.
package worker
