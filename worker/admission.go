package worker

import (
	"fmt"

	"github.com/browserfleet/browserfleet/internal/hostload"
)

// Admission bounds what a worker takes beyond its slots, by what its host has
// left. Zero is no bound, and what cannot be read bounds nothing.
type Admission struct {
	// MinFreeMemory in MiB: with less, the next browser could end all others.
	MinFreeMemory int64
	// MaxLoad is the one-minute load for each CPU.
	MaxLoad float64
}

// refusal is why the worker takes no owner now; empty if it does.
func (a Admission) refusal(l hostload.Load) string {
	switch {
	case a.MinFreeMemory > 0 && l.FreeMemory != hostload.Unknown && l.FreeMemory < a.MinFreeMemory:
		return fmt.Sprintf("its host has %d MiB of memory left; it keeps %d", l.FreeMemory, a.MinFreeMemory)
	case a.MaxLoad > 0 && l.PerCPU != hostload.Unknown && l.PerCPU > a.MaxLoad:
		return fmt.Sprintf("its host's load is %.1f for each CPU; it bears %.1f", l.PerCPU, a.MaxLoad)
	}
	return ""
}

// Meter counts what concerns the worker as a whole. Its methods wait for nothing.
type Meter interface {
	// OwnersHeld is how many environments live here, told with every heartbeat.
	OwnersHeld(n int)
	// Suspended: dispatch stopped for want of contact.
	Suspended()
	// NotSaved: a drain ended without the newest state of so many owners.
	NotSaved(n int)
}

type noMeter struct{}

func (noMeter) OwnersHeld(int) {}
func (noMeter) Suspended()     {}
func (noMeter) NotSaved(int)   {}
