package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// The lease of a shard's leader. Two leaders at once are harmless: every
// assignment is a compare-and-set that one of them loses.
const (
	//
	// A leader that dies is missed for leaseTTL and acquireEvery. The lease is
	// renewed four times within its time: a leader loses it only when it cannot write
	// for two seconds, and then others cannot either, or it is better led by them.
	leaseTTL     = 2 * time.Second
	renewEvery   = 500 * time.Millisecond
	acquireEvery = 250 * time.Millisecond
	reconcile    = 5 * time.Second
	// atOnce bounds owners that are being placed or answered at a time.
	atOnce = 16
)

// viewComes is what the records need to arrive when the loop begins. Who has heard
// of the workers for long enough looks at all owners then; a coordinator that has
// just started waits for their heartbeats.
const viewComes = 300 * time.Millisecond

// shard is one shard's leadership: a lease, and while it is held, a loop.
type shard struct {
	c   *Coordinator
	id  protocol.Shard
	log *slog.Logger

	gone chan protocol.WorkerID
	room chan struct{} // a worker has room again
	asks chan ask      // operators' questions, for the loop
	// life is the creation of the stream of requests as it was asked for last.
	life atomic.Pointer[streamLife]
}

func newShard(c *Coordinator, id protocol.Shard) *shard {
	return &shard{c: c, id: id, log: c.log.With("shard", int(id)), gone: make(chan protocol.WorkerID, 64), room: make(chan struct{}, 1), asks: make(chan ask)}
}

// workerGone tells the loop, if there is one. When the channel is full, the next
// reconcile finds out.
func (s *shard) workerGone(id protocol.WorkerID) {
	select {
	case s.gone <- id:
	default:
	}
}

// roomFound tells the loop that waiting owners may fit now.
func (s *shard) roomFound() {
	select {
	case s.room <- struct{}{}:
	default:
	}
}

// runLeadership acquires the lease, leads while it is held, and tries again.
func (s *shard) runLeadership(ctx context.Context) {
	lease := natsx.NewLease(s.c.cfg.Conn, protocol.LeaderBucket, "shard-"+s.id.String(), string(s.c.cfg.ID), leaseTTL)
	s.c.quotas.await(ctx)
	for ctx.Err() == nil {
		if !s.c.peers.mayLead(s.id, time.Now()) {
			pause(ctx, acquireEvery)
			continue
		}
		term, ok, err := lease.Acquire(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("cannot reach the leader lease", "error", err)
		}
		if ok {
			s.log.Info("leads", "term", term)
			s.runLead(ctx, lease)
		}
		pause(ctx, acquireEvery)
	}
}

// runLead runs the loop while the lease can be renewed.
func (s *shard) runLead(ctx context.Context, lease *natsx.Lease) {
	ctx, stop := context.WithCancel(ctx)
	s.c.peers.begins(s.id)
	defer s.c.peers.ends(s.id)
	var loop sync.WaitGroup
	loop.Go(func() {
		defer stop()
		if err := s.runLoop(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the leader's loop ended", "error", err)
		}
	})
	for pause(ctx, renewEvery) {
		err := lease.Renew(ctx)
		if errors.Is(err, natsx.ErrConflict) || (err != nil && time.Now().After(lease.Expires())) {
			s.log.Warn("the leader lease is lost", "error", err)
			break
		}
		if s.c.peers.yields(s.id, time.Now()) {
			s.log.Info("gives its leadership to a coordinator that leads less")
			break
		}
	}
	stop()
	loop.Wait()
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	lease.Release(release)
}

// pause waits; false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// loop is a leader's state. One goroutine owns it.
type loop struct {
	s    *shard
	view map[protocol.OwnerKey]*entry
	// stream is the shard's stream of requests as it was last looked at; its
	// zero value before the first reconcile.
	stream ownerlog.Stream
	// streamSeen is since when it is known.
	streamSeen time.Time
	// queued are the newest requests seen, by owner and lane.
	queued     map[protocol.OwnerKey]*lanes
	purging    map[protocol.OwnerKey]*purging
	purged     chan purged
	purgeSlots chan struct{}
	// busy are owners that a job works on; it ends with an outcome.
	busy  map[protocol.OwnerKey]bool
	done  chan outcome
	slots chan struct{}
	// again are owners to look at once more when their present work is done.
	again map[protocol.OwnerKey]bool
	// line are the owners that wait for a worker, or are being given one.
	line *line
	// spared are idle owners of a lost worker that wait for more than one worker to
	// choose from.
	spared    map[protocol.OwnerKey]bool
	usage     *usage
	decisions map[protocol.OwnerKey]*protocol.Decision
	heldBy    *comparison
	held      chan heldList
	// moved is when an idle owner was last moved for balance.
	moved time.Time
	work  sync.WaitGroup
}

