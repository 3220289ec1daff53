package worker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// Somebody deletes the stream of requests and makes it anew under a holder that
// runs: it goes on with the new one, with its browser.
func TestAHolderGoesOnWithAStreamThatWasMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4)
	br := b.hold(one)
	first := b.open(one, 0)
	await(t, "the action", br.reached) // and it runs while the stream is replaced
	before, _ := b.record(one)
	operator := b.Operator(t)
	if err := operator.JS.DeleteStream(b.ctx(), protocol.ActStream(0)); err != nil {
		t.Fatal(err)
	}
	if err := operator.Provision(b.ctx(), b.Map, 1); err != nil {
		t.Fatal(err)
	}
	second := b.open(one, 0) // at a sequence that the old cursor lies at
	rec := b.until(one, "of the new stream", func(r *protocol.OwnerRecord) bool { return r.ActStreamNanos != before.ActStreamNanos })
	if rec.CursorQ != 0 || rec.Epoch != before.Epoch || rec.InflightQ == nil || rec.InflightQ.Request != first {
		t.Errorf("%+v", rec)
	}
	close(br.gate)
	for _, id := range []protocol.RequestID{first, second} {
		if res := b.result(one, id); res.Status != protocol.StatusOK || res.Generation != 1 {
			t.Errorf("%s in generation %d, %v", res.Status, res.Generation, res.Error)
		}
	}
	rec = b.until(one, "with both answered", func(r *protocol.OwnerRecord) bool { return r.CursorQ > 0 })
	if !slices.Contains(rec.Done, first) || !slices.Contains(rec.Done, second) || len(b.opened) != 0 {
		t.Errorf("%v; %d more browsers", rec.Done, len(b.opened))
	}
	if !b.said.has("does not fit its stream") || strings.Count(br.logged(), string(first)) != 1 {
		t.Error("no alarm, or the action was dispatched again")
	}
}
