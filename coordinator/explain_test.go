package coordinator

import (
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestWhatAnOwnerWaitsFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		s    snapshot
		held bool
		want string
	}{
		"nothing":      {snapshot{state: protocol.RecordHibernated}, true, ""},
		"room":         {snapshot{position: 2, full: true}, true, "a worker with room"},
		"its turn":     {snapshot{position: 2}, true, "its turn"},
		"a fit":        {snapshot{position: 1, decision: &protocol.Decision{}}, true, "a worker that fits: see the scores"},
		"an answer":    {snapshot{placing: true}, true, "a worker's answer"},
		"its worker":   {snapshot{state: protocol.RecordAssigned, queued: true}, true, "its worker, which has requests of it"},
		"a lost one":   {snapshot{state: protocol.RecordAssigned, queued: true}, false, "the proof that its worker is gone"},
		"a reset":      {snapshot{state: protocol.RecordFailed}, true, "a reset: it died too often"},
		"never more":   {snapshot{state: protocol.RecordDeleted}, true, ""},
		"answered for": {snapshot{state: protocol.RecordAnswering}, true, "a coordinator, which answers for it"},
		"a quota":      {snapshot{refusal: &protocol.Error{Message: "x"}}, true, "its tenant's quota: x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := waitsFor(tc.s, tc.held); got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
