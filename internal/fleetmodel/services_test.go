package fleetmodel

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// The services for an owner's life: this file follows package coordinator's
// lifecycle.go, ending.go and takeover.go, and package worker's life.go. Whoever
// calls waits eight seconds here, and looks again every second.
const (
	patience  = 8 * time.Second
	lifePause = time.Second
	mostLives = 3 // services of one coordinator at a time
)

// life is one look of a service.
type life func(ctx context.Context, c *coordinator, log *client) (reply protocol.AcquireReply, done bool)

// serve runs a service until it is done or its caller has waited long enough, and
// tells the caller.
func (c *coordinator) serve(step life, told func(protocol.AcquireReply)) {
	if c.dead || c.living >= mostLives {
		return
	}
	c.living++
	c.start(patience, func(ctx context.Context) {
		log := c.client(true)
		reply, done := step(ctx, c, log)
		for !done && sleep(ctx, lifePause) {
			reply, done = step(ctx, c, log)
		}
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		c.living--
		if !c.dead && reply.Error == nil {
			told(reply)
		}
	})
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func refusal(code protocol.Code) protocol.AcquireReply {
	return protocol.AcquireReply{Error: protocol.Errorf(code, "")}
}

func isHeld(rec *protocol.OwnerRecord) bool {
	return rec != nil && rec.State == protocol.RecordAssigned
}

func onItsWay(rec *protocol.OwnerRecord) bool {
	return rec.State == protocol.RecordMoving || rec.State == protocol.RecordAnswering
}

// rewrite follows shard.rewrite.
func (c *coordinator) rewrite(ctx context.Context, log *client, next *protocol.OwnerRecord, fence protocol.Seq) error {
	next.V, next.Nonce = protocol.Version, ownerlog.NewNonce()
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	_, err = log.CAS(ctx, protocol.OwnSubject(0, owner), data, nil, fence)
	return err
}

// acquiring follows Coordinator.acquiring.
func acquiring(q *protocol.AcquireQuery) life {
	wait := &wanting{as: q.Lease}
	return func(ctx context.Context, c *coordinator, log *client) (protocol.AcquireReply, bool) {
		rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
		if err != nil {
			return refusal(protocol.CodeUnavailable), false
		}
		if reply, done := c.toHolder(ctx, rec, protocol.HolderQuery{Op: protocol.HolderAcquire, Acquire: q}); done || isHeld(rec) {
			return reply, done
		}
		if rec == nil || rec.State != protocol.RecordMoving {
			if why := decide.Over(c.knownQuota(), others, rec == nil); why != nil {
				return protocol.AcquireReply{Error: why}, true
			}
		}
		return wait.step(ctx, c, log, rec, fence)
	}
}

// wanting follows patient: who waits is written into the record, and the leaders
// place the owner.
type wanting struct {
	as    protocol.LeaseID
	wrote bool
}

func (p *wanting) step(ctx context.Context, c *coordinator, log *client, rec *protocol.OwnerRecord, fence protocol.Seq) (protocol.AcquireReply, bool) {
	next := &protocol.OwnerRecord{}
	if rec != nil {
		next = rec.Clone()
	}
	switch {
	case onItsWay(next):
		return refusal(protocol.CodeUnavailable), false
	case !p.wrote:
		until, _ := ctx.Deadline()
		if err := next.Want(p.as, until, time.Now()); err != nil {
			return refusal(protocol.CodeOwnerConflict), true
		}
		if next.Move(protocol.RecordAcquire, time.Now()) != nil || c.rewrite(ctx, log, next, fence) != nil {
			return refusal(protocol.CodeUnavailable), false
		}
		p.wrote = true
	case !next.Wants(p.as):
		return refusal(protocol.CodeCancelled), true
	}
	return refusal(protocol.CodeNoCapacity), false
}

func (c *coordinator) knownQuota() protocol.Quotas {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.quota
}

// changing follows shard.changeLeases: release and close.
func changing(q protocol.HolderQuery, change func(*protocol.OwnerRecord) bool) life {
	return func(ctx context.Context, c *coordinator, log *client) (protocol.AcquireReply, bool) {
		rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
		switch {
		case err != nil:
			return refusal(protocol.CodeUnavailable), false
		case rec == nil:
			return protocol.AcquireReply{}, true
		case rec.State == protocol.RecordFailed || rec.State == protocol.RecordDeleted:
			return protocol.AcquireReply{}, true
		}
		if reply, ok := c.toHolder(ctx, rec, q); ok || isHeld(rec) {
			return reply, ok
		}
		if q.Op == protocol.HolderClose {
			queued, err := ownerlog.Peek(ctx, log, 0, owner, rec, protocol.LaneQueue)
			if err != nil || len(queued) > 0 {
				return refusal(protocol.CodeUnavailable), false
			}
		}
		if onItsWay(rec) {
			return refusal(protocol.CodeUnavailable), false
		}
		if next := rec.Clone(); change(next) && c.rewrite(ctx, log, next, fence) != nil {
			return refusal(protocol.CodeUnavailable), false
		}
		return protocol.AcquireReply{}, true
	}
}

// deleting follows the function of that name.
func deleting(ctx context.Context, c *coordinator, log *client) (protocol.AcquireReply, bool) {
	rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
	switch {
	case err != nil:
		return refusal(protocol.CodeUnavailable), false
	case rec == nil:
		return refusal(protocol.CodeNotFound), true
	case rec.State == protocol.RecordDeleted:
		return c.erase(ctx), true
	case isHeld(rec):
		reply, done := c.toHolder(ctx, rec, protocol.HolderQuery{Op: protocol.HolderDelete})
		if done && reply.Error == nil {
			return c.erase(ctx), true
		}
		return reply, done
	}
	next := rec.Clone()
	if next.Move(protocol.RecordDelete, time.Now()) != nil {
		return refusal(protocol.CodeUnavailable), false
	}
	next.Erase, next.Leases, next.Control, next.Unsaved, next.Worker = true, nil, nil, nil, ""
	if c.rewrite(ctx, log, next, fence) != nil {
		return refusal(protocol.CodeUnavailable), false
	}
	return c.erase(ctx), true
}

// controlling follows the function of that name.
func controlling(q protocol.ControlQuery) life {
	wait := &wanting{as: protocol.ControlWant(q.Holder)}
	return func(ctx context.Context, c *coordinator, log *client) (protocol.AcquireReply, bool) {
		rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
		switch {
		case err != nil:
			return refusal(protocol.CodeUnavailable), false
		case rec == nil:
			return refusal(protocol.CodeNotFound), true
		}
		reply, ok := c.toHolder(ctx, rec, protocol.HolderQuery{Op: protocol.HolderControl, Control: &q})
		switch {
		case ok || isHeld(rec):
			return reply, ok
		case q.Op == protocol.ControlTake:
			return wait.step(ctx, c, log, rec, fence)
		case onItsWay(rec):
			return refusal(protocol.CodeUnavailable), false
		}
		next := rec.Clone()
		if err := next.SetControl(&q, time.Now()); err != nil {
			return refusal(protocol.CodeOwnerConflict), true
		}
		return protocol.AcquireReply{}, c.rewrite(ctx, log, next, fence) == nil
	}
}

// resetting follows shard.reset.
func resetting(operator bool) life {
	return func(ctx context.Context, c *coordinator, log *client) (protocol.AcquireReply, bool) {
		rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
		switch {
		case err != nil:
			return refusal(protocol.CodeUnavailable), false
		case rec == nil || rec.State == protocol.RecordDeleted:
			return refusal(protocol.CodeNotFound), true
		case rec.State != protocol.RecordFailed:
			return protocol.AcquireReply{}, true
		}
		if left := protocol.ResetPause - time.Since(rec.Since.Time); !operator && left > 0 {
			return refusal(protocol.CodeEnvironmentFailed), true
		}
		next := rec.Clone()
		if next.Move(protocol.RecordReset, time.Now()) != nil {
			return refusal(protocol.CodeUnavailable), false
		}
		next.Failures, next.Worker = nil, ""
		return protocol.AcquireReply{}, c.rewrite(ctx, log, next, fence) == nil
	}
}

// toHolder follows shard.toHolder.
func (c *coordinator) toHolder(ctx context.Context, rec *protocol.OwnerRecord, q protocol.HolderQuery) (protocol.AcquireReply, bool) {
	switch {
	case rec == nil:
		return protocol.AcquireReply{}, false
	case rec.State == protocol.RecordFailed:
		return refusal(protocol.CodeEnvironmentFailed), true
	case rec.State == protocol.RecordDeleted:
		return refusal(protocol.CodeEnvironmentDeleted), true
	case rec.State != protocol.RecordAssigned:
		return protocol.AcquireReply{}, false
	}
	q.V, q.Key, q.WaitMS = protocol.Version, owner, patience.Milliseconds()
	reply, err := c.ask(ctx, rec.Worker, q.Op, func(wk *worker, answer func(protocol.AcquireReply)) {
		if wk.held == nil {
			answer(refusal(protocol.CodeNotFound))
			return
		}
		wk.held.env.Ask(q, answer)
	})
	if err != nil {
		return refusal(protocol.CodeUnavailable), false
	}
	if e := reply.Error; e != nil && (e.Code == protocol.CodeNotFound || e.Code == protocol.CodeUnavailable) {
		return reply, false
	}
	return reply, true
}

// ask is a question to a worker, which it answers when it can. Question and
// answer are steps of their own.
func (c *coordinator) ask(ctx context.Context, id protocol.WorkerID, what string, put func(*worker, func(protocol.AcquireReply))) (protocol.AcquireReply, error) {
	said := make(chan protocol.AcquireReply, 1)
	r := c.do(ctx, "ask "+string(id)+" to "+what, natsx.ErrUnavailable, func(protocol.Seq) reply {
		wk := c.w.reachable(id)
		if wk == nil {
			return reply{err: natsx.ErrUnavailable}
		}
		put(wk, func(r protocol.AcquireReply) {
			select {
			case said <- r:
			default: // a second copy of the question
			}
		})
		return reply{}
	})
	if r.err != nil {
		return protocol.AcquireReply{}, r.err
	}
	var answer protocol.AcquireReply
	select {
	case answer = <-said:
	case <-ctx.Done():
		return answer, ctx.Err()
	}
	r = c.do(ctx, "hear "+string(id)+" on "+what, natsx.ErrUnavailable, func(protocol.Seq) reply {
		if c.w.reachable(id) == nil {
			return reply{err: natsx.ErrUnavailable}
		}
		return reply{}
	})
	return answer, r.err
}

// erase follows shard.erase.
func (c *coordinator) erase(ctx context.Context) protocol.AcquireReply {
	c.w.mu.Lock()
	var ready []protocol.WorkerID
	for _, wk := range c.w.workers {
		if !c.gone[wk.id] {
			ready = append(ready, wk.id)
		}
	}
	c.w.mu.Unlock()
	for _, id := range ready {
		reply, err := c.ask(ctx, id, "erase", func(wk *worker, answer func(protocol.AcquireReply)) { wk.erase(answer) })
		if err == nil && reply.Error == nil {
			c.noteErased(ctx)
			return protocol.AcquireReply{}
		}
	}
	return refusal(protocol.CodeNoCapacity)
}

func (c *coordinator) noteErased(ctx context.Context) {
	log := c.client(true)
	rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
	if err == nil && rec != nil && rec.State == protocol.RecordDeleted && rec.Erase {
		rec.Erase, rec.Erased = false, protocol.At(time.Now())
		rec.Erasures++
		_ = c.rewrite(ctx, log, rec, fence)
	}
}

// eraseDeleted follows shard.eraseDeleted.
func (c *coordinator) eraseDeleted(ctx context.Context, log *client) {
	rec, fence, err := ownerlog.Read(ctx, log, 0, owner)
	if err != nil || rec == nil || rec.State != protocol.RecordDeleted {
		return
	}
	if !rec.Erase {
		if again := decide.EraseAgain(rec); again.IsZero() || time.Now().Before(again) {
			return
		}
		rec.Erase = true
		if c.rewrite(ctx, log, rec, fence) != nil {
			return
		}
	}
	c.erase(ctx)
}

// erase follows worker.startErase. It runs within a step.
func (wk *worker) erase(answer func(protocol.AcquireReply)) {
	if wk.held != nil {
		answer(refusal(protocol.CodeUnavailable))
		return
	}
	wk.w.jobs++
	ctx := context.WithValue(wk.ctx, jobNumber{}, wk.w.jobs)
	wk.w.goes.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		kept := checkpoints.New(&store{wk.process, &hold{p: wk.process}}, wk.w.keys)
		if _, err := kept.Erase(ctx, checkpoints.EnvIDOf(owner)); err != nil {
			answer(refusal(protocol.CodeCheckpointStore))
			return
		}
		answer(protocol.AcquireReply{})
	})
}

