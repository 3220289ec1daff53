package action_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/action"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// BenchmarkClick reports the parts of a click on a page that does not react.
func BenchmarkClick(b *testing.B) {
	ctx := context.Background()
	page, observer := pagetest.Open(b), observation.New(1)
	page.Load(ctx, b, `<button>Go</button><input aria-label=F>`)
	if _, err := observer.Observe(ctx, page, everything); err != nil {
		b.Fatal(err)
	}
	raw, _ := json.Marshal(object{"v": 1, "kind": "click", "args": object{"element_ref": "e1"}})
	act, refused := protocol.ParseAction(raw, protocol.LaneQueue)
	if refused != nil {
		b.Fatal(refused)
	}
	var prepare, dispatch, settle float64
	for b.Loop() {
		did, failed := action.Perform(ctx, page, observer, act, func() error { return nil })
		if failed != nil {
			b.Fatal(failed)
		}
		prepare += did.Prepare.Seconds() * 1000
		dispatch += did.Dispatch.Seconds() * 1000
		settle += did.Settle.Seconds() * 1000
	}
	b.ReportMetric(prepare/float64(b.N), "prepare-ms/op")
	b.ReportMetric(dispatch/float64(b.N), "dispatch-ms/op")
	b.ReportMetric(settle/float64(b.N), "settle-ms/op")
}
