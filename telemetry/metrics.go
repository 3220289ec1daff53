package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/browserfleet/browserfleet/protocol"
)

// seconds are the bounds of every histogram of time: from a START (0.35 ms) to
// the longest action (10 min).
var seconds = []float64{
	.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600,
}

// sizes are the bounds of checkpoint sizes, in bytes.
var sizes = []float64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}

// Metrics are the instruments of worker and coordinator. Its methods may be
// called from any goroutine, wait for nothing and cannot fail.
type Metrics struct {
	actions      metric.Int64Counter
	duration     metric.Float64Histogram
	queueWait    metric.Float64Histogram
	checkpointS  metric.Float64Histogram
	checkpointB  metric.Int64Histogram
	owners       metric.Int64Gauge
	fenced       metric.Int64Counter
	suspended    metric.Int64Counter
	denied       metric.Int64Counter
	gaps         metric.Int64Counter
	answered     metric.Int64Counter
	assignments  metric.Int64Counter
	unroutable   metric.Int64Counter
	eventsLost   metric.Int64Counter
	illegalMoves metric.Int64Counter
	restores     metric.Int64Counter
	notSaved     metric.Int64Counter
	hibernations metric.Int64Counter
	wakes        metric.Int64Counter
	strikes      metric.Int64Counter
	workersGone  metric.Int64Counter
	leases       metric.Int64Gauge
	line         metric.Int64Gauge
}

// NewMetrics makes the instruments of a meter.
func NewMetrics(meter metric.Meter) (*Metrics, error) {
	b := builder{meter: meter}
	m := &Metrics{
		actions:      b.counter("browserfleet.actions", "{action}", "Requests answered, by kind, status and code."),
		duration:     b.times("browserfleet.action.duration", "From START to RESULT, by kind and status."),
		queueWait:    b.times("browserfleet.action.queue_wait", "From the server's store time to START, by lane."),
		checkpointS:  b.times("browserfleet.checkpoint.duration", "Saving or restoring a checkpoint, by operation and code."),
		checkpointB:  b.bytes("browserfleet.checkpoint.size", "Size of a checkpoint as stored, by operation."),
		owners:       b.gauge("browserfleet.owners", "{owner}", "Environments that this process holds."),
		fenced:       b.counter("browserfleet.fenced", "{owner}", "Owners lost to another holder."),
		suspended:    b.counter("browserfleet.suspended", "{suspension}", "Times that dispatch stopped for want of contact."),
		denied:       b.counter("browserfleet.egress.denied", "{connection}", "Connections that the egress policy refused, by reason."),
		gaps:         b.counter("browserfleet.push.gaps", "{gap}", "Gaps in the pushed requests that were read from the stream."),
		answered:     b.counter("browserfleet.answered_by_coordinator", "{action}", "Requests that the coordinator answered, by code."),
		assignments:  b.counter("browserfleet.assignments", "{assignment}", "Owners placed on a worker, by reason."),
		unroutable:   b.counter("browserfleet.requests.unroutable", "{request}", "Stored requests whose subject names no legal owner."),
		eventsLost:   b.counter("browserfleet.events.lost", "{event}", "Events that could not be stored."),
		illegalMoves: b.counter("browserfleet.illegal_transitions", "{transition}", "Events that a state machine refused, by machine."),
		restores:     b.counter("browserfleet.restores", "{environment}", "Environments that were opened again, by reason."),
		notSaved:     b.counter("browserfleet.drain.not_saved", "{owner}", "Owners whose newest state a drain could not save."),
		hibernations: b.counter("browserfleet.hibernations", "{environment}", "Environments that were saved and closed while nobody used them."),
		wakes:        b.counter("browserfleet.wakes", "{environment}", "Sleeping owners that were given to a worker."),
		strikes:      b.counter("browserfleet.strikes", "{death}", "Deaths of an environment without a completed action."),
		workersGone:  b.counter("browserfleet.workers.gone", "{worker}", "Workers that fell silent and did not answer."),
		leases:       b.gauge("browserfleet.client_leases", "{lease}", "Agents' handles on environments, by shard."),
		line:         b.gauge("browserfleet.line", "{owner}", "Owners that wait for a worker, by shard and tenant."),
	}
	if err := errors.Join(b.errs...); err != nil {
		return nil, fmt.Errorf("telemetry: instruments: %w", err)
	}
	return m, nil
}

// NoMetrics are instruments that count nothing, for tests and small tools.
func NoMetrics() *Metrics {
	m, err := NewMetrics(noop.NewMeterProvider().Meter(Scope))
	if err != nil {
		panic(err) // the no-op meter refuses nothing
	}
	return m
}

// ActionDone counts an answer and its time from START to RESULT.
func (m *Metrics) ActionDone(ctx context.Context, kind protocol.Kind, status protocol.Status, code protocol.Code, took time.Duration) {
	k, s := attribute.String("kind", kindLabel(kind)), attribute.String("status", string(status))
	m.actions.Add(ctx, 1, metric.WithAttributes(k, s, attribute.String("code", codeLabel(code))))
	m.duration.Record(ctx, took.Seconds(), metric.WithAttributes(k, s))
}

// QueueWaited records how long a request waited for its START.
func (m *Metrics) QueueWaited(ctx context.Context, lane protocol.Lane, waited time.Duration) {
	m.queueWait.Record(ctx, max(0, waited.Seconds()), metric.WithAttributes(attribute.String("lane", string(lane))))
}