// reachable is the worker of this name, if a message gets to it now.
func (w *world) reachable(id protocol.WorkerID) *worker {
	i := slices.IndexFunc(w.workers, func(wk *worker) bool {
		return wk.id == id && !wk.dead && !wk.cut && !wk.quorum && !wk.paused
	})
	if i < 0 {
		return nil
	}
	return w.workers[i]
}

// acquire asks for a lease of its own.
func (a *agent) acquire(c *coordinator) {
	w := a.w
	w.mu.Lock()
	w.promises.leases++
	id := protocol.LeaseID("l-" + string(rune('a'+w.promises.leases%26)) + string(rune('a'+w.promises.leases/26%26)))
	w.mu.Unlock()
	a.leases = append(a.leases, id)
	q := &protocol.AcquireQuery{V: protocol.Version, Lease: id, TTLMS: protocol.MinLeaseTTL.Milliseconds()}
	c.serve(acquiring(q), func(r protocol.AcquireReply) { w.promises.acquired(id, r) })
}

// giveUp releases one of its leases.
func (a *agent) giveUp(c *coordinator, n int) {
	if len(a.leases) == 0 {
		return
	}
	id := a.leases[len(a.leases)-1-n%len(a.leases)]
	a.w.promises.asked("release " + string(id))
	c.serve(changing(protocol.HolderQuery{Op: protocol.HolderRelease, Lease: id}, func(r *protocol.OwnerRecord) bool {
		return r.DropLeases(time.Now(), id)
	}), func(protocol.AcquireReply) { a.w.saw("leases given up") })
}

