package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the name of the fleet's tracer and meter.
const Scope = "github.com/browserfleet/browserfleet"

// shutdownLimit bounds the last flush: a collector that is gone must not keep a
// worker from handing over its owners.
const shutdownLimit = 5 * time.Second

// stopLimit bounds what remains then: joining goroutines that have been told to
// stop and wait for no network.
const stopLimit = time.Second

// Config says who the process is and where its telemetry goes.
type Config struct {
	// Service is the role: worker, coordinator, client...
	Service string
	// Version of the binary.
	Version string
	// Instance tells processes of one role apart: a worker's id.
	Instance string
	// Endpoint of an OTLP receiver for gRPC, http://host:4317 or https://...;
	// http means without TLS. Empty: nothing is exported.
	Endpoint string
}

// FromEnv is the configuration with the endpoint that the OpenTelemetry
// specification's variables name. Headers, certificates, timeouts and intervals
// are read by the exporters from theirs.
func FromEnv(service, version, instance string) Config {
	c := Config{Service: service, Version: version, Instance: instance}
	if os.Getenv("OTEL_SDK_DISABLED") != "true" {
		c.Endpoint = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	return c
}

// Telemetry is a process's running telemetry.
type Telemetry struct {
	traces   *sdktrace.TracerProvider
	meters   *sdkmetric.MeterProvider
	registry *prometheus.Registry
	exports  *aborter
}

// Setup starts the exporters and makes them the process's own. It does not wait
// for the collector: one that is down is tried again in the background.
func Setup(ctx context.Context, c Config) (*Telemetry, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	res, err := c.resource(ctx)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	page, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: prometheus: %w", err)
	}
	traceOptions := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	meterOptions := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(page)}
	exports := &aborter{}
	if c.Endpoint != "" {
		spans, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(c.Endpoint))
		if err != nil {
			return nil, fmt.Errorf("telemetry: traces to %s: %w", c.Endpoint, err)
		}
		points, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(c.Endpoint))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("telemetry: metrics to %s: %w", c.Endpoint, err), spans.Shutdown(ctx))
		}
		traceOptions = append(traceOptions, sdktrace.WithBatcher(spanExporter{spans, exports}))
		meterOptions = append(meterOptions, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(pointExporter{points, exports})))
	}
	t := &Telemetry{
		traces:   sdktrace.NewTracerProvider(traceOptions...),
		meters:   sdkmetric.NewMeterProvider(meterOptions...),
		registry: registry,
		exports:  exports,
	}
	otel.SetTracerProvider(t.traces)
	otel.SetMeterProvider(t.meters)
	otel.SetTextMapPropagator(propagator)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		slog.Warn("telemetry was not delivered", "error", err)
	}))
	return t, nil
}

func (c Config) validate() error {
	if c.Service == "" {
		return errors.New("telemetry: the service has no name")
	}
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// The value is not quoted: a URL can hold a password.
		return errors.New("telemetry: OTEL_EXPORTER_OTLP_ENDPOINT: want http://host:4317 or https://host:4317")
	}
	if u.User != nil {
		return errors.New("telemetry: OTEL_EXPORTER_OTLP_ENDPOINT: credentials belong in OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// resource says who speaks. OTEL_RESOURCE_ATTRIBUTES adds to it.
func (c Config) resource(ctx context.Context) (*resource.Resource, error) {
	own := []attribute.KeyValue{
		attribute.String("service.namespace", "browserfleet"),
		attribute.String("service.name", "browserfleet-"+c.Service),
	}
	if c.Version != "" {
		own = append(own, attribute.String("service.version", c.Version))
	}
	if c.Instance != "" {
		own = append(own, attribute.String("service.instance.id", c.Instance))
	}
	res, err := resource.New(ctx, resource.WithAttributes(own...), resource.WithHost(),
		resource.WithProcessPID(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: resource: %w", err)
	}
	return res, nil
}

// Tracer is the fleet's tracer.
func (t *Telemetry) Tracer() trace.Tracer { return t.traces.Tracer(Scope) }

// Meter is the fleet's meter.
func (t *Telemetry) Meter() metric.Meter { return t.meters.Meter(Scope) }

// Handler serves the metrics in Prometheus' format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Shutdown flushes, within five seconds or until ctx ends, and stops. Its error
// tells that something could not be delivered; everything is stopped anyway.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	flush, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	// Traces first: the last spans are worth more than the last minute's points.
	undelivered := errors.Join(t.traces.ForceFlush(flush), t.meters.ForceFlush(flush))

	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancelStop()
	if undelivered != nil {
		t.exports.abort()
	}
	// After an abort these fail at once, as they should: what they say is said.
	stopped := errors.Join(t.traces.Shutdown(stop), t.meters.Shutdown(stop))
	if undelivered == nil {
		undelivered = stopped
	}
	if undelivered != nil {
		return fmt.Errorf("telemetry: shutdown: %w", undelivered)
	}
	return nil
}
