package figures

import (
	"math"
	"slices"
	"sync"
	"time"
)

// samples are durations, sorted.
type samples []time.Duration

func sorted(s []time.Duration) samples {
	out := slices.Clone(s)
	slices.Sort(out)
	return out
}

// quantile is the sample of that rank; 0 of none.
func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	rank := int(math.Ceil(q*float64(len(s)))) - 1
	return s[min(max(rank, 0), len(s)-1)]
}

// tally collects what concurrent actions came to.
type tally struct {
	mu     sync.Mutex // guards the rest
	took   []time.Duration
	failed int
	err    error // the first
}

func (t *tally) add(took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.took = append(t.took, took)
		return
	}
	t.failed++
	if t.err == nil {
		t.err = err
	}
}

func (t *tally) samples() samples {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sorted(t.took)
}

// series are the values of one quantity, one a repeat.
type series []float64

func (s series) spread() (median, low, high float64) {
	if len(s) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(s))
	return v[(len(v)-1)/2], v[0], v[len(v)-1]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
