package protocol_test

import (
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestADialogIsAnsweredOnEitherLane(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lane protocol.Lane
		args string
		code protocol.Code
	}{
		"control":              {protocol.LaneControl, `{"dialog_id":"d-3-1","action":"accept"}`, ""},
		"queue":                {protocol.LaneQueue, `{"dialog_id":"d-3-1","action":"accept"}`, ""},
		"queue, the one shown": {protocol.LaneQueue, `{"action":"dismiss"}`, ""},
		"control, unnamed":     {protocol.LaneControl, `{"action":"dismiss"}`, protocol.CodeInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := protocol.ParseAction([]byte(`{"v":1,"kind":"dialog","args":`+tc.args+`}`), tc.lane)
			got := protocol.Code("")
			if err != nil {
				got = err.Code
			}
			if got != tc.code {
				t.Errorf("got %v, want %q", err, tc.code)
			}
		})
	}
	for _, kind := range protocol.Kinds() {
		info, _ := kind.Lookup()
		other := protocol.LaneQueue
		if info.Lane == other {
			other = protocol.LaneControl
		}
		if !kind.OnLane(info.Lane) || kind.OnLane(other) != (kind == protocol.KindDialog) {
			t.Errorf("%s: lanes", kind)
		}
	}
}

func TestTheGenerationOfADialogID(t *testing.T) {
	t.Parallel()
	for id, want := range map[protocol.DialogID]protocol.Generation{"d-0-1": 0, "d-17-1000": 17, "d-123456789012345678-1": 123456789012345678} {
		if g, ok := id.Generation(); !ok || g != want {
			t.Errorf("%s: %d, %v", id, g, ok)
		}
	}
	for _, id := range []protocol.DialogID{"", "d-", "d-1", "d-1-", "d--1", "d-1-x", "d-1-2-3", "e-1-2", "d-1-+2", "d-1234567890123456789-1", "d- 1-2"} {
		if _, ok := id.Generation(); ok {
			t.Errorf("%q counts as a dialog id", id)
		}
	}
}
