package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/browserfleet/browserfleet/telemetry"
)

// startTelemetry exports this process's part of the traces, to where
// OTEL_EXPORTER_OTLP_ENDPOINT says. With a name the trace begins here; without
// one, each request begins its own. The returned function flushes. Without an
// endpoint there is nothing to do: the client makes ids all the same.
func startTelemetry(ctx context.Context, role, name string) (context.Context, func(), error) {
	config := telemetry.FromEnv(role, version(), "")
	if config.Endpoint == "" {
		return ctx, func() {}, nil
	}
	told, err := telemetry.Setup(ctx, config)
	if err != nil {
		return ctx, nil, usageError(fmt.Errorf("telemetry: %w", err))
	}
	var span trace.Span = noop.Span{}
	if name != "" {
		ctx, span = told.Tracer().Start(ctx, name)
	}
	return ctx, func() {
		span.End()
		_ = told.Shutdown(context.WithoutCancel(ctx)) // it warned already
	}, nil
}
