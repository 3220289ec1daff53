package coordinator

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/protocol"
)

// outcome is what a job came to. The loop gets one for every job.
type outcome struct {
	key protocol.OwnerKey
	// placement is of a job that placed the owner.
	placement *placement
	// refused is up to where the lanes of an owner without a record are empty.
	refused lanes
}

// job is work on one owner, outside of the loop.
type job func(context.Context, *outcome)

// look decides whether something has to be done for an owner, and begins it.
func (l *loop) look(ctx context.Context, key protocol.OwnerKey) {
	if l.busy[key] {
		l.again[key] = true
		return
	}
	todo, reason := l.seen(key).Todo(time.Now())
	switch todo {
	case decide.Place:
		if l.spare(key, reason) {
			return
		}
		t := ticket{key: key, reason: reason}
		if q := l.queued[key]; q != nil {
			t.seen = *q
		}
		l.admit(ctx, t)
		return
	case decide.Answer:
		l.runJob(ctx, key, l.answering(key))
	case decide.Free:
		l.runJob(ctx, key, func(ctx context.Context, _ *outcome) { l.s.letGo(ctx, key) })
	case decide.Erase:
		l.runJob(ctx, key, func(ctx context.Context, _ *outcome) { l.s.eraseDeleted(ctx, key) })
	}
	l.line.leave(key, true)
}

// seen is what the view has of the owner.
func (l *loop) seen(key protocol.OwnerKey) decide.Seen {
	s := decide.Seen{Unanswered: l.unanswered(key)}
	if e := l.view[key]; e != nil {
		s.State, s.Since, s.Erase, s.EraseAgain, s.Wanted = e.state, e.since, e.erase, e.eraseAgain, e.wanted
		s.Alive, s.Foreign = l.s.alive(e.worker), l.moves(e)
		s.Idle = e.idle && !l.foreign(e) && !l.s.c.registry.knows(e.worker)
	}
	return s
}

// answering answers what is due of the owner.
func (l *loop) answering(key protocol.OwnerKey) job {
	v := verdict{position: l.line.position(key)}
	return func(ctx context.Context, _ *outcome) { l.s.answer(ctx, key, v) }
}

// admit lets an owner wait for a worker, or refuses it.
func (l *loop) admit(ctx context.Context, t ticket) {
	if why := l.refusal(t.key); why != nil {
		l.line.leave(t.key, true)
		l.refuse(ctx, t.key, why)
		return
	}
	l.line.join(t)
	l.serve(ctx)
	if l.line.has(t.key) && !l.busy[t.key] && l.full() {
		// While it waits, what is due is answered.
		l.runJob(ctx, t.key, l.answering(t.key))
	}
}

// refusal is why the owner may not wait for a worker; nil where it may. Who has
// an environment, or moves, has passed here before.
func (l *loop) refusal(key protocol.OwnerKey) *protocol.Error {
	state := protocol.RecordNone
	if e := l.view[key]; e != nil {
		state = e.state
	}
	if _, live := counted(state); live {
		return nil
	}
	used, waits := l.uses(key), l.line.state(key) != TicketNone
	if waits {
		used.QueueBytes = 0 // it was there before those who sent too much
	}
	if why := decide.Over(l.s.c.quotas.of(key.Tenant), used, state == protocol.RecordNone); why != nil {
		why.Position = l.line.of(key.Tenant) + 1
		return why
	}
	if n := l.line.of(key.Tenant); n >= l.s.c.cfg.MaxWaiting && !waits {
		why := protocol.Errorf(protocol.CodeNoCapacity, "%d owners of the tenant wait for a worker already", n)
		why.RetryAfterMS, why.Position = decide.QuotaRetry.Milliseconds(), l.line.len()+1
		return why
	}
	return nil
}

