package figures

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/telemetry"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

const (
	addedOwners = 100
	addedRate   = 100.0 // actions a second, of all owners together
	// latency of a simulated action, in process and in the fleet.
	latency = 2 * time.Millisecond
)

// added: what the fleet adds to an action.
func added(ctx context.Context, b *bench) ([]Row, error) {
	sink, err := startCollector()
	if err != nil {
		return nil, err
	}
	defer sink.stop()
	told, err := telemetry.Setup(ctx, telemetry.Config{Service: "bench", Endpoint: sink.url})
	if err != nil {
		return nil, err
	}
	defer func() { _ = told.Shutdown(context.WithoutCancel(ctx)) }()
	o := devfleet.Options{
		Workers: 2, Slots: addedOwners, Browser: service.BrowserSimulated, DispatchLogs: true,
		Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + sink.url},
	}
	var fleet50, fleet99, added50, added99 series
	count := 0
	err = b.withFleet(ctx, o, func(f *fleet) error {
		owners := f.newOwners(addedOwners)
		if err := openAll(ctx, owners, page); err != nil {
			return err
		}
		warm := runPaced(ctx, addedRate, 3*time.Second, clickOne(owners))
		if err := warm.check("warm-up"); err != nil {
			return err
		}
		for n := range b.repeats {
			alone, err := inProcess(ctx, b.window(10*time.Second)/2)
			if err != nil {
				return err
			}
			t := runPaced(ctx, addedRate, b.window(10*time.Second), clickOne(owners))
			if err := t.check("click"); err != nil {
				return err
			}
			s := t.samples()
			count += len(s)
			fleet50, fleet99 = append(fleet50, milliseconds(s.quantile(0.5))), append(fleet99, milliseconds(s.quantile(0.99)))
			added50 = append(added50, milliseconds(s.quantile(0.5)-alone.quantile(0.5)))
			added99 = append(added99, milliseconds(s.quantile(0.99)-alone.quantile(0.99)))
			b.say("%d of %d: p50 %.2f ms, p99 %.2f ms; in process %.2f and %.2f ms", n+1, b.repeats, fleet50[n], fleet99[n],
				milliseconds(alone.quantile(0.5)), milliseconds(alone.quantile(0.99)))
		}
		if sink.heard() == 0 {
			return errors.New("no trace arrived: tracing was not on")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		added50.row("added by the fleet, 100 owners, p50", "ms", count, 2),
		added99.row("added by the fleet, 100 owners, p99", "ms", count, 10),
		fleet50.row("an action through the fleet, 2 ms of it in the browser, p50", "ms", count, 0),
		fleet99.row("an action through the fleet, 2 ms of it in the browser, p99", "ms", count, 0),
	}, nil
}

// row is of values that are one a repeat.
func (s series) row(what, unit string, samples int, bar float64) Row {
	median, low, high := s.spread()
	return Row{What: what, Unit: unit, Median: median, Low: low, High: high, Repeats: len(s), Samples: samples, Bar: bar}
}

// clickOne clicks in turn.
func clickOne(owners []*client.Owner) func(context.Context, int) error {
	return func(ctx context.Context, n int) error { return click(ctx, owners[n%len(owners)]) }
}

// inProcess does the same to browsers of the same kind in this process, at the
// same rate.
func inProcess(ctx context.Context, length time.Duration) (samples, error) {
	launcher := &simulated.Launcher{Latency: latency}
	browsers := make([]environment.Browser, addedOwners)
	for i := range browsers {
		b, _, err := launcher.Open(ctx, environment.Spec{Generation: 1, Loaded: &checkpoints.Loaded{}})
		if err != nil {
			return nil, err
		}
		defer func() { _ = b.Close(ctx) }()
		browsers[i] = b
		if err := inBrowser(ctx, b, protocol.KindOpen, &protocol.OpenArgs{URL: page}); err != nil {
			return nil, err
		}
	}
	t := runPaced(ctx, addedRate, length, func(ctx context.Context, n int) error {
		return inBrowser(ctx, browsers[n%len(browsers)], protocol.KindClick, &protocol.ClickArgs{Target: protocol.Target{ElementRef: link}})
	})
	return t.samples(), t.check("in process")
}

func inBrowser(ctx context.Context, b environment.Browser, kind protocol.Kind, args protocol.Args) error {
	req, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		return err
	}
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	a, refusal := protocol.ParseAction(body, protocol.LaneQueue)
	if refusal != nil {
		return refusal
	}
	if out := b.Run(ctx, &a, func() error { return nil }); out.Err != nil {
		return out.Err
	}
	return nil
}
