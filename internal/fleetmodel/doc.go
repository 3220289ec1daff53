// Package fleetmodel checks the protocol of one owner as a whole: the real
// environment loop (worker/environment), the real rules of its log
// (internal/ownerlog) and the real checkpoint store run over streams in memory,
// while a scheduler decides what arrives, in which order, late, twice, or never.
// Everything in it is a test.
//
// # The world
//
// A world has servers (streams_test.go), three workers, two coordinators, an
// agent, and browsers that count effects. Every operation of a process on
// streams, object store or browser is a step (steps_test.go): its caller waits
// until the scheduler lets it take effect and answers. Between two moves of the
// scheduler every goroutine is blocked (testing/synctest), so a schedule is a
// list of moves, time is one of them, and the same schedule does the same thing
// again.
//
// Real code: worker/environment, internal/ownerlog, checkpoints, natsx's reading
// of pushes, protocol, and what a coordinator decides (coordinator/decide).
// Followed step by step: package worker's assignments, questions and contact
// (worker_test.go), package coordinator's looking, placing, answering, refusing and
// purging (coordinator_test.go; both coordinators act as leaders at the same
// time), and its services for an owner's life (services_test.go). Whoever changes
// those changes this.
//
// # What can happen
//
// A request is lost; its answer is lost after it took effect; a second copy of
// it arrives later, maybe after its sender died; a follower that is behind
// answers, or a leader: an old server that has not caught up leads a stream for up
// to 0.9 s, until it stores something; pushes are lost or out of order; processes
// crash before and after each of their steps (crashes_test.go has the list), pause
// (answers wait for them), are cut off from all servers or from all but their own;
// wrong suspicion moves an owner whose holder lives; assignments are refused,
// repeated and late; browsers die; the store is away; an agent sends again, too
// late, without id, under another's name, with an id of tomorrow, with forged
// server headers, cancels and interrupts; agents acquire, release, close, delete
// and reset; persons take control, let it expire, give it back; the tenant is at
// its quota, before the owner has a record and later; requests come while an
// environment goes to sleep; hours pass until results expire; the stream of
// requests is made anew.
//
// make model plays them (CI: 2,000 schedules, all crash points, and a few more
// under the race detector), prints the seed and what came about, and fails where
// that was too little (coverage_test.go). A schedule that breaks a promise shrinks,
// and is printed with all that happened; put it into regressions_test.go.
//
// # What is checked
//
// promises_test.go and lives_test.go see only what the servers, the object store
// and the dispatch logs see:
//
//  1. Dispatches begin in stream order. A holder that was overtaken and does not
//     know yet may be late with what it had STARTed.
//  2. Every stored request has one result when everything has healed and time
//     has passed; nothing unanswered is purged.
//  3. A write is dispatched once at most, a read twice; a dispatch without its
//     own holder's answer is outcome_unknown; dispatched=no never was.
//  4. Who was overtaken writes no record, dispatches and answers nothing that it
//     had not STARTed before, dispatches nothing without contact, and adds no
//     checkpoint after the next holder's seal. Answers without START are for owners
//     without a record.
//  5. What depends on a page is not run on the page of a later generation; who
//     hibernates is saved.
//
// And: leases that were granted are in the record, keep the environment awake, and
// end by their time or by who may end them; nothing begins while a person has
// control, which nobody takes away; a deleted owner stays deleted; a failed one is
// reset by who may; cancels that were stored before a takeover come before its first
// action; who hibernates looks at its queue once more.
//
// # Rules that were broken on purpose
//
// mutations_test.go has each as a change of one line; make mutations makes them in
// turn; TestMutationsCanBeMade keeps the table true. Each with the number of
// schedules after which the model noticed, in one run:
//
//   - the log: a foreign write fences (2); a write is recognised by its
//     nonce only (2); START is written before anything begins (2); the
//     results' leader is asked (22); the ring decides a cancel, too (578);
//     a cancel's START names its target (10); an orphan is not cancelled
//     (120); nothing is taken across a gap (48); a read that is behind does
//     not end a gap (22); an old leader does not end a gap (62); what was
//     cancelled is in the ring (1180); what is refused is not cancelled
//     (14); a push of an earlier stream hides nothing (4); the server's
//     headers are the last ones (52); cursors of another stream are dropped
//     (46); a stream that looks like an older copy is looked at again
//     (2306).
//   - ids and records: the ring decides (4); an id that is too old is
//     refused (570); a person's control is not taken by another (2); an id
//     from the future is refused (148).
//   - the environment: an effect that a former holder began is not run
//     (12); what a former holder began does not expire (112); without
//     contact the record is written before a dispatch (20); an interrupted
//     dispatch is not called cancelled (538); only the record makes a
//     worker the holder (14); what was sent for an earlier page is not run
//     (2); an agent knows of a restore when it was told (2); a read in
//     flight is run once more, and not twice (1354); a takeover reads from
//     the leader (172); nothing begins while a person has control (8); a
//     lease is written before it is granted (2); a living lease keeps the
//     environment awake (2); who hibernates looks once more (4); nothing
//     hibernates that is not saved (352); the record says that an owner is
//     deleted (56).
//   - checkpoints: the seal follows a compare-and-set (18).
//   - coordinators: a coordinator knows what a former holder began (14); a
//     purge goes by the persisted cursor (2); a purge by another stream's
//     cursor (56); an owner without a record is looked for (2); who sleeps
//     is woken (2); who was let go is placed (12); an answering that stands
//     still is taken over (26); a worker that is gone loses its owners (2);
//     who holds cursors of another stream is moved (1016); failed and
//     deleted owners are answered for (4); a failed owner's requests are
//     due (2); failed and deleted owners stay so while they are answered
//     for (8); a refusal looks for the record first (18).
//
// Caught by a schedule of regressions_test.go, if not before: the results are as far as
// the record says; the record says where its newest result is; a sequence tells how far
// the results are, and no id does; a deleted owner is erased again.
//
// Broken elsewhere: a commit is fenced by a later seal. That needs a late commit in
// the very slot that the seal took, which schedules seldom bring about; checkpoints'
// TestZombieAndNewHolderRaceForOneSlot notices in its first rounds. An assignment is a
// compare-and-set: the coordinator's own one is checked by its
// TestTwoLeadersAtOnceNeverAssignTwice, which notices. Without a count: no busy loop
// while suspended.
//
// # Limits
//
// An owner whose holder dies after an answer, and whom nobody takes over until
// that result has expired, two hours later, is answered again.
//
// When the stream of requests is made anew (an operator's mistake, with an
// alarm), its holder goes on under the old cursors until it looks, two seconds
// later: order and "once" are checked within one life of the stream only. A purge
// that is on its way while that happens can hit the new stream: a server cannot
// compare.
//
// A refusal of an owner without a record is an answer without START: one that the
// network holds back until somebody has opened the owner could contradict what
// runs by then (the model drops those, and counts them), and so could one that an
// old leader of the results does not show.
//
// Under an old leader of the requests an agent may seem to have sent something
// after it was told of a restore that it sent just before; under one of the
// results a read whose answer is not to be seen is run once more.
//
// A checkpoint that is on its way from a holder that was overtaken can arrive after
// the erasure of a deleted owner, in a slot that is free again. It is removed by the
// next one, ten minutes later; what comes more than a day later stays.
//
// Writes are taken for what NATS promises: a compare-and-set that an old leader
// lets pass is decided by the stream's whole log.
package fleetmodel
