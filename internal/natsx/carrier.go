package natsx

import (
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
)

// headerCarrier keeps keys as they are. nats.Header is case-sensitive and
// propagators use lower-case keys; a carrier that canonicalised them (as
// http.Header does) would not find what other languages' clients wrote.
type headerCarrier nats.Header

// HeaderCarrier lets an OpenTelemetry propagator read and write trace context
// in a message's headers: traceparent and tracestate in this exact spelling.
func HeaderCarrier(h nats.Header) propagation.TextMapCarrier { return headerCarrier(h) }

// Get returns the first value.
func (c headerCarrier) Get(key string) string {
	if v := c[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Set replaces the key's values.
func (c headerCarrier) Set(key, value string) { c[key] = []string{value} }

// Keys lists the keys, in no order.
func (c headerCarrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}
