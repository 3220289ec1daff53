package worker

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// A drain's time is divided: actions that run may end by themselves, then they
// are stopped; what remains is for saving, and a little of it for writing the
// records.
const (
	// saveReserve is what saving gets at the end, if half of the time is not less.
	saveReserve = 10 * time.Second
	// recordReserve is what writing the records gets, if a tenth is not less.
	recordReserve = 2 * time.Second
	// preemptionEvery is how often the notice is looked for. Clouds give 30
	// seconds and more.
	preemptionEvery = 500 * time.Millisecond
)

var errDrainOver = errors.New("the drain's deadline is over")

// bounds of a hand-over that may take this long from now.
func bounds(now time.Time, within time.Duration) (interrupt, giveUp time.Time) {
	return now.Add(within - min(saveReserve, within/2)), now.Add(within - min(recordReserve, within/10))
}

// Drain asks the worker to hand over its owners and end. Why is for logs; only
// the first call counts.
func (w *Worker) Drain(why string) {
	w.drainOnce.Do(func() {
		w.log.Info("asked to drain", "why", why)
		w.draining.Store(true)
		close(w.drain)
	})
}

// runPreemption drains when the notice appears: a file that an agent of the
// cloud makes.
func (w *Worker) runPreemption(ctx context.Context) {
	tick := time.NewTicker(preemptionEvery)
	defer tick.Stop()
	for {
		if _, err := os.Stat(w.cfg.PreemptionFile); err == nil {
			w.Drain("preemption notice " + w.cfg.PreemptionFile)
			return
		}
		if !next(ctx, tick) {
			return
		}
	}
}

// handOver releases every owner, closes what is not released in time, and says
// by name what was not saved.
func (w *Worker) handOver(stop context.CancelCauseFunc) {
	interrupt, giveUp := bounds(time.Now(), w.cfg.DrainTimeout)
	w.mu.Lock()
	w.log.Info("draining", "owners", len(w.held), "within", w.cfg.DrainTimeout)
	for _, h := range w.held {
		h.env.ReleaseBy("drain", interrupt, giveUp)
	}
	w.mu.Unlock()
	deadline := time.AfterFunc(w.cfg.DrainTimeout, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for key := range w.held {
			w.log.Error("not handed over in time: its state may not be saved", "owner", key.String())
			w.unsaved = append(w.unsaved, key)
		}
		stop(errDrainOver)
	})
	defer deadline.Stop()
	w.lives.Wait()
	w.reportDrain()
}

// reportDrain is the last word of a drain.
func (w *Worker) reportDrain() {
	lost := w.Unsaved()
	if len(lost) == 0 {
		w.log.Info("drained: every owner was saved and handed over")
		return
	}
	names := make([]string, len(lost))
	for i, key := range lost {
		names[i] = key.String()
	}
	w.meter.NotSaved(len(lost))
	w.log.Error("drained, but what these owners changed since their newest checkpoint is lost", "owners", names)
}

// Unsaved are the owners that were let go without their newest state, in order.
func (w *Worker) Unsaved() []protocol.OwnerKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.unsaved)
	slices.SortFunc(all, func(a, b protocol.OwnerKey) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}
