package environment

import (
	"context"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// span is an action's part of the trace that its agent began. A nil span is
// fine: refusals have none.
type span struct{ span trace.Span }

// startSpan continues the trace of the request's headers. Attributes hold no
// page text and no secrets.
func startSpan(ctx context.Context, tracer trace.Tracer, t task, key protocol.OwnerKey) (context.Context, *span) {
	ctx = otel.GetTextMapPropagator().Extract(ctx, natsx.HeaderCarrier(t.header))
	a := t.admitted
	ctx, s := tracer.Start(ctx, "action "+string(a.Action.Kind), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithTimestamp(t.begun), trace.WithAttributes(
			attribute.String("browserfleet.tenant", string(key.Tenant)),
			attribute.String("browserfleet.owner", string(key.Owner)),
			attribute.String("browserfleet.request", string(a.ID)),
			attribute.Int("browserfleet.attempt", t.attempt),
		))
	return ctx, &span{span: s}
}

// header carries the trace context to the agent.
func (s *span) header() nats.Header {
	if s == nil {
		return nil
	}
	h := nats.Header{}
	otel.GetTextMapPropagator().Inject(trace.ContextWithSpan(context.Background(), s.span), natsx.HeaderCarrier(h))
	return h
}

func (s *span) end(res *protocol.Result) {
	if s == nil {
		return
	}
	s.span.SetAttributes(
		attribute.String("browserfleet.status", string(res.Status)),
		attribute.String("browserfleet.verdict", string(res.Verdict)),
	)
	if res.Error != nil {
		s.span.SetStatus(codes.Error, string(res.Error.Code))
	}
	s.span.End()
}

// traceID is empty where nothing is traced.
func (s *span) traceID() string {
	if s == nil || !s.span.SpanContext().HasTraceID() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}
