package figures

import (
	"context"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
)

// rateOwners act at the same time, each as soon as it has its answer.
const rateOwners = 100

// rate: how many actions a second one server carries, each with its START and
// RESULT, answered to the agent.
func rate(ctx context.Context, b *bench) ([]Row, error) {
	var perSecond, p50 series
	count := 0
	o := devfleet.Options{Workers: 2, Slots: rateOwners, Browser: service.BrowserSimulated}
	err := b.withFleet(ctx, o, func(f *fleet) error {
		owners := f.newOwners(rateOwners)
		if err := openAll(ctx, owners, page); err != nil {
			return err
		}
		act := func(ctx context.Context, lane int) error { return click(ctx, owners[lane]) }
		for n := -1; n < b.repeats; n++ {
			length := b.window(8 * time.Second)
			if n < 0 {
				length = 3 * time.Second // warm-up
			}
			t, actions := runFlat(ctx, len(owners), length, act)
			if err := t.check("click"); err != nil {
				return err
			}
			if n < 0 {
				continue
			}
			s := t.samples()
			count += len(s)
			perSecond, p50 = append(perSecond, actions), append(p50, milliseconds(s.quantile(0.5)))
			b.say("%d of %d: %.0f a second", n+1, b.repeats, actions)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	most := perSecond.row("full actions, one nats-server, agents on the same machine", "a second", count, 1200)
	most.AtLeast = true
	return []Row{most, p50.row("an action at that rate, p50", "ms", count, 0)}, nil
}
