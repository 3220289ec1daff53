package figures

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/protocol"
)

// move: the holder is drained; an agent that looks again and again waits once for
// the move, and that wait is the stall.
func move(ctx context.Context, b *bench) ([]Row, error) {
	var took []time.Duration
	o := devfleet.Options{Workers: 2, Slots: 8, Browser: service.BrowserChrome}
	err := b.withFleet(ctx, o, func(f *fleet) error {
		owner := f.newOwners(1)[0]
		if err := f.furnish(ctx, owner); err != nil {
			return err
		}
		for n := range b.repeats {
			d, err := f.moveOnce(ctx, owner)
			if err != nil {
				return fmt.Errorf("repeat %d: %w", n+1, err)
			}
			b.say("%d of %d: %s", n+1, b.repeats, d.Round(time.Millisecond))
			took = append(took, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		sorted(took).row("planned move of an idle environment, real browser: stall, p50", 0.50, 1),
		sorted(took).row("planned move of an idle environment, real browser: stall, p95", 0.95, 0),
	}, nil
}

// moveOnce is the longest wait for an answer from the drain until another worker
// has answered.
func (f *fleet) moveOnce(ctx context.Context, o *client.Owner) (longest time.Duration, err error) {
	if err := f.whole(ctx); err != nil {
		return 0, err
	}
	id, _, err := f.holder(ctx, o)
	if err != nil {
		return 0, err
	}
	if err := f.operator.Drain(ctx, id); err != nil {
		return 0, err
	}
	for {
		begun := time.Now()
		res, err := observe(ctx, o)
		longest = max(longest, time.Since(begun))
		if err != nil {
			return 0, err
		}
		if res.Worker == id {
			continue
		}
		if err := movedWhole(res); err != nil {
			return 0, err
		}
		return longest, f.without(ctx, id)
	}
}

// without waits until a worker is gone: one that drains may look whole for a
// moment.
func (f *fleet) without(ctx context.Context, id protocol.WorkerID) error {
	return until(ctx, string(id)+" is still there", func(ctx context.Context) (bool, error) {
		list, err := f.operator.Workers(ctx)
		there := slices.ContainsFunc(list, func(w protocol.WorkerInfo) bool { return w.Worker == id && w.State != "gone" })
		return err == nil && !there, err
	})
}

// movedWhole: a move that loses something is none.
func movedWhole(res *protocol.Result) error {
	if res.Restored == nil || res.Restored.CheckpointAt == nil {
		return fmt.Errorf("answered by %s without the moved state", res.Worker)
	}
	return nil
}
