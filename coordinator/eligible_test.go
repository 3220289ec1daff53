package coordinator

import (
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestWhyAWorkerTakesNoOwners(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		beat protocol.Heartbeat
		want string
	}{
		"it does":                 {protocol.Heartbeat{Ready: true}, ""},
		"draining":                {protocol.Heartbeat{Ready: true, Draining: true}, "draining"},
		"no browser opens":        {protocol.Heartbeat{Why: "3 starts failed"}, "not ready: 3 starts failed"},
		"of an older version":     {protocol.Heartbeat{}, "not ready"},
		"short of memory":         {protocol.Heartbeat{Ready: true, Full: true, Why: "100 MiB left"}, "full: 100 MiB left"},
		"short of it, and leaves": {protocol.Heartbeat{Ready: true, Full: true, Draining: true}, "draining"},
	} {
		e := &workerEntry{state: WorkerUp, beat: tc.beat}
		if got := e.ineligible(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
