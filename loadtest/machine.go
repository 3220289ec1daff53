package loadtest

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine says where a run was measured; figures mean nothing without it.
type Machine struct {
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPU       string `json:"cpu,omitempty"`
	CPUs      int    `json:"cpus"`
	MemoryMiB int64  `json:"memory_mib,omitempty"`
	Kernel    string `json:"kernel,omitempty"`
	Go        string `json:"go"`
}

// ThisMachine is where the harness runs. What the system does not tell is empty.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
	m.CPU = field("/proc/cpuinfo", "model name")
	if kib, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryMiB = kib >> 10
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	return m
}

// field is the first "key: value" of a file.
func field(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// String is one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s/%s, %d CPUs (%s), %d MiB, kernel %s, %s", m.OS, m.Arch, m.CPUs, m.CPU, m.MemoryMiB, m.Kernel, m.Go)
}
