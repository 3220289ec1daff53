package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// attempts is how often a step is taken before it counts as failed.
	attempts = 8
	// runTimeout bounds the whole demonstration, which takes about ten seconds.
	runTimeout = 5 * time.Minute
	// agentOwner is whose environment it is.
	agentOwner = protocol.Owner("demo")
)

// Options of a demonstration.
type Options struct {
	Browser string
	Kills   []Kill
	// Keep leaves the data folder for a look at it.
	Keep bool
	// Elements of a page that are printed.
	Elements int
	Out      io.Writer
	// Hurry is closed to end without draining.
	Hurry <-chan struct{}
}

// demo is a demonstration that runs.
type demo struct {
	o        Options
	data     devfleet.Folder
	fleet    *devfleet.Fleet
	client   *client.Client
	operator *client.Operator
	agent    *agent
	killed   protocol.WorkerID
}

// Run runs the demonstration. A nil error means that everything held.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTimeout, errors.New("the demonstration took too long"))
	defer cancel()
	dir, err := os.MkdirTemp("", "browserfleet-demo-")
	if err != nil {
		return fmt.Errorf("folder of the demonstration: %w", err)
	}
	d := &demo{o: o, data: devfleet.Folder(dir)}
	begun := time.Now()
	err = d.runFleet(ctx)
	if left := d.leftovers(); err == nil {
		err = left
	} else if left != nil {
		err = errors.Join(err, left)
	}
	if err != nil {
		d.say("\nThe demonstration FAILED. Logs and data: %s", dir)
		return err
	}
	if o.Keep {
		d.say("\nData: %s", dir)
	} else if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the demonstration's folder: %w", err)
	}
	d.say("\nEverything held (%s): %d requests, each with one answer; no effect twice; nothing left running.",
		view.Took(time.Since(begun)), len(d.agent.requests))
	return nil
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.o.Out, format+"\n", args...) }

// workers is one that is killed and one that goes on, and one more for each fault.
func (d *demo) workers() int {
	n := 2
	for _, k := range d.o.Kills {
		if k.Child == childWorker {
			n++
		}
	}
	return n
}

// runFleet starts the fleet, does the work, checks it, and stops the fleet.
func (d *demo) runFleet(ctx context.Context) (err error) {
	begun := time.Now()
	d.fleet, err = devfleet.Start(ctx, devfleet.Options{
		Data: d.data, Workers: d.workers(), Slots: 4, Browser: d.o.Browser, Tenant: "demo", Shards: 1,
		KeepDeadWorkers: true, DispatchLogs: true,
		// A slow disk must not spoil it: workers are killed at once after an answer.
		WorkerSettings: map[string]string{"CHECKPOINT_WAIT": "1m"},
		Say:            func(format string, args ...any) { d.say("  "+format, args...) },
	})
	if err != nil {
		return err
	}
	defer func() {
		d.say("\n== stop the fleet")
		if stopped := d.fleet.Stop(d.o.Hurry); stopped != nil {
			err = errors.Join(err, stopped)
		}
	}()
	d.say("A fleet runs (%s): NATS, an S3 store, a coordinator, %d workers, and the bundled shop at %s.",
		view.Took(time.Since(begun)), d.workers(), d.fleet.Site)
	if err := d.connect(ctx); err != nil {
		return err
	}
	defer d.client.Close()
	defer d.operator.Close()
	if err := d.work(ctx); err != nil {
		return err
	}
	return d.check()
}

func (d *demo) connect(ctx context.Context) error {
	asAgent, err := d.data.Agent(&d.fleet.Running)
	if err != nil {
		return err
	}
	asOperator, err := d.data.Operator(&d.fleet.Running)
	if err != nil {
		return err
	}
	if d.client, err = client.Connect(ctx, asAgent); err != nil {
		return err
	}
	if d.operator, err = client.ConnectOperator(ctx, asOperator); err != nil {
		d.client.Close()
		return err
	}
	d.agent = &agent{owner: d.client.Owner(agentOwner), out: indent{d.o.Out}, shown: d.o.Elements}
	return nil
}

func (d *demo) steps() []step {
	if d.o.Browser == service.BrowserSimulated {
		return simulatedSteps()
	}
	return shopSteps(d.fleet.Site)
}

// work takes the steps.
func (d *demo) work(ctx context.Context) error {
	for i, s := range d.steps() {
		d.say("\n== %d. %s", i+1, s.title)
		wait := d.startKills(ctx, s.name)
		run := s.run
		if s.name == stepKill {
			run = func(ctx context.Context, _ *agent) error { return d.killHolder(ctx) }
		}
		err := d.take(ctx, run)
		if err = errors.Join(err, wait()); err != nil {
			return fmt.Errorf("step %s: %w", s.name, err)
		}
	}
	return nil
}

// take takes a step, again from what the agent sees when it cannot be sure.
func (d *demo) take(ctx context.Context, run func(context.Context, *agent) error) error {
	for n := 1; ; n++ {
		err := run(ctx, d.agent)
		var again *unsure
		if err == nil || !errors.As(err, &again) || n == attempts {
			return err
		}
		d.say("    %s: the agent looks again before it decides", again)
		if err := d.look(ctx); err != nil {
			return err
		}
	}
}

// lookPause spaces looks at an environment that cannot be opened yet.
const lookPause = 500 * time.Millisecond

// look observes until there is an answer with a page.
func (d *demo) look(ctx context.Context) error {
	for n := 1; ; n++ {
		err := observe(ctx, d.agent)
		var again *unsure
		if err == nil || !errors.As(err, &again) || n == attempts {
			return err
		}
		select {
		case <-time.After(lookPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// killHolder kills the worker that holds the environment.
func (d *demo) killHolder(ctx context.Context) error {
	id, name, err := d.holder(ctx)
	if err != nil {
		return err
	}
	d.killed, d.agent.restored = id, nil
	d.say("  %s runs it as %s (pid %d)", id, name, d.fleet.PID(name))
	return d.fleet.Kill(name)
}

// indent puts four blanks before each line.
type indent struct{ w io.Writer }

func (i indent) Write(p []byte) (int, error) {
	begin := 0
	for n, b := range p {
		if b == '\n' {
			if _, err := fmt.Fprintf(i.w, "    %s", p[begin:n+1]); err != nil {
				return 0, err
			}
			begin = n + 1
		}
	}
	if begin < len(p) {
		if _, err := fmt.Fprintf(i.w, "    %s", p[begin:]); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
