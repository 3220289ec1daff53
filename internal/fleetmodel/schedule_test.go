package fleetmodel

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

// event is one move of the scheduler. Its argument chooses among what there is
// at that moment, modulo their number: every schedule can be run.
type event struct {
	op  op
	arg int
}

type op int

// The scheduler's moves.
const (
	opNothing op = iota // what moves shrink to
	opServe
	opRun
	opHurry
	opSteal
	opZombie
	opLoseRequest
	opLoseReply
	opDuplicate
	opStale
	opLag
	opPush
	opLosePush
	opWait
	opCalm
	opRequest
	opControl
	opAgain
	opOdd
	opCrash
	opPause
	opWake
	opCut
	opCutQuorum
	opMend
	opLook
	opSuspect
	opTrust
	opRemind
	opPurge
	opRelease
	opLoseBrowser
	opFull
	opStore
	opCrashCoordinator
	opCutCoordinator
	opReset
	opClose
	opRecreate
	opLate
	opLoseResults
	opAcquire
	opGiveUp
	opEnd
	opTake
	opGive
	opDelete
	opQuota
	opCrowd
	opOldLeader
	opCrashAt
	opDoze
	opDeaths
	ops
)

var opNames = [...]string{
	"-", "serve", "run", "hurry", "steal", "zombie", "loseRequest", "loseReply", "duplicate", "stale", "lag", "push", "losePush", "wait", "calm", "request", "control",
	"again", "odd", "crash", "pause", "wake", "cut", "cutQuorum", "mend", "look", "suspect", "trust", "remind", "purge",
	"release", "loseBrowser", "full", "store", "crashCoordinator", "cutCoordinator", "reset", "close", "recreate", "late", "loseResults",
	"acquire", "giveUp", "end", "take", "give", "delete", "quota", "crowd", "oldLeader", "crashAt", "doze", "deaths",
}

// GoString is how rapid prints a schedule.
func (e event) GoString() string { return fmt.Sprintf("%s(%d)", opNames[e.op], e.arg) }

// weights are how often a move is made: most make progress, since a fault
// matters most in the middle of something.
var weights = [ops]int{
	opServe: 20, opRun: 14, opHurry: 8, opSteal: 5, opZombie: 6, opLoseRequest: 2, opLoseReply: 4, opDuplicate: 3, opStale: 3, opLag: 4, opPush: 6, opLosePush: 2,
	opWait: 5, opCalm: 4, opRequest: 14, opControl: 5, opAgain: 3, opOdd: 3,
	opCrash: 3, opPause: 3, opWake: 4, opCut: 2, opCutQuorum: 2, opMend: 4,
	opLook: 6, opSuspect: 4, opTrust: 3, opRemind: 1, opPurge: 3, opRelease: 2, opLoseBrowser: 1,
	opFull: 1, opStore: 1, opCrashCoordinator: 1, opCutCoordinator: 1, opReset: 3, opClose: 1,
	opAcquire: 3, opGiveUp: 2, opEnd: 1, opTake: 2, opGive: 2, opQuota: 2, opCrowd: 1, opOldLeader: 4, opCrashAt: 5, opDoze: 1, opDeaths: 1,
}

// schedules draws schedules. Of eight, one has hours of quiet in it, after which
// results have expired and ids are too old; one has a stream that is made anew;
// one an owner that is deleted; and one begins with a tenant that is at its quota,
// whose owner has no record.
//
// rapid's integers prefer small values, which is right for sizes and wrong for
// choices: only its booleans are fair, so an event is made of bits. skip of them
// are drawn for nothing: other schedules from the same seed.
func schedules(skip int) *rapid.Generator[[]event] {
	plain := []op{opNothing}
	for o, n := range weights {
		for range n {
			plain = append(plain, op(o))
		}
	}
	tables := [8][]op{
		slices.Concat(plain, []op{opLate, opLate}),
		slices.Concat(plain, []op{opRecreate, opRecreate, opRecreate}),
		slices.Concat(plain, []op{opDelete, opDelete, opDelete}),
		slices.Concat(plain, slices.Repeat([]op{opQuota}, 8), slices.Repeat([]op{opAcquire}, 4)),
	}
	const stranger = 3
	return rapid.Custom(func(t *rapid.T) []event {
		bits(t, skip)
		kind := bits(t, 3)
		table := tables[kind]
		if table == nil {
			table = plain
		}
		one := rapid.Custom(func(t *rapid.T) event { return event{table[bits(t, 10)%len(table)], bits(t, 6)} })
		events := rapid.SliceOfN(one, 40, 160).Draw(t, "events")
		if kind == stranger {
			events = append([]event{{opQuota, 2}, {opQuota, 3}}, events...)
		}
		return events
	})
}

