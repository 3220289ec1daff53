package check

import (
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// maxReads: a read is run once, and once more if its holder died meanwhile.
const maxReads = 2

// doubleDispatched: an action with effects is dispatched at most once, and its
// answer does not deny it.
func (j *judge) doubleDispatched() {
	for id, ds := range j.dispatches {
		if ds[0].Effect == protocol.EffectRead {
			if len(ds) > maxReads {
				j.find(DoubleDispatched, id, "the read %s %d was dispatched %d times", ds[0].Kind, ds[0].Seq, len(ds))
			}
			continue
		}
		if len(ds) > 1 {
			j.find(DoubleDispatched, id, "%s %d was dispatched %d times: by %s in epoch %d, by %s in epoch %d",
				ds[0].Kind, ds[0].Seq, len(ds), ds[0].Worker, ds[0].Epoch, ds[1].Worker, ds[1].Epoch)
		}
		if r, answered := j.results[id]; answered {
			j.agrees(id, ds[0], r)
		}
	}
}

// agrees holds a dispatched effect against its answer.
func (j *judge) agrees(id ID, d Dispatch, r Result) {
	if r.Dispatched == protocol.DispatchedNo {
		j.find(DoubleDispatched, id, "%s %d was dispatched, and answered %s %s with dispatched=no", d.Kind, d.Seq, r.Status, r.Code)
		return
	}
	late := d.At.Sub(r.StoredAt)
	if late > j.e.Skew && r.Status != protocol.StatusOutcomeUnknown {
		j.find(DoubleDispatched, id, "%s %d was dispatched %s after it was answered %s", d.Kind, d.Seq, late.Round(time.Millisecond), r.Status)
	}
}
