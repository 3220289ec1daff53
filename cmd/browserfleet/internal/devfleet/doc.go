// Package devfleet is a whole fleet on one machine: `browserfleet dev`, the demo
// and the load harness' embedded fleet. It starts nats, store, coordinator and
// workers as child processes of this very program, restarts what dies, and ends
// everything it started.
//
// # The data folder
//
// Everything is in one folder, ~/.local/share/browserfleet unless told otherwise:
//
//	lock                held (flock) by the dev that runs
//	fleet.json          where the running fleet listens; no secret in it
//	secrets/            0700; one file a secret, 0600, made once
//	nats/               nats.conf (0600: it holds passwords) and JetStream's files
//	store/              the S3 store's objects
//	scratch/            running browsers' profiles and process records
//	logs/NAME.log       one file a child; NAME.log.old is the run before
//	client/             what the client verbs remember (package cli)
//
// Removing the folder while nothing runs removes everything that there was.
//
// # Children
//
//	starting ── ready ──▶ running ── dies ──▶ waiting (0.2, 1, 5 s) ── again ─▶ running
//	    │ dies               │ Stop                │ Stop
//	    ▼                    ▼                     ▼
//	  failed               ended ◀─────────────────┘
//
// A child that dies before the fleet was ready once is an error of Start, with
// the end of its log. Later nats, store and coordinator are always restarted,
// workers unless Options.KeepDeadWorkers. Each has a process group of its own, so
// that a terminal's Ctrl-C reaches dev alone, which then stops them in order:
// workers (they drain), coordinator, store, nats. What does not end in time is
// killed.
//
// All children read standard input from one pipe whose other end only this
// process has: they end when this process does, whatever it dies of. A new dev on
// the same folder sweeps what browsers left.
//
// # Goroutines and locks
//
// Start begins one goroutine a child (runChild); Stop waits for all. A child's mu
// guards its process. Nothing waits while holding it.
package devfleet