func (a *agent) closeIt(c *coordinator) {
	a.w.promises.asked("close")
	c.serve(changing(protocol.HolderQuery{Op: protocol.HolderClose}, func(r *protocol.OwnerRecord) bool {
		had := len(r.Leases) > 0
		r.Leases = nil
		return had
	}), func(protocol.AcquireReply) { a.w.saw("closed") })
}

func (a *agent) deleteIt(c *coordinator) {
	a.w.promises.asked("delete")
	c.serve(deleting, func(protocol.AcquireReply) { a.w.promises.erased() })
}

// person takes the environment over, or gives it back.
func (a *agent) person(c *coordinator, op string, n int) {
	q := protocol.ControlQuery{V: protocol.Version, Key: owner, Op: op, Holder: []string{"ann", "ben"}[n%2], TTLMS: (4 * time.Second).Milliseconds()}
	a.w.promises.asked(op + " " + q.Holder)
	c.serve(controlling(q), func(protocol.AcquireReply) { a.w.saw("control " + op) })
}

func (a *agent) reset(c *coordinator, operator bool) {
	if operator {
		a.w.promises.asked("reset by an operator")
	}
	a.w.promises.asked("reset")
	c.serve(resetting(operator), func(protocol.AcquireReply) { a.w.saw("reset") })
}
