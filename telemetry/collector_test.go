package telemetry

import (
	"context"
	"net"
	"sync"
	"testing"

	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// collector is an OTLP receiver in this process.
type collector struct {
	coltrace.UnimplementedTraceServiceServer
	metrics metricsReceiver

	mu    sync.Mutex // protects spans and metrics.points
	spans []*tracepb.ResourceSpans
}

type metricsReceiver struct {
	colmetrics.UnimplementedMetricsServiceServer
	owner  *collector
	points []*metricpb.ResourceMetrics
}

func (c *collector) Export(_ context.Context, r *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, r.GetResourceSpans()...)
	return &coltrace.ExportTraceServiceResponse{}, nil
}

func (m *metricsReceiver) Export(_ context.Context, r *colmetrics.ExportMetricsServiceRequest) (*colmetrics.ExportMetricsServiceResponse, error) {
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	m.points = append(m.points, r.GetResourceMetrics()...)
	return &colmetrics.ExportMetricsServiceResponse{}, nil
}

// startCollector listens on a free loopback port until the test ends.
func startCollector(t *testing.T) (*collector, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{}
	c.metrics.owner = c
	server := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(server, c)
	colmetrics.RegisterMetricsServiceServer(server, &c.metrics)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with Stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return c, "http://" + listener.Addr().String()
}

// spanNames and metricNames are what arrived, with the resource's attributes.
func (c *collector) spanNames() (names []string, resource map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	resource = map[string]string{}
	for _, rs := range c.spans {
		for _, a := range rs.GetResource().GetAttributes() {
			resource[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				names = append(names, s.GetName())
			}
		}
	}
	return names, resource
}

func (c *collector) metricNames() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string]bool{}
	for _, rm := range c.metrics.points {
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				names[m.GetName()] = true
			}
		}
	}
	return names
}
