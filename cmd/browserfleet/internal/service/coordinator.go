package service

import (
	"context"
	"sync"

	"github.com/browserfleet/browserfleet/coordinator"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/telemetry"
	"github.com/browserfleet/browserfleet/worker"
)

// RunCoordinator runs a coordinator.
func RunCoordinator(ctx context.Context, version string) error {
	var cfg CoordinatorConfig
	if err := load(&cfg); err != nil {
		return err
	}
	ctx, stop := startLife(ctx, cfg.ExitWithStdin)
	defer stop()
	id := worker.NewID(cfg.CoordinatorName)
	i, err := startInstance(ctx, cfg.Process, "coordinator", version, string(id), cfg.MetricsListen)
	if err != nil {
		return err
	}
	defer i.close()
	conn, err := connect(ctx, &cfg.Messaging, "coordinator", i.log)
	if err != nil {
		return endedInTime(ctx, err)
	}
	defer conn.Close()
	return coordinator.New(coordinator.Config{
		ID: id, Shards: cfg.Shards, Conn: conn, Observer: placements{i.count}, Meter: newStandings(i.count), Logger: i.log,
		Quotas:     protocol.Quotas{Owners: cfg.QuotaOwners, Environments: cfg.QuotaEnvironments, QueueBytes: cfg.QuotaQueueBytes},
		MaxWaiting: cfg.MaxWaiting, Rebalance: cfg.Rebalance,
	}).Run(ctx)
}

// endedInTime is nil for a service that was asked to stop while it waited.
func endedInTime(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// placements counts what a coordinator does.
type placements struct{ count *telemetry.Metrics }

func (p placements) Assigned(reason string) { p.count.Assigned(context.Background(), reason) }

func (p placements) AnsweredByCoordinator(code protocol.Code) {
	p.count.AnsweredByCoordinator(context.Background(), code)
}

func (p placements) WorkerGone() { p.count.WorkerGone(context.Background()) }

// standings counts what the leaders of shards see.
type standings struct {
	count *telemetry.Metrics
	mu    sync.Mutex // guards waited
	// waited are the tenants whose line was told: one that is empty now is 0.
	waited map[protocol.Shard]map[protocol.Tenant]bool
}

func newStandings(count *telemetry.Metrics) *standings {
	return &standings{count: count, waited: map[protocol.Shard]map[protocol.Tenant]bool{}}
}

func (s *standings) Saw(what coordinator.Event) {
	ctx := context.Background()
	switch what {
	case coordinator.SawHibernation:
		s.count.Hibernated(ctx)
	case coordinator.SawWake:
		s.count.Woken(ctx)
	case coordinator.SawStrike:
		s.count.Struck(ctx)
	case coordinator.SawUnroutable:
		s.count.Unroutable(ctx)
	}
}

func (s *standings) Stands(shard protocol.Shard, now coordinator.Standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx := context.Background()
	s.count.ClientLeases(ctx, shard, now.Leases)
	if s.waited[shard] == nil {
		s.waited[shard] = map[protocol.Tenant]bool{}
	}
	for tenant := range now.Line {
		s.waited[shard][tenant] = true
	}
	for tenant := range s.waited[shard] {
		s.count.InLine(ctx, shard, tenant, now.Line[tenant])
	}
}
