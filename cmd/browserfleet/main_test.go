package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// runAsProgram makes the test binary the program itself. It has not the prefix of
// the program's own variables, so that the children of dev inherit it.
const runAsProgram = "TEST_BINARY_IS_BROWSERFLEET"

// wait bounds what a test waits for, a whole demonstration included, on a machine
// that is as busy as can be.
const wait = 5 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// command is a run of the program.
func command(ctx context.Context, t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "BROWSERFLEET_") || strings.HasPrefix(v, "BROWSERFLEET_CHROMIUM=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	// A folder of its own, so that no test meets the user's fleet.
	cmd.Env = append(cmd.Env, runAsProgram+"=1", "XDG_DATA_HOME="+t.TempDir())
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// ran is what a run came to.
type ran struct {
	out, err string
	code     int
}

// program runs the program to its end.
func program(t testing.TB, env []string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	cmd := command(ctx, t, env, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	return ran{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// lines collects what a running program prints, and lets a test wait for it.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until the output holds a text.
func (l *lines) await(t testing.TB, text string) {
	t.Helper()
	deadline := time.After(wait)
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.more:
		case <-deadline:
			t.Fatalf("%q was never printed:\n%s", text, l)
		}
	}
}

// dev is a running `browserfleet dev`.
type dev struct {
	t      testing.TB
	data   string
	cmd    *exec.Cmd
	out    *lines
	exited chan error
}

// startDev starts a fleet on free ports.
func startDev(t testing.TB, data string, args ...string) *dev {
	t.Helper()
	args = append([]string{"dev", "--data", data, "--nats-port", "0", "--store-port", "0", "--site-port", "0"}, args...)
	d := &dev{t: t, data: data, cmd: command(context.Background(), t, nil, args...), out: newLines(), exited: make(chan error, 1)}
	d.cmd.Stdout, d.cmd.Stderr = d.out, d.out
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.exited <- d.cmd.Wait(); close(d.exited) }()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.exited
	})
	d.out.await(t, "The fleet is up")
	return d
}

// stop ends it as Ctrl-C does.
func (d *dev) stop() {
	d.t.Helper()
	d.signal(syscall.SIGINT)
	select {
	case err := <-d.exited:
		if err != nil {
			d.t.Fatalf("dev ended with %v:\n%s", err, d.out)
		}
	case <-time.After(wait):
		d.t.Fatalf("dev does not end:\n%s", d.out)
	}
}

func (d *dev) signal(s os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// run runs a client verb against the fleet.
func (d *dev) run(args ...string) ran {
	d.t.Helper()
	return program(d.t, nil, append(args, "--data", d.data)...)
}

// ok runs a verb that must work.
func (d *dev) ok(args ...string) string {
	d.t.Helper()
	r := d.run(args...)
	if r.code != 0 {
		d.t.Fatalf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}
