// Package environment is one owner's live environment on a worker: the holder of
// its record, its two queues, its browser and its checkpoints.
//
// # States
//
//	            opened             begin
//	Opening ─────────────▶ Idle ─────────────▶ Running
//	 ▲ ▲  │ open_failed    │  ▲ ◀────── end ──────│
//	 │ │  ▼                │  └─ hand_back ──┐    │
//	 │ │ Unavailable       ├── take_over ─▶ HumanInControl
//	 │ └──┘ retry          │                 │    │
//	 │                     │                 │    │
//	 └──────────────────── lost ─────────────┴────┘
//
// release leads from every state but Running to Closing: an action that runs is
// waited for, and what arrives in Closing changes nothing. gone leads from every
// state to Closed.
//
// # One loop
//
// Run is an event loop and the only writer of the record. Everything that can
// take long runs in a child goroutine that ends by sending one event: opening
// the browser, and running an action. So lane c (cancel, interrupt, ping) is
// served while both go on. Children that need the record written (the START
// again before a dispatch, the generation before a seal) ask the loop.
//
// # The gate
//
// An action passes, in order: START in the record; the leader's word that it was
// not answered before; the checks that need no page; the browser's own checks;
// then dispatch: a server heard us within the last second (else the record is
// written again), and the dispatch log has the line. Only then may anything
// reach the page.
//
// # After a loss
//
// A new holder writes its claim, reads lane c to its end, loads the newest
// checkpoint, writes the generation into the record, seals, and opens a browser
// with the state. A START of the former holder without a result is answered
// outcome_unknown with the page as it is now (a read is run once more). Requests
// stored before the agent was told of the restore, and that depend on the page,
// are answered generation_changed.
//
// # Deaths
//
// Whoever finds a death counts it in the record: the loop sees its browser die;
// a new holder finds a START without a result, or a record whose environment was
// being opened. An idle neighbour of a worker that dies has neither. A START is
// counted once. After the first death of its browser the next opening waits 1 s,
// after the second 5 s; an owner whose worker died is opened elsewhere at once the
// first time. The third death within ten minutes without a completed action
// between them fails the owner, and a coordinator answers environment_failed. An
// operator resets it at any time, an agent 30 s after the failure.
//
// # Sleep
//
//	idle for Config.IdleTimeout, or the last lease ended, and the queue is empty
//	  ─▶ save ── failed ─▶ it stays (and tries again later)
//	       └─▶ record hibernated ─▶ both queues once more, from the leader
//	              │                     └── something ─▶ record assigned: awake,
//	              └── nothing ─▶ browser closed                same browser
//
// A living client lease keeps an environment awake; every action of the owner
// renews all of its leases. An ephemeral environment cannot sleep: its end (the
// last lease, or idleness without one) loses its state. Its record becomes
// unassigned, and the next result says that it began clean and what was lost.
//
// Acquires wait in the loop for the one opening, each until its own deadline.
// Close is the end of all leases; delete stops what runs, writes the record
// deleted, and answers when nothing of the environment is left in this process.
//
// While a person has control (a field of the record, with an expiry) no action
// begins: requests wait within their queue deadlines; lane c is served.
//
// # Another stream of requests
//
// An operator may delete the stream of requests and make it anew; what was queued
// is lost with it. The worker tells its environments when the stream was made. The
// loop then makes the record one of the new stream (the ring stays, the cursors
// start at 0, with an alarm) and reads its lanes from their beginning. What runs
// goes on, and is answered. Order and "once" hold within one life of the stream;
// beyond it they hold for what the ring and the newest STARTs name.
//
// # Letting go, and replacing
//
// ReleaseBy bounds a release: a running action is stopped at one time, and a save
// that fails is tried again until another; then Run's error matches ErrNotSaved.
// In between the environment is Closing, with its browser.
//
// A browser that is worn (Tired) is replaced on the sweep, in Idle with an empty
// queue: saved, closed, opened again from that checkpoint. Without the save, or
// for an ephemeral environment, it is kept.
//
// A browser that is doomed (an orphaned dialog: see package supervisor) still answers
// for its cookies: what runs is stopped, the state saved, and the browser replaced,
// without a strike. The agent is told browser_lost, with what the page was worth.
//
// # Saving
//
// After an action with effects its state is read (nothing else uses the browser
// meanwhile), then written to the store in the background: one state at a time,
// and of those that wait only the newest. The answer waits for both, but not long
// (Config.CheckpointWait, its budget); a cancel or an interrupt of the action ends
// that wait. A browser is closed on purpose, and another opened, only when nothing
// is being written.
//
// # Dialogs
//
// An answer on lane c whose dialog is of this generation runs at once, ten seconds at
// most, and lane c waits for it. Where nothing runs it is an action, whose result
// shows what followed; beside a running action it only answers.
//
// # State lost
//
// The record lists the answered effects whose save failed, until a save works.
// The first result after a restore names those that the loaded checkpoint does
// not reflect; where newer checkpoints could not be read, also the effects that
// the results of the finished ids in the record tell of.
//
// # What it never does
//
// It never retries an effect, never starts a browser before the seal, never
// starts a kept environment empty because the store is away, and dispatches
// nothing while suspended.
package environment
