package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/protocol"
)

// Kill is a fault for tests: a child ends with SIGKILL when a step begins, or
// After that.
type Kill struct {
	Child string // worker, coordinator, nats or store
	Step  string
	After time.Duration
}

// childWorker stands for the worker that holds the owner.
const childWorker = "worker"

// ParseKill reads CHILD@STEP or CHILD@STEP:DURATION.
func ParseKill(text string) (Kill, error) {
	child, rest, ok := strings.Cut(text, "@")
	name, after, timed := strings.Cut(rest, ":")
	if !ok || !slices.Contains([]string{childWorker, devfleet.NameCoordinator, devfleet.NameNATS, devfleet.NameStore}, child) {
		return Kill{}, fmt.Errorf("%q: want worker, coordinator, nats or store, then @STEP, or @STEP:DURATION", text)
	}
	k := Kill{Child: child, Step: name}
	if !slices.ContainsFunc(simulatedSteps(), func(s step) bool { return s.name == name }) {
		return k, fmt.Errorf("%q: there is no step %q", text, name)
	}
	if timed {
		d, err := time.ParseDuration(after)
		if err != nil {
			return k, fmt.Errorf("%q: %w", text, err)
		}
		k.After = d
	}
	return k, nil
}

const (
	// holderTimeout bounds finding the worker that holds the owner, which takes
	// longer while the coordinator or NATS is being started again.
	holderTimeout = 20 * time.Second
	holderPoll    = 100 * time.Millisecond
)

// holder is the worker that holds the owner, and the child that it is.
func (d *demo) holder(ctx context.Context) (protocol.WorkerID, string, error) {
	ctx, cancel := context.WithTimeout(ctx, holderTimeout)
	defer cancel()
	tick := time.NewTicker(holderPoll)
	defer tick.Stop()
	for {
		id, name, err := d.lookForHolder(ctx)
		if err == nil {
			return id, name, nil
		}
		if client.Code(err) == protocol.CodeNotFound {
			return "", "", err // nobody ever held it
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", "", fmt.Errorf("find the worker that holds %s: %w", d.agent.owner.ID(), err)
		}
	}
}

func (d *demo) lookForHolder(ctx context.Context) (protocol.WorkerID, string, error) {
	owner, err := d.client.Describe(ctx, d.agent.owner.ID())
	if err != nil {
		return "", "", err
	}
	workers, err := d.operator.Workers(ctx)
	if err != nil {
		return "", "", err
	}
	for _, w := range workers {
		if w.Worker == owner.Worker {
			if name, ok := d.fleet.WorkerOf(w.PID); ok {
				return w.Worker, name, nil
			}
		}
	}
	return "", "", fmt.Errorf("worker %q does not run", owner.Worker)
}

// kill ends a child.
func (d *demo) kill(ctx context.Context, child string) error {
	name := child
	if child == childWorker {
		var err error
		if _, name, err = d.holder(ctx); client.Code(err) == protocol.CodeNotFound {
			name, err = "worker-1", nil // nobody holds the owner yet
		}
		if err != nil {
			return err
		}
	}
	d.say("  SIGKILL to %s (pid %d)", name, d.fleet.PID(name))
	return d.fleet.Kill(name)
}

// startKills begins the faults of a step. The returned function waits for them.
func (d *demo) startKills(ctx context.Context, name string) (wait func() error) {
	var pending []chan error
	for _, k := range d.o.Kills {
		if k.Step != name {
			continue
		}
		done := make(chan error, 1)
		pending = append(pending, done)
		if k.After == 0 {
			done <- d.kill(ctx, k.Child)
			continue
		}
		go func() {
			select {
			case <-time.After(k.After):
				done <- d.kill(ctx, k.Child)
			case <-ctx.Done():
				done <- context.Cause(ctx)
			}
		}()
	}
	return func() error {
		for _, done := range pending {
			if err := <-done; err != nil {
				return fmt.Errorf("fault: %w", err)
			}
		}
		return nil
	}
}
