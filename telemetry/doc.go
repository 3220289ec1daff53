// Package telemetry sets up what a process tells of itself: traces and metrics
// over OTLP, a Prometheus page, and log lines that carry the trace id. It is the
// only package that imports the OpenTelemetry SDK; the others use its API
// packages (go.opentelemetry.io/otel, .../trace, .../metric), which do nothing
// until [Setup] has run.
//
// # What a process gets
//
//	            OTEL_EXPORTER_OTLP_ENDPOINT set     not set
//	traces      exported by gRPC, in batches        ids only: made, propagated, logged
//	metrics     exported by gRPC, every 60 s        -
//	Prometheus  handler                             handler
//	goroutines  the exporters'                      none
//
// Trace ids exist in every process, because a person follows a request by them:
// the client prints them, every log line of the request has them. Without an
// endpoint spans are marked as sampled all the same, so that a client that
// exports nothing does not switch off the traces of the fleet that it uses.
// OTEL_TRACES_SAMPLER and the other variables of the OpenTelemetry
// specification hold; the SDK reads them itself.
//
// # One trace a request
//
// The publisher puts W3C trace context in the message's headers ([Inject]), the
// holder takes it out of the stored message ([Extract]), and puts its own into
// the result's. NATS headers are case-sensitive and HTTP's are not, so the
// carrier here is not propagation.HeaderCarrier, which would write Traceparent.
// An agent writes what it likes there: trace context is a hint, and nothing
// but telemetry reads it.
//
// # Metrics
//
// [Metrics] holds every instrument of worker and coordinator, so that names,
// units and attributes stand in one file. Attribute values are closed sets: a
// kind or a code that the protocol does not know becomes "other", because an
// agent could otherwise make a new time series with every request. Owners are
// never attributes; they are in traces and logs. Tenants, which only operators
// make, are attributes of the line for a worker and of nothing else. Names use dots here
// and underscores in Prometheus: browserfleet.actions is
// browserfleet_actions_total there.
//
// # What it never does
//
// It never fails an action: a collector that is down or slow costs a dropped
// batch and a warning, never a wait (queues are bounded, and full ones drop). It
// puts no page text, no argument and no secret in a span or a label.
//
// # Life
//
// [Setup] starts everything and installs the process's global providers.
// [Telemetry.Shutdown] flushes for at most five seconds, or until its context
// ends, and then stops: what was not delivered is dropped, connections are
// closed, and no goroutine outlives it. Setup is called
// once in a process, by its command; packages take a [Metrics] or use the
// globals.
package telemetry