// entry is what the leader knows of a record.
type entry struct {
	state            protocol.RecordState
	worker           protocol.WorkerID
	epoch            protocol.Epoch
	fence            protocol.Seq
	cursorQ, cursorC protocol.Seq
	life             ownerlog.Life // of the stream that the cursors belong to
	beyond           bool          // the cursors are beyond the stream's end
	since            time.Time
	failures, leases int
	idle             bool // nothing is begun, and nobody has it in hand
	wrote            time.Time
	erase            bool      // deleted, and not yet removed from the store
	eraseAgain       time.Time // when it is to be removed once more; zero is never
	// wanted is until when an agent waits for the environment to open.
	wanted time.Time
}

type lanes struct{ q, c protocol.Seq }

func (s *shard) runLoop(ctx context.Context) error {
	l := &loop{
		s: s, view: map[protocol.OwnerKey]*entry{}, queued: map[protocol.OwnerKey]*lanes{}, purging: map[protocol.OwnerKey]*purging{},
		busy: map[protocol.OwnerKey]bool{}, again: map[protocol.OwnerKey]bool{}, spared: map[protocol.OwnerKey]bool{},
		line: newLine(), usage: newUsage(),
		decisions: map[protocol.OwnerKey]*protocol.Decision{}, heldBy: newComparison(), held: make(chan heldList, atOnce),
		done: make(chan outcome, atOnce), purged: make(chan purged, purgesAtOnce), purgeSlots: make(chan struct{}, purgesAtOnce), slots: make(chan struct{}, atOnce),
	}
	defer l.work.Wait()
	in, closeInputs, err := s.inputs(ctx)
	if err != nil {
		return err
	}
	defer closeInputs()
	defer s.c.cfg.Meter.Stands(s.id, Standing{})
	connected := s.c.cfg.Conn.NC.StatusChanged(nats.CONNECTED)
	defer s.c.cfg.Conn.NC.RemoveStatusListener(connected)
	tick := time.NewTicker(reconcile)
	defer tick.Stop()
	second := time.NewTicker(beatEvery)
	defer second.Stop()
	first := time.NewTimer(max(viewComes, s.c.registry.graceLeft(time.Now())))
	defer first.Stop()
	for {
		select {
		case m := <-in.records:
			l.onRecord(ctx, m)
		case m := <-in.pushes:
			l.onPush(ctx, m)
		case m := <-in.hints:
			l.onHint(ctx, m)
		case id := <-s.gone:
			l.onWorkerGone(ctx, id)
		case <-s.room:
			l.onRoom(ctx)
		case o := <-l.done:
			l.onDone(ctx, o)
		case h := <-l.held:
			l.onHeld(ctx, h)
		case a := <-s.asks:
			a.reply <- l.snapshot(a.key)
		case <-second.C:
			l.report()
			l.unspare(ctx)
			l.compareHeld(ctx)
			l.rebalance(ctx)
		case p := <-l.purged:
			l.onPurged(ctx, p)
		case <-first.C:
			l.reconcile(ctx)
		case <-tick.C:
			l.reconcile(ctx)
		case <-connected:
			l.reconcile(ctx) // pushes may have been missed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// inputs are the leader's subscriptions.
type inputs struct {
	records chan natsx.Message
	pushes  chan *nats.Msg
	hints   chan *nats.Msg
}

func (s *shard) inputs(ctx context.Context) (*inputs, func(), error) {
	in := &inputs{records: make(chan natsx.Message, 1024), pushes: make(chan *nats.Msg, 4096), hints: make(chan *nats.Msg, 1024)}
	nc := s.c.cfg.Conn.NC
	var stops []func()
	stop := func() {
		for _, f := range stops {
			f()
		}
	}
	for subject, ch := range map[string]chan *nats.Msg{
		"bf.push." + s.id.String() + ".>": in.pushes,
		"bf.trim." + s.id.String() + ".>": in.hints,
	} {
		sub, err := nc.ChanSubscribe(subject, ch)
		if err != nil {
			stop()
			return nil, nil, err
		}
		stops = append(stops, func() { _ = sub.Unsubscribe() })
	}
	follow, err := s.follow(ctx, in.records)
	if err != nil {
		stop()
		return nil, nil, err
	}
	stops = append(stops, follow)
	return in, stop, nil
}
