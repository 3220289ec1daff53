package client

import (
	"context"
	"crypto/rand"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope names this package's spans.
const scope = "github.com/browserfleet/browserfleet/client"

// WithTrace is ctx with a trace, and its id in hex: the one that ctx has, or a
// new one. The new one is marked as sampled, since a client without an exporter
// must not switch off the traces of the fleet.
func WithTrace(ctx context.Context) (context.Context, string) {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		return ctx, sc.TraceID().String()
	}
	var id trace.TraceID
	var span trace.SpanID
	rand.Read(id[:])
	rand.Read(span[:])
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled})
	return trace.ContextWithSpanContext(ctx, sc), id.String()
}

// startSpan begins the part of the trace that the client sees.
func startSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	ctx, _ = WithTrace(ctx)
	return otel.Tracer(scope).Start(ctx, name, trace.WithSpanKind(trace.SpanKindProducer))
}

// traceHeader is a message's header with the context's trace.
func traceHeader(ctx context.Context) nats.Header {
	h := nats.Header{}
	propagation.TraceContext{}.Inject(ctx, carrier(h))
	return h
}

// carrier writes keys as they are: NATS headers are case-sensitive, and the
// contract spells traceparent in lower case.
type carrier nats.Header

func (c carrier) Get(key string) string {
	if v := c[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

func (c carrier) Set(key, value string) { c[key] = []string{value} }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}
