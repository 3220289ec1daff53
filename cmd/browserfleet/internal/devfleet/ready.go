package devfleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// askEvery spaces questions whether something is ready; askTimeout bounds one.
const (
	askEvery   = 50 * time.Millisecond
	askTimeout = 5 * time.Second
)

// await repeats a question until its answer is nil, a child has died, or ctx
// ends.
func (f *Fleet) await(ctx context.Context, what string, ask func(context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, askTimeout)
		err := ask(once)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case died := <-f.failed:
			return died
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (last: %w)", what, context.Cause(ctx), err)
		case <-time.After(askEvery):
		}
	}
}

// provision makes the streams, as an operator.
func (f *Fleet) provision(ctx context.Context) error {
	o, err := f.o.Data.Operator(&f.Running)
	if err != nil {
		return err
	}
	return f.await(ctx, "NATS", func(ctx context.Context) error {
		c, err := natsx.Connect(ctx, natsx.Options{
			URL: o.URL, User: o.User, Password: natsx.Secret(o.Password), InboxPrefix: deploy.Inbox(o.User), Name: "browserfleet dev",
		})
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Provision(ctx, protocol.Shards(f.Shards), 1)
	})
}

// awaitStore waits until the store answers and keeps what the fleet needs.
func (f *Fleet) awaitStore(ctx context.Context) error {
	access := f.o.Data.StoreAccess(&f.Running)
	store, err := access.Open()
	if err != nil {
		return err
	}
	defer store.Close()
	return f.await(ctx, "the store", store.Probe)
}

// awaitWorkers waits until the coordinator sees every worker ready.
func (f *Fleet) awaitWorkers(ctx context.Context) error {
	o, err := f.o.Data.Operator(&f.Running)
	if err != nil {
		return err
	}
	op, err := client.ConnectOperator(ctx, o)
	if err != nil {
		return err
	}
	defer op.Close()
	return f.await(ctx, "the workers", func(ctx context.Context) error {
		workers, err := op.Workers(ctx)
		if err != nil {
			return err
		}
		var waiting []string
		for n := range f.o.Workers {
			ready := false
			for _, w := range workers {
				// Its id is its name and a nonce.
				ready = ready || (w.Ready && w.State == "up" && strings.HasPrefix(string(w.Worker), workerName(n)+"-") && w.PID == f.PID(workerName(n)))
			}
			if !ready {
				waiting = append(waiting, workerName(n))
			}
		}
		if len(waiting) > 0 {
			return fmt.Errorf("not ready: %s", strings.Join(waiting, ", "))
		}
		return nil
	})
}
