package environment

import (
	"testing"
	"time"
)

// Docs/decisions has the reasons.
func TestHowLongTheNextAttemptToOpenWaits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		where  where
		deaths int
		want   time.Duration
	}{
		{here, 1, time.Second},
		{here, 2, 5 * time.Second},
		{here, 3, 30 * time.Second},
		{here, 9, 30 * time.Second},
		{elsewhere, 1, 0},
		{elsewhere, 2, time.Second},
		{elsewhere, 3, 5 * time.Second},
	} {
		if got := tc.where.pause(tc.deaths); got != tc.want {
			t.Errorf("where %d, %d deaths: %s, want %s", tc.where, tc.deaths, got, tc.want)
		}
	}
}
