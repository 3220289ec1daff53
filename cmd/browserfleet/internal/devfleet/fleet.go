package devfleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/loadtest/site"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

const (
	// readyTimeout bounds the start of the whole fleet: about two seconds on an
	// idle machine.
	readyTimeout = 90 * time.Second
	// drainTimeout is how long a worker may take to hand over its owners.
	drainTimeout = 20 * time.Second
	// stopGrace is how long a child may take beyond what it has to do.
	stopGrace = 10 * time.Second
	// sweepTimeout bounds removing what browsers left.
	sweepTimeout = 20 * time.Second
)

// Names of the children that there is one of.
const (
	NameNATS        = "nats"
	NameStore       = "store"
	NameCoordinator = "coordinator"
)

// Options shape a fleet.
type Options struct {
	Data    Folder
	Workers int
	Slots   int // environments a worker
	Browser string
	Ports   Ports
	Tenant  protocol.Tenant
	Shards  int
	// Allow are hosts that pages may reach besides the public internet and the
	// bundled site, as egressproxy's allow_hosts.
	Allow []string
	// KeepDeadWorkers does not start workers again.
	KeepDeadWorkers bool
	// Program is what the children run; empty: this one.
	Program string
	// DispatchLogs makes the workers write dispatch logs; see Fleet.DispatchLogs.
	DispatchLogs bool
	// CoordinatorSettings and WorkerSettings are further BROWSERFLEET_* variables,
	// without that prefix; Env are variables of all children, NAME=value.
	CoordinatorSettings, WorkerSettings map[string]string
	Env                                 []string
	// Say prints a line for the person at the terminal.
	Say func(format string, args ...any)
}

// Fleet is a running fleet.
type Fleet struct {
	Running

	o        Options
	lock     *os.File
	pipe     *os.File // its end is the children's end
	stdin    *os.File // the children's side of it
	site     *site.Server
	ready    atomic.Bool
	failed   chan error
	children []*child // in the order of their start
	stopOnce sync.Once
	stopErr  error
}

// startTries: a port that was free when it was chosen may be taken when it is
// used.
const startTries = 3

// Start starts a fleet and returns when every worker can take owners. On an
// error nothing of it is left.
func Start(ctx context.Context, o Options) (f *Fleet, err error) {
	for range startTries {
		f, err = startOnce(ctx, o)
		var child *startError
		if err == nil || !o.Ports.anyFree() || !errors.As(err, &child) {
			break
		}
	}
	return f, err
}

func startOnce(ctx context.Context, o Options) (*Fleet, error) {
	if err := o.Data.make(); err != nil {
		return nil, err
	}
	lock, err := o.Data.lock()
	if err != nil {
		return nil, err
	}
	f := &Fleet{o: o, lock: lock, failed: make(chan error, o.Workers+3)}
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("the fleet took too long to start"))
	defer cancel()
	if err := f.start(ctx); err != nil {
		hurry := make(chan struct{})
		close(hurry)
		return nil, errors.Join(err, f.Stop(hurry))
	}
	f.ready.Store(true)
	return f, nil
}

func (f *Fleet) start(ctx context.Context) error {
	if err := f.prepare(ctx); err != nil {
		return err
	}
	f.startChild(NameNATS, []string{"nats", "serve"}, f.natsEnv(), true)
	f.startChild(NameStore, []string{"store"}, f.storeEnv(), true)
	if err := f.provision(ctx); err != nil {
		return err
	}
	if err := f.awaitStore(ctx); err != nil {
		return err
	}
	f.startChild(NameCoordinator, []string{"coordinator"}, f.coordinatorEnv(), true)
	for n := range f.o.Workers {
		name := workerName(n)
		f.startChild(name, []string{"worker"}, f.workerEnv(name), !f.o.KeepDeadWorkers)
	}
	if err := f.awaitWorkers(ctx); err != nil {
		return err
	}
	return f.o.Data.writeRunning(f.Running)
}

func workerName(n int) string { return fmt.Sprintf("worker-%d", n+1) }

// prepare does everything that needs no child: what a former dev left is swept,
// ports are chosen, files are written, the site is up.
func (f *Fleet) prepare(ctx context.Context) error {
	var err error
	if err = f.checkBrowser(); err != nil {
		return err
	}
	if err = f.sweep(); err != nil {
		return err
	}
	if f.stdin, f.pipe, err = os.Pipe(); err != nil {
		return fmt.Errorf("pipe to the children: %w", err)
	}
	ports, err := f.o.Ports.choose()
	if err != nil {
		return err
	}
	f.Running = Running{
		NATS: "nats://" + address(ports.NATS), Store: address(ports.Store), Site: "http://" + address(ports.Site),
		Tenant: f.o.Tenant, Shards: f.o.Shards, Browser: f.o.Browser,
	}
	if err := f.o.Data.makeSecrets(); err != nil {
		return err
	}
	if err := f.startSite(ctx, ports.Site); err != nil {
		return err
	}
	return errors.Join(f.writeNATSConfig(), f.writePolicy(), f.o.Data.writeCredentials(f.Tenant, f.Site))
}