// Operations on checkpoints.
const (
	CheckpointSave    = "save"
	CheckpointRestore = "restore"
)

// SizeUnknown is the size of a checkpoint that nobody measured.
const SizeUnknown = -1

// CheckpointDone records a save or a restore; code is empty when it worked.
func (m *Metrics) CheckpointDone(ctx context.Context, operation string, code protocol.Code, took time.Duration, size int64) {
	op := attribute.String("operation", operation)
	m.checkpointS.Record(ctx, took.Seconds(), metric.WithAttributes(op, attribute.String("code", codeLabel(code))))
	if code == "" && size >= 0 {
		m.checkpointB.Record(ctx, size, metric.WithAttributes(op))
	}
}

// Restored counts an environment that was opened again: recycled, browser_lost,
// worker_lost, moved, wake.
func (m *Metrics) Restored(ctx context.Context, reason string) {
	m.restores.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// NotSaved counts owners whose newest state a drain could not save.
func (m *Metrics) NotSaved(ctx context.Context, n int) { m.notSaved.Add(ctx, int64(n)) }

// OwnersHeld sets how many environments this process holds.
func (m *Metrics) OwnersHeld(ctx context.Context, n int) { m.owners.Record(ctx, int64(n)) }

// Fenced counts an owner that was lost to another holder.
func (m *Metrics) Fenced(ctx context.Context) { m.fenced.Add(ctx, 1) }

// Suspended counts a stop of dispatch.
func (m *Metrics) Suspended(ctx context.Context) { m.suspended.Add(ctx, 1) }

// EgressDenied counts refused connections. The reason is one of the policy's
// closed set, never a host.
func (m *Metrics) EgressDenied(ctx context.Context, reason string, n int) {
	m.denied.Add(ctx, int64(n), metric.WithAttributes(attribute.String("reason", reason)))
}

// PushGap counts a gap in the pushed requests.
func (m *Metrics) PushGap(ctx context.Context) { m.gaps.Add(ctx, 1) }

// AnsweredByCoordinator counts a request that no worker could answer.
func (m *Metrics) AnsweredByCoordinator(ctx context.Context, code protocol.Code) {
	m.answered.Add(ctx, 1, metric.WithAttributes(attribute.String("code", codeLabel(code))))
}

// Assigned counts a placement: new, wake, worker_lost or moved.
func (m *Metrics) Assigned(ctx context.Context, reason string) {
	m.assignments.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// Unroutable counts a stored request whose subject names no legal owner.
func (m *Metrics) Unroutable(ctx context.Context) { m.unroutable.Add(ctx, 1) }

// Hibernated counts an environment that was saved and closed.
func (m *Metrics) Hibernated(ctx context.Context) { m.hibernations.Add(ctx, 1) }

// Woken counts a sleeping owner that was given to a worker.
func (m *Metrics) Woken(ctx context.Context) { m.wakes.Add(ctx, 1) }

// Struck counts a death without a completed action.
func (m *Metrics) Struck(ctx context.Context) { m.strikes.Add(ctx, 1) }

// WorkerGone counts a worker that was given up.
func (m *Metrics) WorkerGone(ctx context.Context) { m.workersGone.Add(ctx, 1) }

// ClientLeases sets how many handles on environments of a shard agents have.
func (m *Metrics) ClientLeases(ctx context.Context, s protocol.Shard, n int) {
	m.leases.Record(ctx, int64(n), metric.WithAttributes(attribute.Int("shard", int(s))))
}

// InLine sets how many owners of a tenant wait for a worker. Tenants are accounts
// that operators made: there are as many series as tenants that ever waited.
func (m *Metrics) InLine(ctx context.Context, s protocol.Shard, t protocol.Tenant, n int) {
	m.line.Record(ctx, int64(n), metric.WithAttributes(attribute.Int("shard", int(s)), attribute.String("tenant", string(t))))
}

// EventLost counts an event that could not be stored.
func (m *Metrics) EventLost(ctx context.Context) { m.eventsLost.Add(ctx, 1) }

// IllegalTransition counts an event that a state machine refused.
func (m *Metrics) IllegalTransition(ctx context.Context, machine string) {
	m.illegalMoves.Add(ctx, 1, metric.WithAttributes(attribute.String("machine", machine)))
}

// kindLabel and codeLabel keep the number of time series finite: a kind is what
// an agent wrote.
func kindLabel(k protocol.Kind) string {
	if _, ok := k.Lookup(); !ok {
		return "other"
	}
	return string(k)
}

func codeLabel(c protocol.Code) string {
	if c == "" || c.Info().Code == c {
		return string(c)
	}
	return "other"
}

// builder makes instruments and gathers their errors.
type builder struct {
	meter metric.Meter
	errs  []error
}

func (b *builder) counter(name, unit, text string) metric.Int64Counter {
	i, err := b.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.errs = append(b.errs, err)
	return i
}

func (b *builder) gauge(name, unit, text string) metric.Int64Gauge {
	i, err := b.meter.Int64Gauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	b.errs = append(b.errs, err)
	return i
}

func (b *builder) times(name, text string) metric.Float64Histogram {
	i, err := b.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(seconds...))
	b.errs = append(b.errs, err)
	return i
}

func (b *builder) bytes(name, text string) metric.Int64Histogram {
	i, err := b.meter.Int64Histogram(name, metric.WithUnit("By"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(sizes...))
	b.errs = append(b.errs, err)
	return i
}
