package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestAnExplanationNamesWhatItWaitsForAndWhoWasPassedOver(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeExplanation(&b, &protocol.ExplainReply{
		QueueQ: 2, Waits: "a worker with room", Position: 3, Leader: "c-1",
		Decision: &protocol.Decision{Reason: "wake", Scores: []protocol.Score{
			{Worker: "w-1", Points: 700, Parts: map[string]int{"slots": 500, "warm": 200}}, {Worker: "w-2", Excluded: "draining"},
		}},
	})
	want := `state      no record yet
queued     2 actions, 0 control
waits for  a worker with room; number 3 in the line
decision   - for wake, by c-1 -
           w-1: 700 points (slots 500, warm 200)
           w-2: draining
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnExplanationOfAHeldOwner(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeExplanation(&b, &protocol.ExplainReply{
		Owner:  &protocol.OwnerInfo{State: protocol.RecordAssigned, Worker: "w-1", Epoch: 7, Generation: 2, Running: "r1"},
		Holder: &protocol.WorkerInfo{State: "up", Heartbeat: protocol.Heartbeat{Owners: 1, Slots: 8}}, Leader: "c-1",
	})
	for _, want := range []string{"epoch 7, generation 2", "1 of 8 slots", "waits for  nothing", "none by the present leader, c-1", "running    r1"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
