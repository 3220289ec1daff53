package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/telemetry"
	"github.com/browserfleet/browserfleet/worker"
	"github.com/browserfleet/browserfleet/worker/policies"
)

// probeTimeout bounds the question whether the store keeps its promises.
const probeTimeout = 10 * time.Second

// RunWorker runs a worker.
func RunWorker(ctx context.Context, version string) error {
	var cfg WorkerConfig
	if err := load(&cfg); err != nil {
		return err
	}
	ctx, stop := startLife(ctx, cfg.ExitWithStdin)
	defer stop()
	id := worker.NewID(cfg.WorkerName)
	i, err := startInstance(ctx, cfg.Process, "worker", version, string(id), cfg.MetricsListen)
	if err != nil {
		return err
	}
	defer i.close()
	return endedInTime(ctx, i.runWorker(ctx, cfg, id))
}

func (i *instance) runWorker(ctx context.Context, cfg WorkerConfig, id protocol.WorkerID) error {
	kept, done, err := i.checkpoints(ctx, cfg)
	if err != nil {
		return err
	}
	defer done()
	dispatches, err := worker.OpenDispatchLog(cfg.DispatchLog)
	if err != nil {
		return err
	}
	defer func() { _ = dispatches.Close() }()
	launcher, err := newLauncher(ctx, cfg, i.log)
	if err != nil {
		return err
	}
	defer launcher.close()
	conn, err := connect(ctx, &cfg.Messaging, "worker", i.log)
	if err != nil {
		return err
	}
	defer conn.Close()
	if launcher.policies != nil {
		defer startPolicies(ctx, launcher.policies, conn)()
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this host: %w", err)
	}
	w := worker.New(worker.Config{
		ID: id, Host: host, PID: os.Getpid(), Slots: cfg.Slots, Browser: launcher.product, Conn: conn,
		Launcher: launcher, Checkpoints: kept, Dispatches: dispatches, Observer: actions{i.count},
		Tracer: i.told.Tracer(), Logger: i.log, DrainTimeout: cfg.DrainTimeout,
		IdleTimeout: cfg.IdleTimeout, CheckpointWait: cfg.CheckpointWait, Capabilities: protocol.Capabilities,
		Meter: meter{i.count}, Ready: launcher.ready, Admission: cfg.admission(), Labels: cfg.Labels,
		PreemptionFile: cfg.PreemptionFile,
	})
	stop, err := startDrainHook(ctx, &cfg.Draining, i.log, w.Drain)
	if err != nil {
		return err
	}
	defer stop()
	return w.Run(ctx)
}

// checkpoints opens the store of checkpoints. A store that is down is no reason
// not to start; one that cannot keep the promises is.
func (i *instance) checkpoints(ctx context.Context, cfg WorkerConfig) (*checkpoints.Store, func(), error) {
	keys, err := checkpoints.LoadKeyring(cfg.KeyringFile)
	if err != nil {
		return nil, nil, err
	}
	store, err := cfg.Open()
	if err != nil {
		return nil, nil, err
	}
	probe, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	switch err := store.Probe(probe); {
	case errors.Is(err, objectstore.ErrUnsupported):
		store.Close()
		return nil, nil, err
	case err != nil:
		i.log.Warn("the checkpoint store does not answer; kept environments wait for it", "error", err)
	}
	return checkpoints.New(store, keys), store.Close, nil
}

// actions counts what a worker does.
type actions struct{ count *telemetry.Metrics }

func (a actions) ActionDone(kind protocol.Kind, res *protocol.Result) {
	var code protocol.Code
	if res.Error != nil {
		code = res.Error.Code
	}
	var took time.Duration
	if res.Transition != nil {
		took = time.Duration(res.Transition.Timing.TotalMS * float64(time.Millisecond))
	}
	ctx := context.Background()
	a.count.ActionDone(ctx, kind, res.Status, code, took)
	if r := res.Restored; r != nil {
		a.count.Restored(ctx, r.Reason)
		a.count.CheckpointDone(ctx, telemetry.CheckpointRestore, "", time.Duration(r.TookMS)*time.Millisecond, telemetry.SizeUnknown)
	}
	t := res.Transition
	if t == nil {
		return
	}
	a.saved(ctx, res)
	a.count.QueueWaited(ctx, res.Lane, time.Duration(t.Timing.QueueMS)*time.Millisecond)
	for _, d := range t.Denied {
		a.count.EgressDenied(ctx, d.Reason, d.Count)
	}
}

func (a actions) Fenced() { a.count.Fenced(context.Background()) }

func (a actions) PushGap() { a.count.PushGap(context.Background()) }

// saved counts the checkpoint before a result, if there was one.
func (a actions) saved(ctx context.Context, res *protocol.Result) {
	took := time.Duration(res.Transition.Timing.SaveMS * float64(time.Millisecond))
	if took <= 0 {
		return
	}
	var code protocol.Code
	if slices.ContainsFunc(res.Warnings, func(w protocol.Warning) bool { return w.Code == protocol.CodeCheckpointNotSaved }) {
		code = protocol.CodeCheckpointNotSaved
	}
	a.count.CheckpointDone(ctx, telemetry.CheckpointSave, code, took, telemetry.SizeUnknown)
}

// meter counts what concerns the worker as a whole.
type meter struct{ count *telemetry.Metrics }

func (m meter) OwnersHeld(n int) { m.count.OwnersHeld(context.Background(), n) }

func (m meter) Suspended() { m.count.Suspended(context.Background()) }

func (m meter) NotSaved(n int) { m.count.NotSaved(context.Background(), n) }

// startPolicies follows the tenants' policies; the returned function ends it and waits.
func startPolicies(ctx context.Context, book *policies.Book, conn *natsx.Conn) func() {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // a drain still saves, under the policies
	var done sync.WaitGroup
	done.Go(func() { book.Run(ctx, conn) })
	return func() {
		stop()
		done.Wait()
	}
}
