package telemetry

import (
	"context"
	"errors"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

var errAborted = errors.New("the process is stopping")

// aborter ends exports in flight. The SDK cannot: its periodic reader exports
// under a context of its own, with a time-out of ten seconds, during which the
// exporter's Shutdown waits for a lock and heeds no context.
type aborter struct {
	mu      sync.Mutex // protects what follows
	aborted bool
	next    int
	running map[int]context.CancelCauseFunc
}

// bind is ctx, cancelled by abort also. The function returned must be called.
func (a *aborter) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.aborted {
		cancel(errAborted)
		return ctx, func() {}
	}
	if a.running == nil {
		a.running = map[int]context.CancelCauseFunc{}
	}
	id := a.next
	a.next++
	a.running[id] = cancel
	return ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, id)
		cancel(nil)
	}
}

// abort ends what runs, and lets nothing run any more.
func (a *aborter) abort() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.aborted = true
	for _, cancel := range a.running {
		cancel(errAborted)
	}
}

// spanExporter and pointExporter are exporters whose exports can be aborted.
type spanExporter struct {
	sdktrace.SpanExporter
	*aborter
}

func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, release := e.bind(ctx)
	defer release()
	return e.SpanExporter.ExportSpans(ctx, spans)
}

type pointExporter struct {
	sdkmetric.Exporter
	*aborter
}

func (e pointExporter) Export(ctx context.Context, points *metricdata.ResourceMetrics) error {
	ctx, release := e.bind(ctx)
	defer release()
	return e.Exporter.Export(ctx, points)
}
