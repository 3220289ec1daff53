package chromium

import (
	"os"
	"strconv"
	"strings"
)

// Memory is what the process group keeps in memory of its own, in bytes: what is
// resident, without mapped files and shared memory, which are counted once for
// every process that maps them. It reads all of /proc, so ask now and then only.
func (p *Process) Memory() int64 {
	pids, err := processes()
	if err != nil {
		return 0
	}
	var sum int64
	for _, pid := range pids {
		if stat, err := readStat(pid); err == nil && stat.pgid == p.PID() {
			sum += ownMemory(pid)
		}
	}
	return sum
}

// ownMemory reads /proc/PID/statm: size, resident, shared..., in pages.
func ownMemory(pid int) int64 {
	raw, err := os.ReadFile(procPath(pid, "statm"))
	fields := strings.Fields(string(raw))
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, err1 := strconv.ParseInt(fields[1], 10, 64)
	shared, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(0, resident-shared) * int64(os.Getpagesize())
}
