package decide

import (
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// A deleted owner is erased once, and three times more, ever later; nobody else is.
func TestADeletedOwnerIsErasedAgainThreeTimes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	rec := &protocol.OwnerRecord{State: protocol.RecordDeleted, Since: protocol.At(now), Erase: true}
	if again := EraseAgain(rec); !again.IsZero() {
		t.Errorf("before it was erased: %v", again)
	}
	rec.Erase = false
	if again := EraseAgain(rec); again.IsZero() || again.Sub(now) > time.Minute {
		t.Errorf("erased before erasures were counted: %v", again)
	}
	for _, want := range []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour} {
		rec.Erasures++
		rec.Erased = protocol.At(now)
		if again := EraseAgain(rec); again.Sub(now) != want {
			t.Errorf("after erasure %d: again at %v, want %v later", rec.Erasures, again, want)
		}
		now = now.Add(want)
	}
	for range 3 {
		rec.Erasures++
		if again := EraseAgain(rec); !again.IsZero() {
			t.Errorf("after erasure %d: again at %v", rec.Erasures, again)
		}
	}
	rec.Erasures = 1
	for _, state := range protocol.RecordStates {
		rec.State = state
		if again := EraseAgain(rec); again.IsZero() == (state == protocol.RecordDeleted) {
			t.Errorf("%s: again at %v", state, again)
		}
	}
}
