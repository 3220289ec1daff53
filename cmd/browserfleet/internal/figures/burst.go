package figures

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	burstWorkers = 3
	burstOwners  = 100 // of the worker that is killed
	// goneText is how the coordinator's log begins the line of a lost worker.
	goneText = "a worker is gone"
)

// burst: a worker of 100 owners dies, and all of them have work in their queues.
func burst(ctx context.Context, b *bench) ([]Row, error) {
	var after, whole []time.Duration
	o := devfleet.Options{
		Workers: burstWorkers, Slots: burstWorkers * burstOwners, Browser: service.BrowserSimulated,
	}
	err := b.withFleet(ctx, o, func(f *fleet) error {
		for n := range b.repeats {
			detected, all, err := f.burstOnce(ctx)
			if err != nil {
				return fmt.Errorf("repeat %d: %w", n+1, err)
			}
			b.say("%d of %d: all answered %s after the kill, %s after it was noticed", n+1, b.repeats,
				all.Round(time.Millisecond), (all - detected).Round(time.Millisecond))
			after, whole = append(after, all-detected), append(whole, all)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		sorted(after).row("worker of 100 owners with queued work killed: all have run elsewhere after it was noticed", 0.50, 1),
		sorted(whole).row("the same after the kill", 0.50, 0),
	}, nil
}

// burstOnce returns how long after the kill it was noticed, and the last owner's
// queued action answered.
func (f *fleet) burstOnce(ctx context.Context) (detected, all time.Duration, err error) {
	if err := f.whole(ctx); err != nil {
		return 0, 0, err
	}
	child, mine, err := f.crowd(ctx)
	if err != nil {
		return 0, 0, err
	}
	log := f.folder.Log(devfleet.NameCoordinator)
	seen, err := os.Stat(log)
	if err != nil {
		return 0, 0, err
	}
	if err := f.Kill(child); err != nil {
		return 0, 0, err
	}
	killed := time.Now()
	t := runEach(ctx, len(mine), len(mine), func(ctx context.Context, n int) error { return open(ctx, mine[n], page) })
	if err := t.check("open"); err != nil {
		return 0, 0, err
	}
	at, err := noticed(log, seen.Size())
	if err != nil {
		return 0, 0, err
	}
	for _, o := range mine {
		if err := o.Close(ctx); err != nil {
			return 0, 0, err
		}
		o.Forget()
	}
	return at.Sub(killed), t.samples().quantile(1), nil
}

// crowd opens owners until a worker has as many as are wanted, and ends the
// others.
func (f *fleet) crowd(ctx context.Context) (child string, mine []*client.Owner, err error) {
	owners := f.newOwners(burstWorkers * burstOwners * 6 / 5)
	if err := openAll(ctx, owners, page); err != nil {
		return "", nil, err
	}
	by := map[protocol.WorkerID][]*client.Owner{}
	for _, o := range owners {
		info, err := f.clients[0].Describe(ctx, o.ID())
		if err != nil {
			return "", nil, err
		}
		by[info.Worker] = append(by[info.Worker], o)
	}
	var chosen protocol.WorkerID
	for id, held := range by {
		if len(held) > len(by[chosen]) {
			chosen = id
		}
	}
	mine = by[chosen]
	if len(mine) < burstOwners {
		return "", nil, fmt.Errorf("no worker has %d owners: %d at most", burstOwners, len(mine))
	}
	for id, held := range by {
		if id == chosen {
			held = held[burstOwners:]
		}
		for _, o := range held {
			if err := o.Close(ctx); err != nil {
				return "", nil, err
			}
			o.Forget()
		}
	}
	mine = mine[:burstOwners]
	_, child, err = f.holder(ctx, mine[0])
	return child, mine, err
}

// noticed is when the coordinator wrote that a worker is gone, past the part of
// the log that was there before.
func noticed(log string, from int64) (time.Time, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(text[min(from, int64(len(text))):])) {
		if !strings.Contains(line, goneText) {
			continue
		}
		_, rest, _ := strings.Cut(line, "time=")
		stamp, _, _ := strings.Cut(rest, " ")
		return time.Parse(time.RFC3339Nano, stamp)
	}
	return time.Time{}, errors.New("the coordinator's log does not say when it noticed")
}
