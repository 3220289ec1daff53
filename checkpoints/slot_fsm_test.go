package checkpoints

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSlotMachineEveryPair(t *testing.T) {
	t.Parallel()
	legal := map[slotState]map[slotEvent]slotState{
		slotWriting:    {evStored: slotDone, evTaken: slotReading, evUnanswered: slotReading, evBroken: slotFailed},
		slotReading:    {evOurs: slotDone, evEarlier: slotWriting, evVacant: slotWriting, evForeign: slotRelisting, evLater: slotFenced, evBroken: slotFailed},
		slotRelisting:  {evListed: slotConfirming, evLater: slotFenced, evBroken: slotFailed},
		slotConfirming: {evConfirmed: slotWriting, evRefused: slotFenced, evBroken: slotFailed},
		slotDone:       {}, slotFenced: {}, slotFailed: {},
	}
	for _, s := range slotStates {
		if s.final() != (len(legal[s]) == 0) {
			t.Errorf("final(%s) = %v", s, s.final())
		}
		for _, ev := range slotEvents {
			want, ok := legal[s][ev]
			got, err := nextSlotState(s, ev)
			switch {
			case ok && (err != nil || got != want):
				t.Errorf("%s + %s: got %s, %v", s, ev, got, err)
			case !ok && (err == nil || got != s):
				t.Errorf("%s + %s: got %s without an error", s, ev, got)
			}
		}
	}
}

// After a stranger was seen in the slot, nothing is written before the owner
// record confirmed the holder.
func TestSlotMachineNeverWritesPastAStrangerUnconfirmed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		state, stranger := slotWriting, false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			ev := rapid.SampledFrom(slotEvents).Draw(t, "event")
			next, err := nextSlotState(state, ev)
			if err != nil {
				continue
			}
			switch ev {
			case evForeign:
				stranger = true
			case evConfirmed:
				stranger = false
			}
			if stranger && (next == slotWriting || next == slotDone) {
				t.Fatalf("%s + %s -> %s with a stranger about", state, ev, next)
			}
			state = next
		}
	})
}
