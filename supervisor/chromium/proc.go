package chromium

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procStat is what /proc/PID/stat says about a process.
type procStat struct {
	state   byte   // 'Z' is a zombie
	pgid    int    // process group
	threads int    // of a zombie: more than one while others are still ending
	start   uint64 // clock ticks since boot; with the pid it names a process for good
}

var errNoProcess = errors.New("no such process")

func readStat(pid int) (procStat, error) {
	raw, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return procStat{}, errNoProcess
	}
	// The second field is the command in parentheses and may itself contain
	// spaces and parentheses; the fields after the last one are plain.
	end := bytes.LastIndexByte(raw, ')')
	fields := strings.Fields(string(raw[end+1:]))
	if end < 0 || len(fields) < 20 {
		return procStat{}, fmt.Errorf("unreadable stat of process %d", pid)
	}
	pgid, err1 := strconv.Atoi(fields[2])
	threads, err2 := strconv.Atoi(fields[17])
	start, err3 := strconv.ParseUint(fields[19], 10, 64)
	return procStat{state: fields[0][0], pgid: pgid, threads: threads, start: start}, errors.Join(err1, err2, err3)
}

// alive says whether the process with this pid and start time still runs.
func alive(pid int, start uint64) bool {
	stat, err := readStat(pid)
	return err == nil && stat.start == start && stat.state != 'Z' && stat.state != 'X'
}

// namesProfile says whether the command line has the profile's user-data-dir as
// one whole argument. (Children of a browser join their arguments by spaces.)
func namesProfile(pid int, userData string) bool {
	raw, err := os.ReadFile(procPath(pid, "cmdline"))
	if err != nil {
		return false
	}
	want := "--user-data-dir=" + userData
	for arg := range bytes.FieldsFuncSeq(raw, func(r rune) bool { return r == 0 || r == ' ' }) {
		if string(arg) == want {
			return true
		}
	}
	return false
}

// worksIn says whether the working directory of the process is in the folder.
func worksIn(pid int, folder string) bool {
	cwd, err := os.Readlink(procPath(pid, "cwd"))
	cwd = strings.TrimSuffix(cwd, " (deleted)")
	return err == nil && (cwd == folder || strings.HasPrefix(cwd, folder+"/"))
}

func processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func procPath(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// bootID and pidNamespace say in which world a pid has its meaning.
func bootID() (string, error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw)), err
}

func pidNamespace() (string, error) { return os.Readlink("/proc/self/ns/pid") }
