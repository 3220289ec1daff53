//go:build realworld

package realworld

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// figures are durations in milliseconds, by what was done and how large the page
// was.
type figures struct{ of map[string][]float64 }

func newFigures() *figures { return &figures{map[string][]float64{}} }

// class of a page by the bytes of its file.
func class(size int64) string {
	switch {
	case size < 50<<10:
		return "1 below 50 KiB"
	case size < 200<<10:
		return "2 below 200 KiB"
	case size < 1<<20:
		return "3 below 1 MiB"
	}
	return "4 from 1 MiB"
}

func (f *figures) add(what string, size int64, ms float64) {
	name := fmt.Sprintf("%-18s %s", what, class(size))
	f.of[name] = append(f.of[name], ms)
}

// total is what the action took in the worker, without queue and log.
func total(t protocol.Timing) float64 { return t.DispatchMS + t.SettleMS + t.ObserveMS }

func (f *figures) log(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(f.of)) {
		all := slices.Sorted(slices.Values(f.of[name]))
		at := func(q int) float64 { return all[min(len(all)-1, len(all)*q/100)] }
		t.Logf("%-36s n=%-4d p50=%.1f ms p95=%.1f ms max=%.1f ms", name, len(all), at(50), at(95), all[len(all)-1])
	}
}
