package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/protocol"
)

type ownersListCmd struct {
	reach
	format
	Mine bool `help:"Only the tenant's, with the tenant's own credentials."`
}

// Run lists owners.
func (c *ownersListCmd) Run(a *app) error {
	ctx, stop := untilInterrupt()
	defer stop()
	reply, err := c.list(ctx)
	if err != nil {
		return err
	}
	if c.json() {
		return view.JSON(a.out, reply)
	}
	writeOwners(a.out, reply)
	return nil
}

func (c *ownersListCmd) list(ctx context.Context) (*protocol.OwnersReply, error) {
	if c.Mine || strings.HasPrefix(c.User, "tenant.") || strings.HasPrefix(c.User, "agent.") {
		cl, err := connectAgent(ctx, &c.reach)
		if err != nil {
			return nil, err
		}
		defer cl.Close()
		return cl.List(ctx)
	}
	op, err := connectOperator(ctx, &c.reach)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	return op.Owners(ctx)
}

func writeOwners(w io.Writer, reply *protocol.OwnersReply) {
	if len(reply.Owners) == 0 {
		fmt.Fprintln(w, "no owners yet")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "OWNER\tSTATE\tWORKER\tGENERATION\tSINCE\tLEASES\tDRIVES\tRUNNING")
	for _, o := range reply.Owners {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\n", o.Key, o.State, or(string(o.Worker)), o.Generation, ago(o.Since),
			len(o.Leases), drives(&o), or(string(o.Running)))
	}
	_ = t.Flush()
	if reply.Truncated {
		fmt.Fprintln(w, "(there are more)")
	}
}

// drives is who acts on the page: a person who took it over, or its agent.
func drives(o *protocol.OwnerInfo) string {
	if o.Control == nil {
		return "agent"
	}
	return view.Line(o.Control.Holder, protocol.MaxIDLen)
}

func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func ago(t protocol.Time) string {
	if t.IsZero() {
		return "-"
	}
	return view.Took(max(0, time.Since(t.Time)).Round(time.Second)) + " ago"
}

type workersCmd struct {
	List  workersListCmd  `cmd:"" default:"withargs" help:"List workers (the default)."`
	Drain workersDrainCmd `cmd:"" help:"Make a worker hand over its owners and stop."`
}

type workersListCmd struct {
	reach
	format
	All bool `help:"Also workers that are gone."`
}

// Run lists workers.
func (c *workersListCmd) Run(a *app) error {
	ctx, stop := untilInterrupt()
	defer stop()
	op, err := connectOperator(ctx, &c.reach)
	if err != nil {
		return err
	}
	defer op.Close()
	workers, err := op.Workers(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(workers, func(x, y protocol.WorkerInfo) int { return strings.Compare(string(x.Worker), string(y.Worker)) })
	gone := 0
	if !c.All {
		workers, gone = withoutGone(workers)
	}
	if c.json() {
		return view.JSON(a.out, protocol.WorkersReply{V: protocol.Version, Workers: workers})
	}
	return writeWorkers(a.out, workers, gone)
}

// workerGone is the state of a worker that does not come back.
const workerGone = "gone"

func withoutGone(all []protocol.WorkerInfo) (left []protocol.WorkerInfo, gone int) {
	left = slices.DeleteFunc(slices.Clone(all), func(w protocol.WorkerInfo) bool { return w.State == workerGone })
	return left, len(all) - len(left)
}

func writeWorkers(out io.Writer, workers []protocol.WorkerInfo, gone int) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tSTATE\tTAKES OWNERS\tOWNERS\tSLOTS\tHOST\tPID\tUP\tBROWSER")
	for _, w := range workers {
		// Three things: is it there (state), does it take owners, and (draining)
		// does it hand over those that it has.
		takes := "yes"
		if !w.Eligible {
			takes = "no: " + w.Ineligible
		}
		if len(w.Mismatches) > 0 {
			takes += " (its owners differ from the records)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\t%s\n", w.Worker, w.State, takes, w.Owners, w.Slots,
			view.Line(w.Host, 40), w.PID, view.Took(time.Since(w.Started.Time).Round(time.Second)), view.Line(w.Browser, 60))
	}
	if len(workers) == 0 {
		fmt.Fprintln(t, "no workers")
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("list workers: %w", err)
	}
	if gone > 0 {
		fmt.Fprintf(out, "(%d gone; --all shows them)\n", gone)
	}
	return nil
}

type workersDrainCmd struct {
	reach
	Worker string        `arg:"" help:"Id of the worker."`
	Wait   bool          `help:"Wait until it is gone." default:"true" negatable:""`
	Limit  time.Duration `help:"How long to wait." default:"2m"`
}

const drainPoll = 250 * time.Millisecond

// Run drains a worker and, unless told otherwise, waits until it is gone.
func (c *workersDrainCmd) Run(a *app) error {
	ctx, stop := untilInterrupt()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	op, err := connectOperator(ctx, &c.reach)
	if err != nil {
		return err
	}
	defer op.Close()
	id := protocol.WorkerID(c.Worker)
	if err := op.Drain(ctx, id); err != nil {
		return err
	}
	a.printf("%s is draining: its owners move to other workers\n", id)
	if !c.Wait {
		return nil
	}
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for {
		workers, err := op.Workers(ctx)
		if err == nil && !slices.ContainsFunc(workers, func(w protocol.WorkerInfo) bool { return w.Worker == id && w.State != workerGone }) {
			a.printf("%s is gone\n", id)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is still there: %w", id, context.Cause(ctx))
		}
	}
}
