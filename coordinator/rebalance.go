package coordinator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// Rebalancing is off unless an operator switches it on: a move costs the agent
// what its checkpoint does not hold (the page as it was, a form half filled), and
// a fleet that is full on one side gets even by itself, since new owners go
// where there is room. It is for fleets whose owners live long.
const (
	// moveEvery: one owner a shard in this time, so that a mistake of placement,
	// or two leaders, never make a stampede.
	moveEvery = 5 * time.Second
	// idleFor is how long nothing was written for an owner that may move.
	idleFor = 30 * time.Second
	// unevenBy is the difference of two workers' loads that is worth a move, in
	// percent of their slots, and unevenOwners in owners.
	unevenBy     = 30
	unevenOwners = 3
)

// uneven finds the fullest worker, where it is much fuller than the emptiest one
// that takes owners. It is pure.
func uneven(all []candidate) (full protocol.WorkerID, found bool) {
	able := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return c.ineligible != "" || c.slots <= 0 })
	if len(able) < 2 {
		return "", false
	}
	load := func(c candidate) int { return 100 * (c.slots - c.free) / c.slots }
	slices.SortFunc(able, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(load(b), load(a)), cmp.Compare(a.id, b.id))
	})
	most, least := able[0], able[len(able)-1]
	if load(most)-load(least) < unevenBy || (most.slots-most.free)-(least.slots-least.free) < unevenOwners || least.free <= 0 {
		return "", false
	}
	return most.id, true
}

// rebalance asks the fullest worker to let one idle owner go. Its placement is
// then a placement like any other.
func (l *loop) rebalance(ctx context.Context) {
	now := time.Now()
	if !l.s.c.cfg.Rebalance || now.Sub(l.moved) < moveEvery || l.line.len() > 0 {
		return
	}
	full, found := uneven(l.s.c.registry.candidates())
	if !found {
		return
	}
	for key, e := range l.view {
		if e.worker != full || !l.movable(key, e, now) {
			continue
		}
		l.moved = now
		l.runJob(ctx, key, func(ctx context.Context, _ *outcome) {
			refused := l.s.c.ask(ctx, full, protocol.VerbRelease, protocol.Assignment{
				V: protocol.Version, Key: key, Shard: l.s.id, Fence: protocol.Seq(e.epoch), Reason: "balance",
			})
			l.s.log.Info("an idle owner moves for balance", "owner", key.String(), "from", full, "refused", refused)
		})
		return
	}
}

// movable reports whether nobody would notice that the owner moves.
func (l *loop) movable(key protocol.OwnerKey, e *entry, now time.Time) bool {
	return e.state == protocol.RecordAssigned && e.idle && !e.wrote.IsZero() && now.Sub(e.wrote) >= idleFor &&
		!l.busy[key] && !l.unanswered(key)
}