var bit = rapid.Bool()

func bits(t *rapid.T, n int) (v int) {
	for range n {
		v *= 2
		if bit.Draw(t, "") {
			v++
		}
	}
	return v
}

// run makes the moves, then lets everything heal, and says what was broken.
func run(w *world, schedule []event) error {
	a := &agent{w: w}
	if len(schedule)%4 == 3 {
		w.idle = 0 // nothing goes to sleep by itself
	}
	// Nearly every schedule begins with an owner that somebody wants.
	if len(schedule) == 0 || schedule[0].op != opQuota {
		a.request(0)
		w.calm(300 * time.Millisecond)
	}
	for i, e := range schedule {
		if e.op == opNothing {
			continue
		}
		w.mu.Lock()
		w.say("-- %d %#v", i, e)
		w.mu.Unlock()
		w.move(a, e)
		w.settle()
		w.saw("moves: " + opNames[e.op])
		if w.promises.breach != nil {
			return w.promises.breach
		}
	}
	w.mu.Lock()
	w.say("-- heal")
	w.mu.Unlock()
	w.heal()
	w.sweep()
	w.promises.final()
	return w.promises.breach
}

var waits = []time.Duration{
	30 * time.Millisecond, 250 * time.Millisecond, 700 * time.Millisecond, 1200 * time.Millisecond, 2500 * time.Millisecond, 6 * time.Second,
}

