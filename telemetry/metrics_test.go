package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/browserfleet/browserfleet/protocol"
)

// TestEveryInstrument calls every method once and reads all points back.
func TestEveryInstrument(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	m, err := NewMetrics(provider.Meter(Scope))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	m.ActionDone(ctx, protocol.KindClick, protocol.StatusOK, "", time.Second)
	m.ActionDone(ctx, "fly-"+protocol.Kind(strings.Repeat("x", 100)), protocol.StatusError, "made_up", 0)
	m.ActionDone(ctx, "", protocol.StatusError, protocol.CodeInvalidRequest, 0)
	m.QueueWaited(ctx, protocol.LaneQueue, -time.Second) // a server's clock that stepped back
	m.CheckpointDone(ctx, CheckpointSave, "", time.Second, 4096)
	m.CheckpointDone(ctx, CheckpointRestore, protocol.CodeCheckpointStore, time.Second, 0)
	m.OwnersHeld(ctx, 3)
	m.OwnersHeld(ctx, 2)
	m.Fenced(ctx)
	m.Suspended(ctx)
	m.EgressDenied(ctx, "cloud_metadata", 4)
	m.PushGap(ctx)
	m.AnsweredByCoordinator(ctx, protocol.CodeNoCapacity)
	m.Assigned(ctx, "new")
	m.Unroutable(ctx)
	m.EventLost(ctx)
	m.IllegalTransition(ctx, "environment")
	m.Hibernated(ctx)
	m.Woken(ctx)
	m.Struck(ctx)
	m.WorkerGone(ctx)
	m.ClientLeases(ctx, 2, 7)
	m.InLine(ctx, 2, "acme", 3)

	want := map[string]float64{
		"browserfleet.actions{code=,kind=click,status=ok}":                                      1,
		"browserfleet.actions{code=other,kind=other,status=error}":                              1,
		"browserfleet.actions{code=invalid_request,kind=other,status=error}":                    1,
		"browserfleet.action.duration{kind=click,status=ok}":                                    1,
		"browserfleet.action.duration{kind=other,status=error}":                                 2,
		"browserfleet.action.queue_wait{lane=q}":                                                1,
		"browserfleet.checkpoint.duration{code=,operation=save}":                                1,
		"browserfleet.checkpoint.duration{code=checkpoint_store_unavailable,operation=restore}": 1,
		"browserfleet.checkpoint.size{operation=save}":                                          1,
		"browserfleet.owners{}":                                                                 2,
		"browserfleet.fenced{}":                                                                 1,
		"browserfleet.suspended{}":                                                              1,
		"browserfleet.egress.denied{reason=cloud_metadata}":                                     4,
		"browserfleet.push.gaps{}":                                                              1,
		"browserfleet.answered_by_coordinator{code=no_capacity}":                                1,
		"browserfleet.assignments{reason=new}":                                                  1,
		"browserfleet.requests.unroutable{}":                                                    1,
		"browserfleet.events.lost{}":                                                            1,
		"browserfleet.illegal_transitions{machine=environment}":                                 1,
		"browserfleet.hibernations{}":                                                           1,
		"browserfleet.wakes{}":                                                                  1,
		"browserfleet.strikes{}":                                                                1,
		"browserfleet.workers.gone{}":                                                           1,
		"browserfleet.client_leases{shard=2}":                                                   7,
		"browserfleet.line{shard=2,tenant=acme}":                                                3,
	}
	if diff := cmp.Diff(want, points(t, reader)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoMetricsAreSilent(t *testing.T) {
	t.Parallel()
	m := NoMetrics()
	m.ActionDone(t.Context(), protocol.KindOpen, protocol.StatusOK, "", time.Second)
	m.OwnersHeld(t.Context(), 1)
}

// points are sums, gauges, and counts of histograms, by name and attributes.
func points(t *testing.T, reader sdkmetric.Reader) map[string]float64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	put := func(name string, set attribute.Set, v float64) {
		got[name+"{"+set.Encoded(attribute.DefaultEncoder())+"}"] = v
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Count))
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Count))
				}
			default:
				t.Errorf("%s has data of type %T", m.Name, d)
			}
		}
	}
	return got
}
