package chromium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"golang.org/x/sys/unix"
)

const (
	// termGrace is how long a browser may take to end after SIGTERM. It has
	// nothing to save: state is taken over the protocol before.
	termGrace = 2 * time.Second
	// killGrace is how long the kernel may take to end a killed group.
	killGrace = 5 * time.Second
	// removeTries times removePause bounds the removal of a busy profile.
	removeTries = 200
	removePause = 50 * time.Millisecond
	// defaultNice keeps browsers below the worker, which has deadlines to hold.
	defaultNice = 5
	// The full browser makes this socket in TMPDIR and aborts when its path is
	// longer than a socket's can be.
	singletonSocket = "/org.chromium.Chromium.XXXXXX/SingletonSocket"
	maxSocketPath   = 107
)

// ErrNeedsNoSandbox: root cannot use Chromium's sandbox, and starting without it
// has to be somebody's decision.
var ErrNeedsNoSandbox = errors.New("chromium: running as root needs --no-sandbox, which is off;" +
	" run the worker as another user, or set BROWSERFLEET_ALLOW_NO_SANDBOX=1 if everything it browses is trusted")

// Options say what to start and where.
type Options struct {
	// Binary is what Find returned.
	Binary Binary
	// Scratch is the scratch root of this host's workers.
	Scratch string
	// AllowNoSandbox starts the browser without its sandbox.
	AllowNoSandbox bool
	// Nice is how far the group stays below this process; 0 means 5, negative means
	// not at all.
	Nice int
	// ExtraArgs go last on the command line.
	ExtraArgs []string
}

// Process is one running browser. Its methods may be called from any goroutine.
type Process struct {
	record  *record
	command *exec.Cmd
	carrier cdp.Carrier
	stderr  *tail
	nice    int
	done    chan struct{}
	err     error // set before done is closed
	close   sync.Once
	closed  error
}

// Launch starts a browser. It returns as soon as the process exists; whether it
// works is known by the first reply over its carrier.
func Launch(ctx context.Context, o Options) (*Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("chromium: launch: %w", err)
	}
	if os.Geteuid() == 0 && !o.AllowNoSandbox {
		return nil, ErrNeedsNoSandbox
	}
	rec, err := newRecord(o.Scratch)
	if err != nil {
		return nil, fmt.Errorf("chromium: launch: %w", err)
	}
	p := &Process{record: rec, stderr: newTail(), nice: o.Nice, done: make(chan struct{})}
	if p.nice == 0 {
		p.nice = defaultNice
	}
	if err := p.run(o); err != nil {
		return nil, errors.Join(fmt.Errorf("chromium: launch: %w", err), rec.remove(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// run starts the process and the goroutine that waits for it.
func (p *Process) run(o Options) error {
	profile := p.record.Profile
	home, tmp := filepath.Join(profile, "home"), filepath.Join(profile, "tmp")
	if o.Binary.Kind == Full && len(tmp)+len(singletonSocket) > maxSocketPath {
		tmp = p.record.shortTmp()
	}
	for _, folder := range []string{home, tmp, p.record.userData()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, theirIn.Close(), ourOut.Close())
	}
	p.carrier = cdp.NewPipe(ourIn, ourOut)
	p.command = exec.Command(o.Binary.Path, arguments(o.Binary, p.record.userData(), o)...)
	p.command.Env = environment(home, tmp)
	p.command.Dir = profile
	p.command.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4
	p.command.Stderr = p.stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A grandchild that kept stderr open must not keep Wait from returning.
	p.command.WaitDelay = time.Second
	err = p.command.Start()
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		return errors.Join(err, p.carrier.Close())
	}
	go p.runWait()
	p.Lower()
	// A process that has ended already is told by Done, with what it said.
	if err := p.record.started(p.command.Process.Pid); err != nil && !errors.Is(err, errNoProcess) {
		p.Kill()
		<-p.done
		return errors.Join(err, p.carrier.Close())
	}
	return nil
}

func (p *Process) runWait() {
	pid := p.command.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	// The zombie still owns the pid and with it the group's number.
	_ = unix.Kill(-pid, unix.SIGKILL) // ESRCH: the group has no other member
	p.err = p.command.Wait()
	close(p.done)
}

// Lower puts the whole group below this process again. As root, Chromium raises
// its main threads to nice -8 (measured on 156), above the worker that has
// deadlines to hold, and so does each new renderer: call it now and then.
func (p *Process) Lower() {
	if p.nice <= 0 {
		return
	}
	select {
	case <-p.done:
		return
	default:
	}
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the syscall gives 20 minus the nice value
	if err != nil {
		return
	}
	// Best effort: a browser at full weight is slower for others, not wrong.
	_ = unix.Setpriority(unix.PRIO_PGRP, p.PID(), min(20-own+p.nice, 19))
}

// Carrier is our end of the debugging pipe. It has one user, who closes it.
func (p *Process) Carrier() cdp.Carrier { return p.carrier }

// PID is the browser process, which leads its process group.
func (p *Process) PID() int { return p.command.Process.Pid }

// Profile is the folder that Close removes.
func (p *Process) Profile() string { return p.record.Profile }

// Stderr is the end of what the browser wrote there, at most 8 KiB. Page text
// can be in it, so it belongs into a debug log only.
func (p *Process) Stderr() string { return p.stderr.String() }

// Done is closed when the process has ended and its group was killed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended. It is valid after Done.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Kill ends the whole group at once and does not wait.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		_ = unix.Kill(-p.PID(), unix.SIGKILL) // it may have ended just now
	}
}

// Close ends the process (SIGTERM, SIGKILL of the group two seconds later, or at
// once when ctx ends), waits for it, and removes its profile and record. Later
// calls return the same error.
func (p *Process) Close(ctx context.Context) error {
	p.close.Do(func() { p.closed = p.shutdown(ctx) })
	return p.closed
}

func (p *Process) shutdown(ctx context.Context) error {
	_ = unix.Kill(p.PID(), unix.SIGTERM) // not reaped before done, so the pid is ours
	grace := time.NewTimer(termGrace)
	defer grace.Stop()
	select {
	case <-p.done:
	case <-grace.C:
	case <-ctx.Done():
	}
	p.Kill()
	killed := time.NewTimer(killGrace)
	defer killed.Stop()
	select {
	case <-p.done:
	case <-killed.C:
		inUse.Delete(p.record.path) // it is Sweep's now
		return fmt.Errorf("chromium: process %d survived SIGKILL for %v", p.PID(), killGrace)
	}
	err := p.carrier.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	// The folder must go even when the caller has no time left.
	return errors.Join(err, p.record.remove(context.WithoutCancel(ctx)))
}
