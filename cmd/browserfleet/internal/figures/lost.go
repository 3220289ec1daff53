package figures

import (
	"context"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/protocol"
)

// lost: SIGKILL to the worker that holds an idle owner; the owner acts at once.
func lost(ctx context.Context, b *bench) ([]Row, error) {
	took, err := b.lose(ctx, service.BrowserSimulated)
	if err != nil {
		return nil, err
	}
	return []Row{
		took.row("worker killed: next action answered elsewhere, p50", 0.50, 2.5),
		took.row("worker killed: next action answered elsewhere, p95", 0.95, 4),
	}, nil
}

// lostChrome: the same with a real browser.
func lostChrome(ctx context.Context, b *bench) ([]Row, error) {
	took, err := b.lose(ctx, service.BrowserChrome)
	if err != nil {
		return nil, err
	}
	return []Row{
		took.row("worker killed, real browser with a checkpoint: next action answered elsewhere, p50", 0.50, 0),
		took.row("worker killed, real browser with a checkpoint: next action answered elsewhere, p95", 0.95, 6),
	}, nil
}

// row is of samples that are one a repeat, in seconds.
func (s samples) row(what string, q, bar float64) Row {
	return Row{
		What: what, Unit: "s", Median: s.quantile(q).Seconds(), Low: s.quantile(0).Seconds(), High: s.quantile(1).Seconds(),
		Repeats: len(s), Samples: len(s), Bar: bar,
	}
}

func (b *bench) lose(ctx context.Context, browser string) (samples, error) {
	var took []time.Duration
	o := devfleet.Options{Workers: 3, Slots: 8, Browser: browser}
	err := b.withFleet(ctx, o, func(f *fleet) error {
		for n := range b.repeats {
			d, err := f.loseOnce(ctx)
			if err != nil {
				return fmt.Errorf("repeat %d: %w", n+1, err)
			}
			b.say("%d of %d: %s", n+1, b.repeats, d.Round(time.Millisecond))
			took = append(took, d)
		}
		return nil
	})
	return sorted(took), err
}

// loseOnce takes a fresh owner, whose environment has something to lose.
func (f *fleet) loseOnce(ctx context.Context) (time.Duration, error) {
	if err := f.whole(ctx); err != nil {
		return 0, err
	}
	o := f.newOwners(1)[0]
	defer o.Forget()
	if err := f.furnish(ctx, o); err != nil {
		return 0, err
	}
	id, child, err := f.holder(ctx, o)
	if err != nil {
		return 0, err
	}
	if err := f.Kill(child); err != nil {
		return 0, err
	}
	begun := time.Now()
	res, err := observe(ctx, o)
	took := time.Since(begun)
	switch {
	case err != nil:
		return 0, err
	case res.Worker == id || res.Restored == nil:
		return 0, fmt.Errorf("answered by %s, restored %t: want another worker than %s", res.Worker, res.Restored != nil, id)
	case res.Restored.CheckpointAt == nil:
		return 0, fmt.Errorf("nothing of the environment survived: %v", res.Restored.Lost)
	}
	return took, nil
}

func observe(ctx context.Context, o *client.Owner) (*protocol.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	res, err := o.Observe(ctx)
	if err := outcome(res, err); err != nil {
		return nil, err
	}
	return res, nil
}

// furnish opens a page and changes the state, so that there is a checkpoint: each
// is saved before its result.
func (f *fleet) furnish(ctx context.Context, o *client.Owner) error {
	if f.Running.Browser == service.BrowserChrome {
		return open(ctx, o, f.Site+"/")
	}
	if err := open(ctx, o, page); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	res, err := o.Fill(ctx, "e1", "something to keep")
	return outcome(res, err)
}
