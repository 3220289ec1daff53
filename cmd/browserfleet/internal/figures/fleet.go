package figures

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	tenant = protocol.Tenant("bench")
	// connections that agents share, as agents of some programs would: one would
	// be the bottleneck.
	connections = 8
	// settle is how long a fleet may take to be whole again after a fault.
	settle = 30 * time.Second
	poll   = 20 * time.Millisecond
)

// fleet is a running fleet and who speaks with it.
type fleet struct {
	*devfleet.Fleet
	folder   devfleet.Folder
	workers  int
	clients  []*client.Client
	operator *client.Operator
	named    int
}

// withFleet runs something with a fleet of its own.
func (b *bench) withFleet(ctx context.Context, o devfleet.Options, do func(*fleet) error) (err error) {
	dir, err := os.MkdirTemp("", "browserfleet-bench-")
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() {
		if b.o.Keep {
			b.say("the data folder stays: %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	o.Data, o.Tenant, o.Say = devfleet.Folder(dir), tenant, func(string, ...any) {}
	o.Shards = max(o.Shards, 1)
	running, err := devfleet.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Stop(nil)) }()
	f := &fleet{Fleet: running, folder: o.Data, workers: o.Workers}
	defer f.close()
	if err := f.connect(ctx); err != nil {
		return err
	}
	return do(f)
}

func (f *fleet) connect(ctx context.Context) error {
	agent, err := f.folder.Agent(&f.Running)
	if err != nil {
		return err
	}
	for range connections {
		c, err := client.Connect(ctx, agent)
		if err != nil {
			return err
		}
		f.clients = append(f.clients, c)
	}
	operator, err := f.folder.Operator(&f.Running)
	if err != nil {
		return err
	}
	f.operator, err = client.ConnectOperator(ctx, operator)
	return err
}

func (f *fleet) close() {
	for _, c := range f.clients {
		c.Close()
	}
	if f.operator != nil {
		f.operator.Close()
	}
}

// newOwners are handles on owners that nobody used before.
func (f *fleet) newOwners(n int) []*client.Owner {
	out := make([]*client.Owner, n)
	for i := range out {
		f.named++
		out[i] = f.clients[f.named%len(f.clients)].Owner(protocol.Owner(fmt.Sprintf("bench-%d", f.named)))
	}
	return out
}

// until asks again and again until it is so.
func until(ctx context.Context, what string, is func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last error
	for {
		ok, err := is(ctx)
		if ok {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: %w", what, context.Cause(ctx)), last)
		}
	}
}

// whole waits until every worker runs and takes owners.
func (f *fleet) whole(ctx context.Context) error {
	return until(ctx, "the fleet is not whole", func(ctx context.Context) (bool, error) {
		list, err := f.operator.Workers(ctx)
		up := 0
		for _, w := range list {
			if _, ours := f.WorkerOf(w.PID); ours && w.State == "up" && w.Eligible {
				up++
			}
		}
		return up == f.workers, err
	})
}

// holder is the worker that holds an owner, and the child that it is.
func (f *fleet) holder(ctx context.Context, o *client.Owner) (id protocol.WorkerID, child string, err error) {
	err = until(ctx, "find the holder of "+string(o.ID()), func(ctx context.Context) (bool, error) {
		info, err := f.clients[0].Describe(ctx, o.ID())
		if err != nil {
			return false, err
		}
		list, err := f.operator.Workers(ctx)
		for _, w := range list {
			if name, ours := f.WorkerOf(w.PID); ours && w.Worker == info.Worker {
				id, child = w.Worker, name
			}
		}
		return child != "", err
	})
	return id, child, err
}

// memory of a child in MiB: what is resident now, and the most that ever was.
func (f *fleet) memory(child string) (now, peak float64, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(f.PID(child)), "status"))
	if err != nil {
		return 0, 0, fmt.Errorf("memory of %s: %w", child, err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			now = kib / 1024
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			peak = kib / 1024
		}
	}
	return now, peak, nil
}
