package environment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// update is a change of the record that another goroutine of the environment
// needs: only the loop writes the record.
type update struct {
	change func(*protocol.OwnerRecord) error
	reply  chan error
}

// Run holds the owner until it is released, lost, or ctx ends. When it returns,
// its browser is closed and its goroutines have ended. It subscribes before it
// reads, so that no push falls between the two.
func (e *Environment) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	unsubscribe, err := e.subscribe()
	if err != nil {
		return err
	}
	defer unsubscribe()
	err = e.hold(ctx)
	if fenced(err) {
		e.cfg.Observer.Fenced()
		e.log.Warn("fenced: another holds the owner; closing its browser")
	}
	// Whatever still runs sees the cause, and may dispatch nothing: updates are
	// not served any more.
	cancel(err)
	e.shutdown(err)
	return err
}

// fenced: another holds the owner, by its record or by its checkpoints.
func fenced(err error) bool {
	return errors.Is(err, ownerlog.ErrFenced) || errors.Is(err, checkpoints.ErrFenced)
}

func (e *Environment) subscribe() (func(), error) {
	var stops []func()
	stop := func() {
		for _, f := range stops {
			f()
		}
	}
	for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
		unsubscribe, err := e.cfg.Conn.Listen(protocol.PushSubject(e.cfg.Shard, e.cfg.Key, lane), e.pushes)
		if err != nil {
			stop()
			return nil, fmt.Errorf("subscribe to pushes of %s: %w", e.cfg.Key, err)
		}
		stops = append(stops, unsubscribe)
	}
	return stop, nil
}

// hold claims the owner and serves it.
func (e *Environment) hold(ctx context.Context) error {
	if err := e.claim(ctx); err != nil {
		return err
	}
	if e.failing {
		return e.fail(ctx)
	}
	e.wantOpen = true
	sweep := time.NewTicker(sweepGap)
	defer sweep.Stop()
	idle := time.NewTimer(idleFlush)
	defer idle.Stop()
	for {
		if err := e.advance(ctx); err != nil {
			return err
		}
		if e.holder.Dirty() {
			idle.Reset(idleFlush)
		}
		if err := e.await(ctx, sweep.C, idle.C); err != nil {
			return err
		}
	}
}

// claim makes this worker's hold effective: a write of the record under its own
// epoch. The former holder's next write is refused from here on.
func (e *Environment) claim(ctx context.Context) error {
	diedOpening := false
	h, err := ownerlog.ClaimFrom(ctx, e.cfg.Conn, e.cfg.Shard, e.cfg.Key, e.cfg.Fence,
		func(rec *protocol.OwnerRecord, _ protocol.Seq) (*protocol.OwnerRecord, error) {
			if rec == nil || rec.State != protocol.RecordAssigned || rec.Worker != e.cfg.Worker {
				return nil, ErrNotOurs
			}
			// Whether it died opening stays in the record until that is counted.
			diedOpening = rec.Opening
			return rec.Clone(), nil
		})
	if err != nil {
		return err
	}
	e.holder = h
	e.queue, e.control = h.NewLane(protocol.LaneQueue), h.NewLane(protocol.LaneControl)
	e.orphan, e.orphanC = orphanIn(h.Record(), protocol.LaneQueue), orphanIn(h.Record(), protocol.LaneControl)
	if alarm := h.Alarm(); alarm != nil {
		e.log.Error("the record does not fit its stream", "error", alarm)
	}
	e.publishStatus()
	// Cancels that the former holder did not see come before any action. What a
	// takeover finds comes from the leader: a follower may be behind.
	if err := errors.Join(e.control.Fill(ctx, true), e.queue.Fill(ctx, true)); err != nil {
		return err
	}
	return e.settleFormer(ctx, diedOpening)
}

// orphanIn is the START that the record has for a lane, behind its cursor.
func orphanIn(rec *protocol.OwnerRecord, lane protocol.Lane) *protocol.Inflight {
	in := rec.Inflight(lane)
	if in == nil || (in.Seq != 0 && in.Seq <= rec.Cursor(lane)) {
		return nil
	}
	orphan := *in
	return &orphan
}

// advance does everything that can be done without waiting: control first, then
// the next action.
func (e *Environment) advance(ctx context.Context) error {
	if err := e.settleAction(ctx); err != nil {
		return err
	}
	if err := e.fill(ctx); err != nil {
		return err
	}
	if e.isSuspended() && e.cfg.Contact.Fresh() {
		// A push came before the news that contact is back.
		if err := e.confirmOurs(ctx); err != nil {
			return err
		}
	}
	if err := e.serveControl(ctx); err != nil {
		return err
	}
	e.settleControl()
	select {
	case <-lostOf(e.browser): // nothing begins in a browser that is dead
		if err := e.onLost(ctx); err != nil {
			return err
		}
	default:
	}
	select {
	case <-e.doom():
		if err := e.onDoom(ctx); err != nil {
			return err
		}
	default:
	}
	if err := e.serveQueue(ctx); err != nil {
		return err
	}
	// What is being written may be the state to open with.
	if e.wantOpen && e.saving == nil && !time.Now().Before(e.openAt) {
		e.runOpen(ctx)
	}
	return nil
}

