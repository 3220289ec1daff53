package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Log formats.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// NewLogger writes lines to w with the trace id of their context, times in UTC
// with milliseconds. format is text or json; level is debug, info, warn or
// error. Empty means text and info.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var min slog.Level
	if level != "" {
		if err := min.UnmarshalText([]byte(level)); err != nil {
			return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
		}
	}
	options := &slog.HandlerOptions{Level: min, ReplaceAttr: utcMillis}
	switch format {
	case "", FormatText:
		return slog.New(WithTraceID(slog.NewTextHandler(w, options))), nil
	case FormatJSON:
		return slog.New(WithTraceID(slog.NewJSONHandler(w, options))), nil
	}
	return nil, fmt.Errorf("log format %q: want text or json", format)
}

func utcMillis(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		a.Value = slog.StringValue(a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if a.Value.Kind() == slog.KindDuration {
		// 1.5s reads better than 1500000000 and sorts no worse than "1.5s".
		a.Value = slog.StringValue(a.Value.Duration().Round(time.Microsecond).String())
	}
	return a
}

// WithTraceID is a handler that adds trace_id and span_id to every line whose
// context has a trace.
func WithTraceID(next slog.Handler) slog.Handler { return traceHandler{next} }

type traceHandler struct{ slog.Handler }

// Handle adds the ids to a copy: a record may be handled by others too. Below
// WithGroup they are inside the group.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