func (w *world) move(a *agent, e event) {
	if e.op != opCrashAt {
		e.arg %= 32
	}
	wk := w.worker(e.arg)
	c := w.coordinators[e.arg%len(w.coordinators)]
	switch e.op {
	case opServe, opLoseRequest, opLoseReply, opDuplicate, opStale:
		w.serveOne(e)
	case opLag:
		w.lag = protocol.Seq(e.arg % 4)
	case opRun:
		w.serveSome(1+e.arg/2, func(*step) bool { return true })
	case opHurry:
		w.serveSome(1+e.arg/3, func(s *step) bool { return s.p == wk.process })
	case opSteal:
		w.steal(c, e.arg/2)
	case opZombie:
		w.zombie(wk, c, e.arg)
	case opPush, opLosePush:
		if n := len(w.pushes); n > 0 {
			w.deliver(e.arg%n, e.op == opLosePush)
		}
	case opWait:
		w.pass(waits[e.arg%len(waits)])
	case opCalm:
		w.calm(waits[e.arg%len(waits)])
	case opRequest:
		a.request(e.arg)
	case opControl:
		a.control([]protocol.Kind{protocol.KindCancel, protocol.KindInterrupt, protocol.KindCancel, protocol.KindPing}[e.arg%4], e.arg/4)
	case opAgain:
		a.again(e.arg)
	case opOdd:
		a.odd(e.arg)
	case opCrash:
		wk.crash()
		w.workers[slices.Index(w.workers, wk)] = w.bootWorker()
	case opPause:
		wk.pause()
	case opWake:
		w.wake(wk.process)
	case opCut, opCutQuorum:
		wk.cutOff(e.op == opCutQuorum)
	case opMend:
		wk.mend()
	case opRelease:
		if h := wk.holds(); h != nil {
			h.env.Release("drain")
		}
	case opClose:
		w.promises.asked("close")
		if h := wk.holds(); h != nil {
			h.env.Ask(protocol.HolderQuery{V: protocol.Version, Op: protocol.HolderClose}, func(protocol.AcquireReply) {})
		}
	case opLoseBrowser:
		if h := wk.holds(); h != nil && h.browser != nil {
			w.mu.Lock()
			h.hold.forgets()
			w.mu.Unlock()
			h.browser.lose()
		}
	case opFull:
		w.mu.Lock()
		wk.full = !wk.full
		w.mu.Unlock()
	case opLook:
		c.look(e.arg / len(w.coordinators))
	case opSuspect, opTrust:
		w.mu.Lock()
		c.gone[w.workers[e.arg/2%len(w.workers)].id] = e.op == opSuspect
		w.mu.Unlock()
	case opPurge:
		c.purge()
	case opCrashCoordinator:
		c.crash()
		w.coordinators[e.arg%len(w.coordinators)] = w.bootCoordinator()
	case opCutCoordinator:
		w.mu.Lock()
		c.cut = !c.cut
		w.mu.Unlock()
	case opReset:
		a.reset(c, e.arg/2%2 == 0)
	case opAcquire:
		a.acquire(c)
	case opGiveUp:
		a.giveUp(c, e.arg/2)
	case opEnd:
		a.closeIt(c)
	case opTake:
		a.person(c, protocol.ControlTake, e.arg/2)
	case opGive:
		a.person(c, protocol.ControlGive, e.arg/2)
	case opDelete:
		if e.arg%4 == 0 {
			w.armed = &crashPoint{"worker", "erase a checkpoint", e.arg/4%2 == 0}
		}
		a.deleteIt(c)
	case opQuota:
		w.mu.Lock()
		c.quota = []protocol.Quotas{unlimited, {Owners: 1, Environments: protocol.Unlimited, QueueBytes: protocol.Unlimited}, {Owners: protocol.Unlimited, Environments: 1, QueueBytes: protocol.Unlimited}, unlimited}[(e.arg/2)%4]
		w.mu.Unlock()
	case opCrowd:
		w.mu.Lock()
		c.crowded = !c.crowded
		w.mu.Unlock()
	case opOldLeader:
		w.oldLeader(a, e.arg)
	case opCrashAt:
		w.mu.Lock()
		w.armed = &crashPoints[e.arg%len(crashPoints)]
		w.mu.Unlock()
	case opDoze:
		w.doze(a, c, e.arg)
	case opDeaths:
		w.deaths(a, c, e.arg)
	case opRemind:
		w.remind(e.arg)
	case opStore:
		w.mu.Lock()
		w.storeOff = !w.storeOff
		w.mu.Unlock()
	case opRecreate:
		if e.arg%2 == 0 {
			w.half(a, c, e.arg)
		}
		w.recreate()
	case opLate:
		w.late(a, e.arg)
	case opLoseResults:
		w.loseResults(a, e.arg)
	}
}

// worker is the one that the record names, more often than not: faults matter
// most there.
func (w *world) worker(arg int) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wk := range w.workers {
		if rec := w.promises.rec; rec != nil && rec.Worker == wk.id && arg%4 != 3 {
			return wk
		}
	}
	return w.workers[arg%len(w.workers)]
}

// serveSome serves the oldest steps of some, one after another, with the pushes
// that they cause.
func (w *world) serveSome(most int, which func(*step) bool) {
	for range most {
		w.settle()
		w.mu.Lock()
		steps := slices.DeleteFunc(w.servable(), func(s *step) bool { return !which(s) })
		w.mu.Unlock()
		for len(w.pushes) > 0 {
			w.deliver(0, false)
		}
		if len(steps) == 0 || w.promises.breach != nil {
			return
		}
		w.meet(steps[0], served)
	}
}

// steal makes a coordinator believe that the holder is gone, and lets it place
// the owner elsewhere, while everything else stands still.
func (w *world) steal(c *coordinator, prefer int) {
	w.mu.Lock()
	if w.promises.rec != nil {
		c.gone[w.promises.rec.Worker] = true
	}
	w.mu.Unlock()
	c.look(prefer)
	w.serveSome(12, func(s *step) bool { return s.p == c.process })
}

// zombie takes the owner from a holder that is away, in the middle of whatever
// it does, lets its successor begin, and brings it back.
func (w *world) zombie(wk *worker, c *coordinator, arg int) {
	if arg%2 == 0 {
		wk.pause()
		w.serveSome(1, func(s *step) bool { return s.p == wk.process })
	} else {
		wk.cutOff(false)
	}
	w.pass(waits[3+arg/2%2])
	w.steal(c, arg/4)
	w.serveSome(arg, func(s *step) bool { return s.p != wk.process })
	wk.mend()
	w.wake(wk.process)
	w.serveSome(4, func(s *step) bool { return s.p == wk.process })
}

