package figures

import (
	"testing"

	"github.com/browserfleet/browserfleet/telemetry"
)

func TestTheCollectorTakesTraces(t *testing.T) {
	t.Parallel()
	c, err := startCollector()
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	told, err := telemetry.Setup(t.Context(), telemetry.Config{Service: "test", Endpoint: c.url})
	if err != nil {
		t.Fatal(err)
	}
	_, span := told.Tracer().Start(t.Context(), "a span")
	span.End()
	if err := told.Shutdown(t.Context()); err != nil { // flushes
		t.Errorf("the exporter was not content: %v", err)
	}
	if c.heard() == 0 {
		t.Error("no trace came")
	}
}
