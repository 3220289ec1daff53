package chromium

import (
	"bytes"
	"os"
	"syscall"
)

// The kinds of a browser's child processes, as their command lines name them.
const (
	Renderers = "--type=renderer"
	GPU       = "--type=gpu-process"
	Network   = "--utility-sub-type=network.mojom.NetworkService"
)

// Children are the pids of the browser's processes of one kind. It reads all of
// /proc.
func (p *Process) Children(kind string) []int {
	pids, err := processes()
	if err != nil {
		return nil
	}
	var found []int
	for _, pid := range pids {
		if stat, err := readStat(pid); err == nil && stat.pgid == p.PID() && stat.state != 'Z' && hasArgument(pid, kind) {
			found = append(found, pid)
		}
	}
	return found
}

// Child is one process of a browser.
type Child struct {
	pid   int
	start uint64
}

// Child is the browser's first process of a kind, if there is any.
func (p *Process) Child(kind string) (Child, bool) {
	for _, pid := range p.Children(kind) {
		if stat, err := readStat(pid); err == nil {
			return Child{pid, stat.start}, true
		}
	}
	return Child{}, false
}

// Alive says whether exactly this process still runs.
func (c Child) Alive() bool { return alive(c.pid, c.start) }

// KillChild ends one of the browser's processes, also one that was stopped or loops
// for ever. The browser stays.
func (p *Process) KillChild(pid int) {
	if stat, err := readStat(pid); err == nil && stat.pgid == p.PID() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	}
}

// hasArgument says whether a process was started with an argument. (Children of a
// browser join their arguments by spaces.)
func hasArgument(pid int, argument string) bool {
	raw, err := os.ReadFile(procPath(pid, "cmdline"))
	if err != nil {
		return false
	}
	for arg := range bytes.FieldsFuncSeq(raw, func(r rune) bool { return r == 0 || r == ' ' }) {
		if string(arg) == argument {
			return true
		}
	}
	return false
}