// uses is what the tenant uses without this owner, in all shards, with those
// that had their turn and are not seen with a worker yet.
func (l *loop) uses(key protocol.OwnerKey) protocol.TenantUsage {
	u := l.usage.of(key.Tenant)
	for other := range l.line.underWay(key.Tenant) {
		state := protocol.RecordNone
		if e := l.view[other]; e != nil {
			state = e.state
		}
		if has, lives := counted(state); other != key {
			u.Environments += b2i(!lives)
			u.Owners += b2i(!has)
		}
	}
	o := l.s.c.peers.elsewhere(key.Tenant, l.s.id, time.Now())
	u.Owners, u.Environments, u.QueueBytes = u.Owners+o.Owners, u.Environments+o.Environments, u.QueueBytes+o.QueueBytes
	return u
}

// refuse answers all that the owner has queued.
func (l *loop) refuse(ctx context.Context, key protocol.OwnerKey, why *protocol.Error) {
	fresh := l.view[key] == nil
	l.runJob(ctx, key, func(ctx context.Context, o *outcome) {
		if fresh {
			o.refused = l.s.refuse(ctx, key, why)
			return
		}
		l.s.answer(ctx, key, verdict{all: why})
	})
}

// full reports whether as many owners had their turn as workers have room for.
func (l *loop) full() bool { return l.s.c.registry.room() <= l.line.called }

// serve calls those whose turn it is, while there is room. Who is worked on right
// now (what is due of it is answered) keeps its turn, and is placed after that.
func (l *loop) serve(ctx context.Context) {
	for l.line.called < atOnce && !l.full() {
		t, ok := l.line.call()
		if !ok {
			return
		}
		if !l.busy[t.key] {
			l.startPlacing(ctx, t)
		}
	}
}

// startPlacing gives an owner that had its turn to a worker.
func (l *loop) startPlacing(ctx context.Context, t ticket) {
	if why := l.refusal(t.key); why != nil {
		l.line.leave(t.key, true)
		l.refuse(ctx, t.key, why)
		return
	}
	l.runJob(ctx, t.key, func(ctx context.Context, o *outcome) {
		p := l.s.place(ctx, t)
		o.placement = &p
	})
}

// onRoom: a worker takes owners again, or a quota has changed.
func (l *loop) onRoom(ctx context.Context) {
	l.unspare(ctx)
	l.line.retry()
	l.serve(ctx)
}

// runJob works on one owner in a goroutine; never two for the same owner.
func (l *loop) runJob(ctx context.Context, key protocol.OwnerKey, do job) {
	l.busy[key] = true
	l.work.Go(func() {
		o := outcome{key: key}
		select {
		case l.slots <- struct{}{}:
			do(ctx, &o)
			<-l.slots
		case <-ctx.Done():
		}
		select {
		case l.done <- o:
		case <-ctx.Done():
		}
	})
}

func (l *loop) onDone(ctx context.Context, o outcome) {
	delete(l.busy, o.key)
	if o.placement != nil {
		l.onPlaced(ctx, o.key, o.placement)
	} else if t, called := l.line.isCalled(o.key); called {
		l.startPlacing(ctx, t)
	}
	if q := l.queued[o.key]; q != nil && l.view[o.key] == nil && q.q <= o.refused.q && q.c <= o.refused.c {
		delete(l.queued, o.key)
	}
	l.usage.trimmed(o.key, protocol.LaneQueue, o.refused.q)
	l.usage.trimmed(o.key, protocol.LaneControl, o.refused.c)
	if l.again[o.key] {
		delete(l.again, o.key)
		l.look(ctx, o.key)
	}
	l.serve(ctx)
}

// onPlaced remembers what was decided, and keeps the place of whom nobody could
// take.
func (l *loop) onPlaced(ctx context.Context, key protocol.OwnerKey, p *placement) {
	if p.decision != nil {
		l.decided(key, p.decision)
	}
	if e := p.written; e != nil {
		if old := l.view[key]; old == nil || old.fence < e.fence {
			l.learn(key, e)
		}
	}
	switch {
	case p.waits:
		if p.crowded {
			l.line.back(key)
		} else {
			l.line.unfit(key)
		}
		l.runJob(ctx, key, l.answering(key))
	case p.failed:
		l.line.untried(key)
	default:
		l.line.leave(key, p.written == nil)
	}
}
