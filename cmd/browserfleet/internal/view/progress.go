package view

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// progressAfter is how long something may take before a line says so.
const progressAfter = 700 * time.Millisecond

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// StartProgress shows what is waited for, and for how long, on a terminal; on
// anything else it does nothing. The returned function removes the line.
func StartProgress(w *os.File, what string) (stop func()) {
	if !IsTerminal(w) {
		return func() {}
	}
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { runProgress(w, what, end) })
	return sync.OnceFunc(func() {
		close(end)
		done.Wait()
	})
}

func runProgress(w *os.File, what string, end <-chan struct{}) {
	begun := time.Now()
	tick := time.NewTicker(progressAfter)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-end:
			if shown {
				fmt.Fprint(w, "\r\x1b[K")
			}
			return
		case <-tick.C:
			fmt.Fprintf(w, "\r\x1b[K%s … %d s", what, int(time.Since(begun).Seconds()))
			shown = true
		}
	}
}