// checkBrowser finds out before anything is started whether the workers will
// find a browser.
func (f *Fleet) checkBrowser() error {
	if f.o.Browser != service.BrowserChrome {
		return nil
	}
	if _, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM")); err != nil {
		return err
	}
	if withoutSandbox() {
		f.o.Say("warning: running as root, so Chromium runs without its sandbox (BROWSERFLEET_ALLOW_NO_SANDBOX=1). Open only what you trust.")
	}
	return nil
}

// withoutSandbox: root cannot use Chromium's sandbox.
func withoutSandbox() bool { return os.Geteuid() == 0 }

// startSite serves the bundled site from this process: it outlives everything
// that is killed.
func (f *Fleet) startSite(ctx context.Context, port int) error {
	password, err := f.o.Data.secret(secretSite)
	if err != nil {
		return err
	}
	f.site, err = site.Start(context.WithoutCancel(ctx), address(port), site.Options{Username: SiteUser, Password: password})
	return err
}

// SiteStats counts the effects on the bundled site.
func (f *Fleet) SiteStats() site.Stats { return f.site.Site().Stats() }

// startChild starts a child and the goroutine that keeps it running.
func (f *Fleet) startChild(name string, args, env []string, restart bool) {
	log, err := openLog(f.o.Data.Log(name))
	if err != nil {
		f.failed <- fmt.Errorf("log of %s: %w", name, err)
		return
	}
	c := &child{
		name: name, program: f.o.Program, args: args, env: env, stdin: f.stdin, log: log, restart: restart, say: f.o.Say,
		settled: f.ready.Load, failed: f.failed, stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.children = append(f.children, c)
	go c.runChild()
}

// PID is the process id of a child; 0 while it does not run.
func (f *Fleet) PID(name string) int {
	for _, c := range f.children {
		if c.name == name {
			return c.pid()
		}
	}
	return 0
}

// Kill ends a child with SIGKILL, as a crash would. It is started again as after a
// first crash, however often it is killed.
func (f *Fleet) Kill(name string) error {
	for _, c := range f.children {
		if c.name == name && c.kill() {
			return nil
		}
	}
	return fmt.Errorf("%s does not run", name)
}

// WorkerOf is the child that runs a worker, by the process id of its heartbeat.
func (f *Fleet) WorkerOf(pid int) (name string, ok bool) {
	for _, c := range f.children {
		if strings.HasPrefix(c.name, "worker-") && pid != 0 && c.pid() == pid {
			return c.name, true
		}
	}
	return "", false
}

// DispatchLogs are the files of Options.DispatchLogs.
func (f *Fleet) DispatchLogs() []string {
	var out []string
	for n := range f.o.Workers {
		out = append(out, f.dispatchLog(workerName(n)))
	}
	return out
}

func (f *Fleet) dispatchLog(name string) string {
	return f.o.Data.Path("logs", "dispatch-"+name+".jsonl")
}

// Stop ends the fleet in order and removes what browsers left. When hurry is
// closed, everything is killed instead. It may be called more than once.
func (f *Fleet) Stop(hurry <-chan struct{}) error {
	f.stopOnce.Do(func() { f.stopErr = f.stop(hurry) })
	return f.stopErr
}

func (f *Fleet) stop(hurry <-chan struct{}) error {
	f.ready.Store(true) // a death is expected now
	var workers []*child
	for _, c := range f.children {
		if strings.HasPrefix(c.name, "worker-") {
			c.beginStop()
			workers = append(workers, c)
		}
	}
	for _, c := range workers {
		c.awaitStop(drainTimeout+stopGrace, hurry)
	}
	for _, c := range slices.Backward(f.children) {
		if !slices.Contains(workers, c) {
			c.beginStop()
			c.awaitStop(stopGrace, hurry)
		}
	}
	var failures []error
	for _, c := range f.children {
		failures = append(failures, c.log.Close())
	}
	for _, end := range []*os.File{f.pipe, f.stdin} {
		if end != nil {
			failures = append(failures, end.Close())
		}
	}
	if f.site != nil {
		failures = append(failures, f.site.Close())
	}
	failures = append(failures, f.sweep())
	if err := os.Remove(f.o.Data.Path("fleet.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		failures = append(failures, err)
	}
	return errors.Join(append(failures, f.lock.Close())...)
}

// sweep removes what browsers of dead workers left.
func (f *Fleet) sweep() error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	report, err := chromium.Sweep(ctx, f.o.Data.Scratch())
	if err != nil {
		return fmt.Errorf("sweep what browsers left: %w", err)
	}
	if report.Swept > 0 {
		f.o.Say("removed what %d dead browsers had left (%d processes killed)", report.Swept, report.Killed)
	}
	return nil
}
