package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Config is what a coordinator needs.
type Config struct {
	// ID is unique to this process: it holds leases and answers under it.
	ID       protocol.WorkerID
	Shards   protocol.ShardMap
	Conn     *natsx.Conn
	Observer Observer
	Meter    Meter // nil counts nothing
	Logger   *slog.Logger
	// Quotas are those of a tenant for which no operator wrote any; what is 0 in
	// them is that of DefaultQuotas.
	Quotas protocol.Quotas
	// MaxWaiting bounds a tenant's owners that wait for a worker, in each shard: a
	// further one is answered no_capacity at once. 0 is DefaultMaxWaiting.
	MaxWaiting int
	// Rebalance moves idle owners from full workers to empty ones.
	Rebalance bool
}

// DefaultMaxWaiting is far more than what a fleet can place within the longest
// queue deadline, and little enough to remember.
const DefaultMaxWaiting = 10_000

// Observer hears what is worth counting.
type Observer interface {
	Assigned(reason string)
	// AnsweredByCoordinator: the code is empty for an answer that is ok.
	AnsweredByCoordinator(code protocol.Code)
	WorkerGone()
}

// Coordinator assigns owners to workers.
type Coordinator struct {
	cfg      Config
	log      *slog.Logger
	registry *registry
	peers    *peers
	quotas   *quotaBook
	living   living
	shards   []*shard
}

// New prepares a coordinator; Run makes it live.
func New(cfg Config) *Coordinator {
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = DefaultMaxWaiting
	}
	if cfg.Meter == nil {
		cfg.Meter = noMeter{}
	}
	c := &Coordinator{
		cfg: cfg, log: cfg.Logger.With("coordinator", cfg.ID), registry: newRegistry(), peers: newPeers(cfg.Shards.Total),
		quotas: newQuotaBook(cfg.Quotas),
	}
	for s := range cfg.Shards.Total {
		c.shards = append(c.shards, newShard(c, protocol.Shard(s)))
	}
	return c
}

// Run serves until ctx ends.
func (c *Coordinator) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	defer loops.Wait()
	defer c.living.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	subs, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
	}()
	loops.Go(func() { c.runSuspicion(ctx) })
	loops.Go(func() { c.runBeats(ctx) })
	loops.Go(func() { c.runQuotas(ctx) })
	for _, s := range c.shards {
		loops.Go(func() { s.runLeadership(ctx) })
	}
	c.log.Info("coordinator is up", "shards", c.cfg.Shards.String())
	<-ctx.Done()
	return nil
}

// listen hears heartbeats, and serves agents and operators together with the
// other coordinators.
func (c *Coordinator) listen(ctx context.Context) ([]*nats.Subscription, error) {
	var subs []*nats.Subscription
	add := func(s *nats.Subscription, err error) error {
		if err == nil {
			subs = append(subs, s)
		}
		return err
	}
	nc := c.cfg.Conn.NC
	err := errors.Join(
		add(nc.Subscribe("bf.hb.*", func(m *nats.Msg) {
			var beat protocol.Heartbeat
			if json.Unmarshal(m.Data, &beat) == nil && beat.V == protocol.Version && protocol.HeartbeatSubject(beat.Worker) == m.Subject &&
				c.registry.heard(beat) {
				for _, s := range c.shards {
					s.roomFound()
				}
			}
		})),
		add(nc.Subscribe("bf.crd.*", c.onBeat)),
		// All hear it, and the leader of the owner's shard answers.
		add(nc.Subscribe(protocol.OpsSubject(protocol.OpsExplain), func(m *nats.Msg) { c.serveExplain(ctx, m) })),
		add(nc.QueueSubscribe("bf.svc.>", "coordinators", func(m *nats.Msg) { c.serveAgent(ctx, m) })),
		add(nc.QueueSubscribe("bf.ops.*", "coordinators", func(m *nats.Msg) { c.serveOperator(ctx, m) })),
	)
	if err != nil {
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return subs, nil
}

// runSuspicion looks for workers that have fallen silent, asks them, and tells
// the shards which are gone.
func (c *Coordinator) runSuspicion(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var questions sync.WaitGroup
	defer questions.Wait()
	for {
		select {
		case now := <-tick.C:
			for _, id := range c.registry.silent(now) {
				questions.Go(func() { c.confirm(ctx, id) })
			}
		case <-ctx.Done():
			return
		}
	}
}

func (c *Coordinator) confirm(ctx context.Context, id protocol.WorkerID) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	_, err := c.cfg.Conn.NC.RequestWithContext(ctx, protocol.ControlSubject(id, protocol.VerbPing), nil)
	if !c.registry.asked(id, err == nil) {
		return
	}
	c.log.Warn("a worker is gone; its owners move", "worker", id)
	c.cfg.Observer.WorkerGone()
	for _, s := range c.shards {
		s.workerGone(id)
	}
}

// ask sends a control request to a worker.
func (c *Coordinator) ask(ctx context.Context, id protocol.WorkerID, verb string, body any) *protocol.Error {
	return c.tell(ctx, id, verb, body).Error
}

// tell is ask with the whole reply. unavailable is silence, which says nothing of
// what the worker does; everything else is certain, and so is that nobody listens
// there: then nobody got the question.
func (c *Coordinator) tell(ctx context.Context, id protocol.WorkerID, verb string, body any) protocol.ControlReply {
	data, err := json.Marshal(body)
	if err != nil {
		return failure(protocol.Errorf(protocol.CodeInternal, "%v", err))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	m, err := c.cfg.Conn.NC.RequestWithContext(ctx, protocol.ControlSubject(id, verb), data)
	if errors.Is(err, nats.ErrNoResponders) {
		return failure(protocol.Errorf(protocol.CodeNotFound, "worker %s is not there", id))
	}
	if err != nil {
		return failure(protocol.Errorf(protocol.CodeUnavailable, "worker %s did not answer: %v", id, err))
	}
	var reply protocol.ControlReply
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		return failure(protocol.Errorf(protocol.CodeInternal, "worker %s answered nonsense: %v", id, err))
	}
	if !reply.OK && reply.Error == nil {
		return failure(protocol.Errorf(protocol.CodeInternal, "worker %s refused without a reason", id))
	}
	return reply
}

func failure(err *protocol.Error) protocol.ControlReply {
	return protocol.ControlReply{V: protocol.Version, Error: err}
}