// fill repairs gaps. A read that fails leaves the gap; the sweep comes back.
func (e *Environment) fill(ctx context.Context) error {
	for _, lane := range []*ownerlog.Lane{e.control, e.queue} {
		for try := 0; lane.Gap() && try < 2; try++ {
			if err := lane.Fill(ctx, try > 0); err != nil {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				e.log.Warn("cannot read the queue", "error", err)
				break
			}
		}
	}
	return nil
}

// await takes one event.
func (e *Environment) await(ctx context.Context, sweep, idle <-chan time.Time) error {
	select {
	case m := <-e.pushes:
		e.push(m)
		return e.drainPushes()
	case o := <-e.opened:
		return e.onOpened(ctx, o)
	case end := <-e.ended:
		e.onEnded(end)
		return nil
	case c := <-e.afterEnd():
		e.onCaptured(ctx, c)
		return nil
	case c := <-e.commits:
		return e.onCommitted(ctx, c)
	case <-e.answerDue():
		return nil
	case u := <-e.updates:
		return e.onUpdate(ctx, u)
	case <-lostOf(e.browser):
		return e.onLost(ctx)
	case <-e.doom():
		return e.onDoom(ctx)
	case r := <-e.replies:
		return e.onReply(ctx, r)
	case d := <-e.demands:
		return e.onDemand(ctx, d)
	case <-e.alarm():
		return e.onAlarm(ctx)
	case <-e.reopen():
		return nil
	case reason := <-e.release:
		e.releasing = reason
		return e.onRelease(ctx)
	case <-e.resume:
		// Pushes may have been missed meanwhile, and the owner may have moved: a
		// worker that was away for less than it takes to be suspended finds out
		// by this write.
		e.queue.Suspect()
		e.control.Suspect()
		return e.confirmOurs(ctx)
	case <-e.overdue():
		return e.onOverdue()
	case <-e.handoverDue():
		if e.running == nil {
			return e.onRelease(ctx)
		}
		e.hurry()
		return nil
	case <-e.retry():
		return nil
	case <-e.gapRetry():
		return nil
	case <-e.streams:
		return e.onStreamReplaced(ctx)
	case <-sweep:
		e.queue.Suspect()
		e.control.Suspect()
		return e.recycle(ctx)
	case <-idle:
		return e.holder.Flush(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// onUpdate writes the record for another goroutine.
func (e *Environment) onUpdate(ctx context.Context, u update) error {
	sent := time.Now()
	err := e.holder.Update(ctx, u.change)
	if err == nil {
		e.cfg.Contact.Written(sent)
		e.unsuspend() // the write decides: still ours
	}
	u.reply <- err
	if errors.Is(err, ownerlog.ErrFenced) {
		return err
	}
	return nil
}

// gapRetry wakes the loop to read again what could not be read, or what the
// stream's leader does not have yet although it was pushed.
func (e *Environment) gapRetry() <-chan time.Time {
	if !e.queue.Gap() && !e.control.Gap() {
		return nil
	}
	return time.After(gapPause)
}

// drainPushes takes what else has arrived, without waiting.
func (e *Environment) drainPushes() error {
	for {
		select {
		case m := <-e.pushes:
			e.push(m)
		default:
			return nil
		}
	}
}

func (e *Environment) push(m *nats.Msg) {
	msg, err := natsx.ReadPush(m)
	if err != nil {
		e.log.Warn("a push that the server did not make", "error", err)
		return
	}
	lane := e.queue
	if msg.Subject == protocol.ActSubject(e.cfg.Shard, e.cfg.Key, protocol.LaneControl) {
		lane = e.control
	}
	if lane.Push(msg) {
		e.cfg.Observer.PushGap()
	}
}

// lostOf is the browser's death, or never.
func lostOf(b Browser) <-chan struct{} {
	if b == nil {
		return nil
	}
	return b.Lost()
}

// retry wakes the loop when an environment that could not be opened may try
// again and a request waits for it.
func (e *Environment) retry() <-chan time.Time {
	// Suspended, nothing is tried: a time that has passed would fire for ever.
	if e.state != Unavailable || e.queue.Len() == 0 || e.isSuspended() {
		return nil
	}
	return time.After(time.Until(e.retryAt))
}

// shutdown closes the browser, waits for what still runs, and answers who waits.
func (e *Environment) shutdown(why error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if e.browser != nil {
		if err := e.browser.Close(ctx); err != nil {
			e.log.Error("close the browser", "error", err)
		}
	}
	e.work.Wait()
	select {
	case o := <-e.opened: // a browser that came too late
		if o.browser != nil {
			if err := o.browser.Close(ctx); err != nil {
				e.log.Error("close the browser", "error", err)
			}
		}
	default:
	}
	e.answerAll(why)
	e.state = Closed
	e.status.Store(&Status{Key: e.cfg.Key, State: Closed})
}
