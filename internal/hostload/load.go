package hostload

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Unknown is a value whose source is missing.
const Unknown = -1

// Load is one reading. Values may be Unknown.
type Load struct {
	// FreeMemory is what new processes can use, in MiB.
	FreeMemory int64
	// PerCPU is the one-minute load for each CPU: 1 is busy, more is waiting.
	PerCPU float64
	// Pressure is how much of the last ten seconds a task waited for a CPU, in
	// percent.
	Pressure float64
}

// Bounds of Saturated; see the package comment.
const (
	saturatedPressure = 90
	saturatedPerCPU   = 4
)

// Saturated reports whether a process that does not answer may only be waiting
// for a CPU.
func (l Load) Saturated() bool {
	if l.Pressure != Unknown {
		return l.Pressure >= saturatedPressure
	}
	return l.PerCPU >= saturatedPerCPU
}

// Read reads this host's load.
func Read() Load { return readAt("/", runtime.NumCPU()) }

// readAt reads below a folder that stands for the root.
func readAt(root string, cpus int) Load {
	l := Load{FreeMemory: Unknown, PerCPU: Unknown, Pressure: pressure(text(root, "proc/pressure/cpu"))}
	if kib, ok := field(text(root, "proc/meminfo"), "MemAvailable:"); ok {
		l.FreeMemory = kib / 1024
	}
	if limit, ok := cgroupFree(root); ok && (l.FreeMemory == Unknown || limit < l.FreeMemory) {
		l.FreeMemory = limit
	}
	one, _, _ := strings.Cut(text(root, "proc/loadavg"), " ")
	if load, err := strconv.ParseFloat(one, 64); err == nil && finite(load) {
		l.PerCPU = load / float64(max(1, cpus))
	}
	return l
}

func finite(f float64) bool { return f >= 0 && !math.IsInf(f, 0) }

// cgroupFree is what the container's limit leaves, in MiB; false without one.
func cgroupFree(root string) (int64, bool) {
	limit, err1 := strconv.ParseInt(text(root, "sys/fs/cgroup/memory.max"), 10, 64) // or "max"
	used, err2 := strconv.ParseInt(text(root, "sys/fs/cgroup/memory.current"), 10, 64)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	// Files that nobody has read lately are dropped before anything is refused.
	cache, _ := field(text(root, "sys/fs/cgroup/memory.stat"), "inactive_file")
	return max(0, limit-used+cache) >> 20, true
}

// pressure reads "some avg10=1.23 avg60=...".
func pressure(file string) float64 {
	for line := range strings.Lines(file) {
		rest, ok := strings.CutPrefix(line, "some avg10=")
		if !ok {
			continue
		}
		value, _, _ := strings.Cut(rest, " ")
		if share, err := strconv.ParseFloat(value, 64); err == nil && finite(share) {
			return share
		}
	}
	return Unknown
}

// field is the number behind a name at the beginning of a line.
func field(file, name string) (int64, bool) {
	for line := range strings.Lines(file) {
		if parts := strings.Fields(line); len(parts) >= 2 && parts[0] == name {
			n, err := strconv.ParseInt(parts[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func text(root, name string) string {
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
