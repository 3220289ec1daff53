package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/browserfleet/browserfleet/protocol"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceContextGoesThroughMessageHeaders(t *testing.T) {
	t.Parallel()
	in := map[string][]string{protocol.HeaderTraceparent: {traceparent}, protocol.HeaderTracestate: {"vendor=1"}}
	ctx := Extract(context.Background(), in)
	if got := TraceID(ctx); got != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("trace id %q", got)
	}
	out := map[string][]string{}
	Inject(ctx, out)
	if out["traceparent"][0] != traceparent || out["tracestate"][0] != "vendor=1" {
		t.Errorf("got %v", out)
	}
	if _, ok := out["Traceparent"]; ok {
		t.Error("HTTP's spelling is in a NATS header")
	}
}

func TestBadTraceContextIsNoTrace(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]map[string][]string{
		"none":            nil,
		"no values":       {"traceparent": {}},
		"HTTP's spelling": {"Traceparent": {traceparent}},
		"rubbish":         {"traceparent": {"\x00\xff"}},
		"zero ids":        {"traceparent": {"00-00000000000000000000000000000000-0000000000000000-01"}},
		"one of 1 MiB":    {"traceparent": {strings.Repeat("0", 1<<20)}},
		"the last counts": {"traceparent": {traceparent, "x"}},
	} {
		if got := TraceID(Extract(context.Background(), header)); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLogLinesCarryTheTraceID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, FormatJSON, "debug")
	if err != nil {
		t.Fatal(err)
	}
	ctx := Extract(t.Context(), map[string][]string{"traceparent": {traceparent}})
	log.With("owner", "acme/agent-7").DebugContext(ctx, "action", "took", 1500*time.Microsecond)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331",
		"owner": "acme/agent-7", "took": "1.5ms", "msg": "action", "level": "DEBUG",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if at, _ := line["time"].(string); len(at) != len("2026-11-30T21:19:46.001Z") || !strings.HasSuffix(at, "Z") {
		t.Errorf("time %q", line["time"])
	}
}

func TestLogLinesWithoutATraceHaveNoIDs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, "", "")
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("not shown")
	log.Info("shown")
	if got := out.String(); strings.Contains(got, "trace_id") || strings.Contains(got, "not shown") || !strings.Contains(got, "msg=shown") {
		t.Errorf("got %s", got)
	}
}

func TestTheRecordIsNotChangedForOtherHandlers(t *testing.T) {
	t.Parallel()
	ctx := Extract(t.Context(), map[string][]string{"traceparent": {traceparent}})
	record := slog.NewRecord(time.Now(), slog.LevelInfo, "x", 0)
	if err := WithTraceID(slog.DiscardHandler).Handle(ctx, record); err != nil || record.NumAttrs() != 0 {
		t.Errorf("%d attributes, %v", record.NumAttrs(), err)
	}
}

func TestNewLoggerRefuses(t *testing.T) {
	t.Parallel()
	if _, err := NewLogger(nil, "xml", ""); err == nil {
		t.Error("format xml is accepted")
	}
	if _, err := NewLogger(nil, "", "loud"); err == nil {
		t.Error("level loud is accepted")
	}
}

func TestTraceIDOfNothing(t *testing.T) {
	t.Parallel()
	if got := TraceID(trace.ContextWithSpanContext(context.Background(), trace.SpanContext{})); got != "" {
		t.Errorf("got %q", got)
	}
}
