package figures

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAQuantileIsTheSampleOfThatRank(t *testing.T) {
	t.Parallel()
	var twenty []time.Duration
	for n := 20; n >= 1; n-- {
		twenty = append(twenty, time.Duration(n))
	}
	for _, c := range []struct {
		of   []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{twenty, 0, 1},
		{twenty, 0.5, 10},
		{twenty, 0.95, 19},
		{twenty, 0.99, 20},
		{twenty, 1, 20},
		{twenty[:1], 0.5, 20},
	} {
		if got := sorted(c.of).quantile(c.q); got != c.want {
			t.Errorf("quantile %v of %d samples is %d, want %d", c.q, len(c.of), got, c.want)
		}
	}
}

func TestTheSpreadOfARow(t *testing.T) {
	t.Parallel()
	median, low, high := series{3, 1, 2}.spread()
	if median != 2 || low != 1 || high != 3 {
		t.Errorf("%v %v %v", median, low, high)
	}
	if median, _, _ := (series{}).spread(); median != 0 {
		t.Errorf("of nothing: %v", median)
	}
}

// An answer that takes longer than the gap between requests must not slow the
// requests down, and what a late request waited counts.
func TestAPacedLoopIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		got := runPaced(t.Context(), 10, time.Second, func(context.Context, int) error {
			time.Sleep(3 * time.Second)
			return nil
		})
		s := got.samples()
		if len(s) != 10 || s.quantile(0) != 3*time.Second || s.quantile(1) != 3*time.Second {
			t.Errorf("samples %v", s)
		}
		if took := time.Since(begun); took != 3900*time.Millisecond {
			t.Errorf("took %s: the loop waited for answers", took)
		}
	})
}

func TestAFlatLoopWaitsForItsAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, perSecond := runFlat(t.Context(), 3, time.Second, func(context.Context, int) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		})
		if len(got.samples()) != 30 || perSecond != 30 {
			t.Errorf("%d, %v a second", len(got.samples()), perSecond)
		}
	})
}

func TestAFailureIsNoSample(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		got := runPaced(t.Context(), 10, time.Second, func(_ context.Context, n int) error {
			if n%2 == 1 {
				return broken
			}
			return nil
		})
		if err := got.check("act"); !errors.Is(err, broken) || len(got.samples()) != 5 {
			t.Errorf("%v, %d samples", err, len(got.samples()))
		}
	})
}