// doze lets an environment that nobody wants any more go to sleep, and sends a
// request while it does.
func (w *world) doze(a *agent, c *coordinator, arg int) {
	w.calm(time.Second)
	a.closeIt(c)
	w.serveSome(2+arg, func(*step) bool { return true })
	a.request(arg)
	w.serveSome(12, func(s *step) bool { return s.p != c.process })
}

// oldLeader lets an old server lead a stream; half of the times when it does not
// have what just mattered.
func (w *world) oldLeader(a *agent, arg int) {
	name := []string{protocol.ActStream(0), protocol.OwnStream(0), protocol.ResStream(0)}[arg%3]
	just := arg/12%2 == 1
	switch {
	case just && name == protocol.ActStream(0): // a push was lost, and the next one comes
		a.request(arg)
		for len(w.pushes) > 0 {
			w.deliver(0, true)
		}
		a.request(arg + 1)
		w.lag = 2
	case just && name == protocol.ResStream(0): // something waits, and is cancelled
		a.request(arg)
		a.request(2)
		a.control(protocol.KindCancel, 0)
		w.serveSome(4+arg/2, func(*step) bool { return true })
	}
	w.mu.Lock()
	behind := protocol.Seq(1 + arg/3%4)
	if behind == 4 && name == protocol.ResStream(0) {
		behind = 1000 // it does not have what fell out of the ring either
	}
	w.servers.streams[name].elect(behind, time.Now())
	w.mu.Unlock()
	for just && len(w.pushes) > 0 {
		w.deliver(0, false)
	}
	if just {
		w.serveSome(8, func(*step) bool { return true })
	}
}

// deaths kills one holder after another in the middle of an action, and resets the
// owner when it has failed by that.
func (w *world) deaths(a *agent, c *coordinator, arg int) {
	a.request(arg)
	for i := range protocol.MaxFailures + arg%3 {
		w.mu.Lock()
		w.armed = &crashPoint{"worker", "effect", i%2 == 0}
		w.mu.Unlock()
		w.calm(waits[2+i%3])
		w.steal(c, i)
	}
	a.reset(c, true)
	w.serveSome(8, func(s *step) bool { return s.p == c.process })
}

func (wk *worker) holds() *held {
	wk.w.mu.Lock()
	defer wk.w.mu.Unlock()
	return wk.held
}

func (w *world) serveOne(e event) {
	w.mu.Lock()
	steps := w.servable()
	w.mu.Unlock()
	if len(steps) == 0 {
		return
	}
	// Small arguments take the oldest: schedules shrink towards order.
	w.meet(steps[e.arg/3%len(steps)], map[op]fate{
		opServe: served, opLoseRequest: lostRequest, opLoseReply: lostReply, opDuplicate: duplicated, opStale: stale,
	}[e.op])
}

// remind sends an assignment that a coordinator made before, maybe long ago.
func (w *world) remind(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rec := w.promises.rec
	if rec == nil {
		return
	}
	for _, wk := range w.workers {
		if !wk.dead && !wk.cut && !wk.paused && (wk.id == rec.Worker || n%2 == 0) {
			wk.assign(protocol.Assignment{V: protocol.Version, Key: owner, Fence: max(1, w.promises.fence-protocol.Seq(n%3)), Reason: "reminded"})
		}
	}
}

// calm serves everything while time passes.
func (w *world) calm(d time.Duration) {
	for end := time.Now().Add(d); ; {
		w.serveAll()
		if !time.Now().Before(end) || w.promises.breach != nil {
			return
		}
		w.pass(50 * time.Millisecond)
		if since := time.Since(epoch); since%time.Second < 50*time.Millisecond {
			for i, c := range w.coordinators {
				c.look(int(since/time.Second) + i)
			}
		}
	}
}

// serveAll serves until nothing is on its way.
func (w *world) serveAll() {
	for range 400 {
		w.settle()
		w.mu.Lock()
		steps := w.servable()
		w.mu.Unlock()
		if w.promises.breach != nil || len(steps)+len(w.pushes) == 0 {
			return
		}
		for len(w.pushes) > 0 {
			w.deliver(0, false)
		}
		if len(steps) > 0 {
			w.meet(steps[0], served)
		}
	}
}

