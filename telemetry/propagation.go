package telemetry

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// propagator is W3C trace context alone. Baggage is left out: it is free text of
// the agent, and would be sent on to everything that the fleet talks to.
var propagator = propagation.TraceContext{}

// headers reads and writes a message's headers with their exact spelling. Of
// several values the last counts.
type headers map[string][]string

func (h headers) Get(key string) string {
	if v := h[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

func (h headers) Set(key, value string) { h[key] = []string{value} }

func (h headers) Keys() []string { return slices.Collect(maps.Keys(h)) }

// Inject writes the context's trace into a message's headers (a nats.Header is
// such a map; it must not be nil).
func Inject(ctx context.Context, header map[string][]string) {
	propagator.Inject(ctx, headers(header))
}

// Extract is ctx with the trace of a message's headers, if they hold one that
// can be read.
func Extract(ctx context.Context, header map[string][]string) context.Context {
	return propagator.Extract(ctx, headers(header))
}

// TraceID is the context's trace id in hex, or empty.
func TraceID(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}
