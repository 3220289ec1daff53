package telemetry

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/protocol"
)

// The tests of Setup are not parallel: it installs the process's providers.

func TestSpansAndMetricsReachTheCollector(t *testing.T) {
	collector, endpoint := startCollector(t)
	tel := setup(t, Config{Service: "worker", Version: "v1.2.3", Instance: "w1-k3v9", Endpoint: endpoint})

	ctx, span := otel.Tracer("somewhere").Start(t.Context(), "click")
	metrics, err := NewMetrics(tel.Meter())
	if err != nil {
		t.Fatal(err)
	}
	metrics.ActionDone(ctx, protocol.KindClick, protocol.StatusOK, "", 80*time.Millisecond)
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	names, resource := collector.spanNames()
	if diff := cmp.Diff([]string{"click"}, names); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"service.name": "browserfleet-worker", "service.version": "v1.2.3",
		"service.instance.id": "w1-k3v9", "service.namespace": "browserfleet",
	} {
		if resource[key] != want {
			t.Errorf("%s is %q, want %q", key, resource[key], want)
		}
	}
	arrived := collector.metricNames()
	for _, want := range []string{"browserfleet.actions", "browserfleet.action.duration"} {
		if !arrived[want] {
			t.Errorf("%s did not arrive, only %v", want, arrived)
		}
	}
}

func TestWithoutEndpointThereAreIDsAndNoGoroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	tel := setup(t, Config{Service: "client"})
	ctx, span := tel.Tracer().Start(t.Context(), "open")
	defer span.End()
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() || !sc.IsSampled() {
		t.Errorf("span context %+v: want a valid one that is sampled", sc)
	}
	if len(TraceID(ctx)) != 32 {
		t.Errorf("trace id %q", TraceID(ctx))
	}
	goleak.VerifyNone(t, before)
}

func TestPrometheusPage(t *testing.T) {
	tel := setup(t, Config{Service: "coordinator"})
	m, err := NewMetrics(tel.Meter())
	if err != nil {
		t.Fatal(err)
	}
	m.Assigned(t.Context(), "worker_lost")
	m.OwnersHeld(t.Context(), 7)
	m.CheckpointDone(t.Context(), CheckpointSave, "", 20*time.Millisecond, 9000)
	recorder := httptest.NewRecorder()
	tel.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`browserfleet_assignments_total{reason="worker_lost"} 1`,
		`browserfleet_owners 7`,
		`browserfleet_checkpoint_size_bytes_bucket{operation="save",le="16384"} 1`,
		`browserfleet_checkpoint_duration_seconds_count{code="",operation="save"} 1`,
		`service_name="browserfleet-coordinator"`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in the page:\n%s", want, body)
		}
	}
}

func TestShutdownEndsThoughTheCollectorIsGone(t *testing.T) {
	tel := setup(t, Config{Service: "worker", Endpoint: "http://127.0.0.1:1"})
	_, span := tel.Tracer().Start(t.Context(), "click")
	span.End()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// TestMain sees what it leaves behind.
	if err := tel.Shutdown(ctx); err == nil {
		t.Error("undelivered spans are not reported")
	}
}

func TestSetupRefuses(t *testing.T) {
	for name, c := range map[string]Config{
		"no service":      {},
		"no scheme":       {Service: "worker", Endpoint: "localhost:4317"},
		"another scheme":  {Service: "worker", Endpoint: "ftp://host"},
		"no host":         {Service: "worker", Endpoint: "http://"},
		"with a password": {Service: "worker", Endpoint: "http://me:hunter2@host:4317"},
		"not a URL":       {Service: "worker", Endpoint: "http://me:hunter2@host:port"},
	} {
		tel, err := Setup(t.Context(), c)
		if err == nil {
			t.Errorf("%s is accepted", name)
			_ = tel.Shutdown(t.Context())
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password is in the error: %v", name, err)
		}
	}
}

func TestFromEnv(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")
	want := Config{Service: "worker", Version: "v1", Instance: "w1", Endpoint: "http://collector:4317"}
	if diff := cmp.Diff(want, FromEnv("worker", "v1", "w1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if got := FromEnv("worker", "v1", "w1").Endpoint; got != "" {
		t.Errorf("disabled, and still %q", got)
	}
}

func setup(t *testing.T, c Config) *Telemetry {
	t.Helper()
	tel, err := Setup(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Some tests have shut it down already; that is no error here.
		_ = tel.Shutdown(context.Background())
	})
	return tel
}