// heal ends all faults, and gives the fleet time.
func (w *world) heal() {
	w.mu.Lock()
	w.storeOff, w.lag, w.armed = false, 0, nil
	for i, c := range w.coordinators {
		c.cut, c.quota, c.crowded = false, unlimited, false
		clear(c.gone)
		if c.dead {
			w.coordinators[i] = w.bootCoordinator()
		}
	}
	w.mu.Unlock()
	for _, wk := range w.workers {
		wk.mend()
		w.wake(wk.process)
		wk.full = false
	}
	for range 24 {
		w.trueView() // a write that was on its way may name a worker that has died since
		w.calm(5 * time.Second)
		if w.promises.open() == 0 || w.promises.breach != nil {
			return
		}
	}
}

// trueView tells the coordinators which workers live.
func (w *world) trueView() {
	w.mu.Lock()
	defer w.mu.Unlock()
	rec := w.promises.rec
	if rec == nil {
		return
	}
	for _, c := range w.coordinators {
		c.gone[rec.Worker] = true
		for _, wk := range w.workers {
			if wk.id == rec.Worker {
				delete(c.gone, rec.Worker)
			}
		}
	}
}

// half moves the owner, whose queue is empty, and sends it a request when its next
// holder listens and has not claimed it yet.
func (w *world) half(a *agent, c *coordinator, arg int) {
	w.calm(2 * time.Second)
	c.purge()
	w.calm(300 * time.Millisecond)
	w.steal(c, arg/2)
	a.request(arg)
}

// recreate is an operator's mistake: the stream of requests is made anew.
func (w *world) recreate() {
	w.pass(time.Second) // streams are told apart by the second of their creation
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers.recreate(protocol.ActStream(0), time.Now())
	w.promises.life++
	w.promises.lives[time.Now().Unix()] = w.promises.life
	for id, r := range w.promises.requests {
		if w.promises.results[id] == nil {
			r.excused = true
		}
	}
	w.say("the stream of requests is made anew")
}

// late lets hours pass in which everything works, so that results expire and ids
// are too old, and sends one of them again.
func (w *world) late(a *agent, n int) {
	w.heal()
	if n%2 == 0 { // more than the record's ring remembers
		for range protocol.DoneRing / 8 {
			for range 9 {
				a.request(1)
			}
			w.calm(100 * time.Millisecond)
			w.coordinators[0].purge() // or the queue is full
			w.calm(300 * time.Millisecond)
		}
		n += protocol.DoneRing + protocol.DoneRing/8
	}
	if !w.quiet() {
		return
	}
	for i, wk := range w.workers {
		wk.crash() // nothing of it is unwritten, and hours of its sweeps prove nothing
		w.workers[i] = w.bootWorker()
	}
	w.coordinators[0].purge()
	w.calm(300 * time.Millisecond)
	w.saw("results that expired after hours")
	w.pass(protocol.ResultRetention + time.Minute)
	w.expire(protocol.ResultRetention)
	a.again(n)
	for _, s := range a.early {
		a.store(s.lane, s.body, nil)
	}
	if n%3 == 0 { // a cancel of what is refused, and may have run
		a.control(protocol.KindCancel, n)
	}
}

// loseResults removes results before their time, when everything is written: the
// ring of the record is all that is left to know what was answered.
func (w *world) loseResults(a *agent, n int) {
	// What was refused without a record is in no ring: such results live as long as
	// they have to.
	if !w.quiet() || w.count["refusals of an owner without a record"] > 0 {
		return
	}
	w.saw("results that vanished early")
	w.expire(0)
	w.promises.resultsLost = true
	a.again(n)
}

// quiet heals, and reports whether everything is answered and written.
func (w *world) quiet() bool {
	w.heal()
	w.calm(time.Second)
	rec := w.promises.rec
	return w.promises.open() == 0 && rec != nil && rec.InflightQ == nil && rec.InflightC == nil
}

func (w *world) expire(retention time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.servers.expire(protocol.ResStream(0), retention, time.Now()) {
		id := protocol.RequestID(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		w.promises.results[id].expired = true
	}
}
