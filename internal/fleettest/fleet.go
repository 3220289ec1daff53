package fleettest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/coordinator"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

// wait bounds every wait of a test.
const wait = 3 * time.Minute

// Options shape a fleet.
type Options struct {
	Workers  int
	Slots    int
	Launcher environment.Launcher
	Objects  checkpoints.Objects
	// IdleTimeout is how long an environment may be idle; 0 is for ever.
	IdleTimeout time.Duration
	// NoCoordinator leaves it to the test.
	NoCoordinator bool
	// Shards is which there are; the zero value is one.
	Shards protocol.ShardMap
	// Keys are of the checkpoints in Objects, if another fleet wrote some.
	Keys *checkpoints.Keyring
}

// Fleet is a running fleet.
type Fleet struct {
	NATS    *testkit.Server
	Workers []*Worker
	opts    Options
	keys    *checkpoints.Keyring
	dir     string
	// through is the URL for workers in place of the server's.
	through string
}

// Worker is one of a fleet's workers.
type Worker struct {
	ID   protocol.WorkerID
	conn *natsx.Conn
	// Network is between the worker and the servers.
	Network Network
	*worker.Worker
	stop func()
	// Dispatches is the path of its dispatch log.
	Dispatches string
}

// Start runs a fleet that ends with the test.
func Start(t *testing.T, o Options) *Fleet {
	t.Helper()
	if o.Slots == 0 {
		o.Slots = 16
	}
	if o.Launcher == nil {
		o.Launcher = &simulated.Launcher{}
	}
	if o.Keys == nil {
		var err error
		if o.Keys, err = checkpoints.LoadOrCreateKeyring(filepath.Join(t.TempDir(), "keys")); err != nil {
			t.Fatal(err)
		}
	}
	if o.Shards.Total == 0 {
		o.Shards = protocol.Shards(1)
	}
	f := &Fleet{NATS: testkit.NATS(t, testkit.WithShardMap(o.Shards)), opts: o, keys: o.Keys, dir: t.TempDir()}
	if !o.NoCoordinator {
		f.StartCoordinator(t)
	}
	for range o.Workers {
		f.StartWorker(t)
	}
	return f
}

// StartCoordinator adds a coordinator; the function stops it.
func (f *Fleet) StartCoordinator(t *testing.T) (stop func()) {
	t.Helper()
	c := coordinator.New(coordinator.Config{
		ID: worker.NewID("coord"), Shards: f.NATS.Map, Conn: f.NATS.Fleet(t), Observer: quiet{}, Logger: logger(t),
	})
	return start(t, c.Run)
}

// StartWorker adds a worker.
func (f *Fleet) StartWorker(t *testing.T) *Worker {
	t.Helper()
	w := &Worker{ID: worker.NewID(fmt.Sprintf("w%d", len(f.Workers))), Network: newNetwork(t, strings.TrimPrefix(cmp.Or(f.through, f.NATS.URL), "nats://"))}
	options := f.NATS.Options(deploy.UserWorker)
	options.URL = "nats://" + w.Network.Addr()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var err error
	if w.conn, err = natsx.Connect(ctx, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.conn.Close)
	w.Dispatches = filepath.Join(f.dir, string(w.ID)+".jsonl")
	var log *worker.DispatchLog
	log, err = worker.OpenDispatchLog(w.Dispatches)
	if err != nil {
		t.Fatal(err)
	}
	w.Worker = worker.New(worker.Config{
		ID: w.ID, Host: "test", PID: os.Getpid(), Slots: f.opts.Slots, Browser: "simulated", Conn: w.conn,
		Launcher: f.opts.Launcher, Checkpoints: checkpoints.New(f.opts.Objects, f.keys), Dispatches: log,
		Observer: quiet{}, Tracer: noop.NewTracerProvider().Tracer(""), Logger: logger(t), DrainTimeout: 2 * time.Second,
		IdleTimeout: f.opts.IdleTimeout, CheckpointWait: wait, Capabilities: []protocol.Capability{protocol.CapabilityCheckpoint, protocol.CapabilityScreenshot},
	})
	w.stop = start(t, w.Run)
	f.Workers = append(f.Workers, w)
	return w
}

// CutOff closes the worker's connection for good: nobody hears it any more, and
// it hears nobody.
func (w *Worker) CutOff() { w.conn.Close() }

// Holder is the worker that an owner's record names.
func (f *Fleet) Holder(t *testing.T, key protocol.OwnerKey) *Worker {
	t.Helper()
	rec := f.Record(t, key)
	for _, w := range f.Workers {
		if rec.State == protocol.RecordAssigned && w.ID == rec.Worker {
			return w
		}
	}
	t.Fatalf("no worker holds %s: %s %s", key, rec.State, rec.Worker)
	return nil
}

// start runs a service until the test ends.
func start(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			t.Errorf("service: %v", err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// quiet counts nothing.
type quiet struct{}

func (quiet) ActionDone(protocol.Kind, *protocol.Result) {}
func (quiet) Fenced()                                    {}
func (quiet) PushGap()                                   {}
func (quiet) Assigned(string)                            {}
func (quiet) AnsweredByCoordinator(protocol.Code)        {}
func (quiet) WorkerGone()                                {}
