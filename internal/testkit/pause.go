package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pauseWait bounds the wait for a process to stand still.
const pauseWait = 2 * time.Minute

// Pause stops a process (SIGSTOP) and returns when it stands still. Without the
// wait its threads run on for a while on a busy machine, and a browser may yet
// notice that its worker is gone.
func Pause(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("pause process %d: %v", pid, err)
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(pauseWait); ; {
		err := standsStill(pid)
		if err == nil {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("process %d does not stand still: %v", pid, err)
		}
	}
}

// standsStill tells which thread of a process is not stopped.
func standsStill(pid int) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return err
	}
	if len(threads) == 0 {
		return fmt.Errorf("it has no threads")
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// pid (name) state ...; the name may have brackets.
		end := strings.LastIndex(string(text), ") ")
		if end < 0 || text[end+2] != 'T' {
			return fmt.Errorf("%s: %.40s", path, text)
		}
	}
	return nil
}
