package protocol

// Headers of messages. They are hints for tracing and for people; kind, effect
// and target come from the body and the subject alone.
const (
	// HeaderTraceparent is W3C trace context, in this exact spelling: NATS
	// headers are case-sensitive.
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
	// HeaderRepeat marks a stored result that is pushed again.
	HeaderRepeat = "Bf-Repeat"
)
