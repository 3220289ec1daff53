package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// reordered: an owner's actions begin one at a time, in the order in which the
// stream stored them.
func (j *judge) reordered() {
	byOwner := map[protocol.OwnerKey][]Dispatch{}
	for _, d := range j.e.Dispatches {
		byOwner[d.Key] = append(byOwner[d.Key], d)
	}
	for _, ds := range byOwner {
		// Epochs order the holders; a file is one worker's, in the order in which
		// it wrote. Clocks have no say.
		slices.SortStableFunc(ds, func(a, b Dispatch) int {
			return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
		})
		j.dispatchOrder(ds)
		j.oneAtATime(ds)
	}
	j.resultOrder()
}

// dispatchOrder wants rising sequences. The same one again is a read that is
// run once more, or a double dispatch, which another rule counts.
func (j *judge) dispatchOrder(ds []Dispatch) {
	var high Dispatch
	for _, d := range ds {
		id := ID{d.Key, d.Request}
		if d.Seq < high.Seq {
			j.find(Reordered, id, "%s %d was dispatched (epoch %d) after %s %d (epoch %d)", d.Kind, d.Seq, d.Epoch, high.Kind, high.Seq, high.Epoch)
			continue
		}
		if d.Epoch == high.Epoch && d.Worker != high.Worker {
			j.find(Reordered, id, "epoch %d has two workers: %s and %s", d.Epoch, high.Worker, d.Worker)
		}
		high = d
	}
}

// oneAtATime: within an epoch, which has one worker and so one clock, the action
// before has ended when the next is dispatched.
func (j *judge) oneAtATime(ds []Dispatch) {
	for i := 1; i < len(ds); i++ {
		before, d := ds[i-1], ds[i]
		r, answered := j.results[ID{before.Key, before.Request}]
		if !answered || before.Epoch != d.Epoch || before.Worker != d.Worker || before.Request == d.Request {
			continue
		}
		if over := r.FinishedAt.Sub(d.At.Time); over > j.e.Skew {
			j.find(Reordered, ID{d.Key, d.Request}, "%s %d was dispatched %s before %s %d ended", d.Kind, d.Seq, over.Round(time.Millisecond), before.Kind, before.Seq)
		}
	}
}

// resultOrder: the queue is answered in its own order. Only a cancel answers a
// request that is not at the head.
func (j *judge) resultOrder() {
	byOwner := map[protocol.OwnerKey][]Result{}
	for _, r := range j.results {
		if r.Lane == protocol.LaneQueue && r.Status != protocol.StatusCancelled {
			byOwner[r.Key] = append(byOwner[r.Key], r)
		}
	}
	for rs := range maps.Values(byOwner) {
		slices.SortFunc(rs, func(a, b Result) int { return cmp.Compare(a.StoredSeq, b.StoredSeq) })
		var high Result
		for _, r := range rs {
			if r.Seq < high.Seq {
				j.find(Reordered, r.ID, "%s %d was answered after %s %d", r.Kind, r.Seq, high.Kind, high.Seq)
				continue
			}
			high = r
		}
	}
}
