package devfleet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// steady is how long a child must have lived for its next death to count as
	// the first one again.
	steady = 30 * time.Second
	// tailBytes of a log are shown when a child does not start.
	tailBytes = 1500
)

// pauses before a child is started again.
var pauses = []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}

// child is a process of the fleet, started again when it dies.
type child struct {
	name    string
	program string // empty: this one
	args    []string
	env     []string
	stdin   *os.File
	log     *os.File
	restart bool
	// say prints a line for the person at the terminal.
	say func(format string, args ...any)
	// settled tells whether the fleet was ready once; before, a death is final.
	settled func() bool
	// failed gets the first death before that.
	failed chan<- error

	stop chan struct{} // closed: do not start again
	once sync.Once     // of stop
	done chan struct{} // closed: the process is gone and stays so

	mu      sync.Mutex // guards all below
	process *os.Process
	killed  bool // on purpose: its next death is no sign of trouble
}

// runChild starts the child and keeps it running.
func (c *child) runChild() {
	defer close(c.done)
	for deaths := 0; ; deaths++ {
		begun := time.Now()
		err := c.live()
		if c.stopping() {
			return
		}
		if !c.settled() {
			c.failed <- c.startError(err)
			return
		}
		if c.wasKilled() || time.Since(begun) > steady {
			deaths = 0
		}
		if !c.restart {
			c.say("%s ended (%s); it is not started again", c.name, reason(err))
			return
		}
		pause := pauses[min(deaths, len(pauses)-1)]
		c.say("%s ended (%s); started again in %s", c.name, reason(err), pause)
		select {
		case <-time.After(pause):
		case <-c.stop:
			return
		}
	}
}

// live starts the process and waits for its end.
func (c *child) live() error {
	program := c.program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return err
		}
	}
	cmd := exec.Command(program, c.args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env, c.stdin, c.log, c.log
	// Its own group: Ctrl-C at the terminal is for dev, which stops it in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.mu.Lock()
	if c.stopping() {
		c.mu.Unlock()
		return nil
	}
	err := cmd.Start()
	if err == nil {
		c.process = cmd.Process
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	err = cmd.Wait()
	c.mu.Lock()
	c.process = nil
	c.mu.Unlock()
	return err
}

func (c *child) stopping() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// kill ends the process with SIGKILL, on purpose: it is started again at once,
// however often.
func (c *child) kill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	did := c.process != nil && c.process.Signal(syscall.SIGKILL) == nil
	c.killed = c.killed || did
	return did
}

// wasKilled reports whether the death that just came was on purpose.
func (c *child) wasKilled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.killed
	c.killed = false
	return was
}

// pid is 0 while the child does not run.
func (c *child) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	return c.process.Pid
}

// signal tells whether there was a process to signal.
func (c *child) signal(s os.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.process != nil && c.process.Signal(s) == nil
}

// beginStop asks the child to end; awaitStop waits, and kills it after grace or
// when hurry is closed.
func (c *child) beginStop() {
	c.once.Do(func() { close(c.stop) })
	c.signal(syscall.SIGTERM)
}

func (c *child) awaitStop(grace time.Duration, hurry <-chan struct{}) {
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-c.done:
		return
	case <-late.C:
		c.say("%s does not end; killed", c.name)
	case <-hurry:
	}
	c.signal(syscall.SIGKILL)
	<-c.done
}

// startError says that a child died before the fleet was ready.
type startError struct{ name, why, log, tail string }

func (e *startError) Error() string {
	return fmt.Sprintf("%s did not start (%s); the end of %s:\n%s", e.name, e.why, e.log, e.tail)
}

func (c *child) startError(err error) error {
	return &startError{c.name, reason(err), c.log.Name(), tail(c.log.Name())}
}

// reason is why a process ended, for people.
func reason(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0"
	case errors.As(err, &exit):
		return exit.String()
	}
	return err.Error()
}

// tail is the end of a log, indented.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "  " + err.Error()
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(f, tailBytes))
	return "  " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  ")
}

// openLog opens a child's log; the one of the run before is kept as .old.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
