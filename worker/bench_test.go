package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

const patience = 90 * time.Second

var (
	one = protocol.OwnerKey{Tenant: "a", Owner: "one"}
	two = protocol.OwnerKey{Tenant: "a", Owner: "two"}
)

// bench is one worker on a wire; the test is its coordinator.
type bench struct {
	*testkit.Server
	t     *testing.T
	conn  *natsx.Conn // the coordinator's
	agent *nats.Conn
	wire  *fleettest.Wire
	w     *worker.Worker
	id    protocol.WorkerID
	log   string // path of the dispatch log
	said  *said  // what the worker logged
	stop  func() // drains and waits
	// opened are the browsers, in the order in which they were opened.
	opened chan *browser
	// objects is the store of checkpoints; while hang is set, nothing is written.
	objects *objectstore.Memory
	hang    atomic.Bool
	over    chan struct{} // opens every gate: a failed test must end
}

func newBench(t *testing.T, slots int, change ...func(*worker.Config)) *bench {
	t.Helper()
	s := testkit.NATS(t)
	b := &bench{
		Server: s, t: t, conn: s.Fleet(t), agent: s.Tenant(t, "a"), id: "w-1", said: &said{},
		wire: fleettest.NewWire(t, strings.TrimPrefix(s.URL, "nats://")), opened: make(chan *browser, 16), over: make(chan struct{}),
		log: filepath.Join(t.TempDir(), "dispatches"), objects: objectstore.NewMemory(),
	}
	b.objects.Fault = b.hangWrites
	options := s.Options(deploy.UserWorker)
	options.URL = b.wire.URL()
	conn, err := natsx.Connect(b.ctx(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	keys, err := checkpoints.LoadOrCreateKeyring(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	dispatches, err := worker.OpenDispatchLog(b.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dispatches.Close() })
	cfg := worker.Config{
		ID: b.id, Slots: slots, Conn: conn, Launcher: b, Checkpoints: checkpoints.New(b.objects, keys),
		Dispatches: dispatches, Observer: deaf{}, Tracer: noop.NewTracerProvider().Tracer(""),
		Logger: slog.New(slog.NewTextHandler(b.said, nil)), DrainTimeout: 10 * time.Second, CheckpointWait: patience,
	}
	for _, c := range change {
		c(&cfg)
	}
	b.w = worker.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := b.w.Run(ctx); err != nil {
			t.Errorf("worker: %v", err)
		}
	})
	b.stop = func() { cancel(); running.Wait() }
	t.Cleanup(b.stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(b.said.text())
		}
	})
	t.Cleanup(func() { b.wire.Watch(nil, nil); close(b.over) })
	b.ready()
	return b
}

// hangWrites keeps writes waiting while hang is set.
func (b *bench) hangWrites(op, _ string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for op == "put new" && b.hang.Load() {
		select {
		case <-tick.C:
		case <-b.over:
			return nil
		}
	}
	return nil
}

type deaf struct{}

func (deaf) ActionDone(protocol.Kind, *protocol.Result) {}
func (deaf) Fenced()                                    {}
func (deaf) PushGap()                                   {}

// said collects a log.
type said struct {
	mu sync.Mutex
	bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.Write(p)
}

func (s *said) text() string { s.mu.Lock(); defer s.mu.Unlock(); return s.String() }

func (s *said) has(text string) bool { return strings.Contains(s.text(), text) }

// browser is a simulated one that waits for the test before it dispatches.
type browser struct {
	environment.Browser
	live                       func() bool // as egress asks it
	suspended, resumed, closed chan struct{}
	// gate, if there is one, is waited for before dispatch; reached says that an
	// action waits there; dispatched has what dispatch returned.
	gate, reached chan struct{}
	over          <-chan struct{}
	dispatched    chan error
	open          chan bool // whether egress was open right after dispatch
	logged        func() string
	seen          chan string // the dispatch log as it was after dispatch
	tired, asks   atomic.Bool
	weighed       chan struct{} // whether it is tired was asked
}

func (br *browser) Asks() bool { return br.asks.Load() }

func (br *browser) Tired() string {
	select {
	case br.weighed <- struct{}{}:
	default:
	}
	if br.tired.Load() {
		return "the test says so"
	}
	return ""
}

// Open is the worker's launcher.
func (b *bench) Open(ctx context.Context, spec environment.Spec) (environment.Browser, *checkpoints.FidelityReport, error) {
	inner, report, err := (&simulated.Launcher{}).Open(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	br := &browser{
		Browser: inner, live: spec.Live, suspended: make(chan struct{}, 16), resumed: make(chan struct{}, 16), closed: make(chan struct{}, 16),
		weighed: make(chan struct{}, 1), over: b.over, gate: make(chan struct{}), reached: make(chan struct{}, 16), dispatched: make(chan error, 16), open: make(chan bool, 16), seen: make(chan string, 16),
		logged: func() string { data, _ := os.ReadFile(b.log); return string(data) },
	}
	b.opened <- br
	return br, report, nil
}

func (br *browser) Run(ctx context.Context, a *protocol.Action, dispatch func() error) *environment.Outcome {
	return br.Browser.Run(ctx, a, func() error {
		br.reached <- struct{}{}
		select {
		case <-br.gate:
		case <-br.over:
		}
		err := dispatch()
		br.open <- br.live()
		br.seen <- br.logged()
		br.dispatched <- err
		return err
	})
}

func (br *browser) Suspend() { br.Browser.Suspend(); br.suspended <- struct{}{} }
func (br *browser) Resume()  { br.Browser.Resume(); br.resumed <- struct{}{} }
func (br *browser) Close(ctx context.Context) error {
	br.closed <- struct{}{}
	return br.Browser.Close(ctx)
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b.t.Cleanup(cancel)
	return ctx
}

func await[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

// ready waits until the worker hears control requests.
func (b *bench) ready() {
	b.t.Helper()
	for ctx := b.ctx(); ; {
		if _, err := b.conn.NC.RequestWithContext(ctx, protocol.ControlSubject(b.id, protocol.VerbPing), nil); err == nil {
			return
		} else if ctx.Err() != nil {
			b.t.Fatal(err)
		}
	}
}

// control sends a control request.
func (b *bench) control(verb string, body any) *protocol.Error {
	b.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	m, err := b.conn.NC.Request(protocol.ControlSubject(b.id, verb), data, patience)
	if err != nil {
		b.t.Fatal(err)
	}
	var reply protocol.ControlReply
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		b.t.Fatal(err)
	}
	if reply.OK != (reply.Error == nil) {
		b.t.Fatalf("reply %s", m.Data)
	}
	return reply.Error
}

// assign writes the record to the worker's name, and returns the assignment.
func (b *bench) assign(key protocol.OwnerKey) protocol.Assignment {
	b.t.Helper()
	return b.assignWith(key, func(*protocol.OwnerRecord) {})
}

func (b *bench) assignWith(key protocol.OwnerKey, change func(*protocol.OwnerRecord)) protocol.Assignment {
	b.t.Helper()
	for {
		rec, fence, err := ownerlog.Read(b.ctx(), b.conn, 0, key)
		if err != nil {
			b.t.Fatal(err)
		}
		if rec == nil {
			rec = &protocol.OwnerRecord{}
		}
		rec.V, rec.State, rec.Worker, rec.Epoch = protocol.Version, protocol.RecordAssigned, b.id, 0
		rec.Nonce, rec.Since = ownerlog.NewNonce(), protocol.At(time.Now())
		change(rec)
		data, err := json.Marshal(rec)
		if err != nil {
			b.t.Fatal(err)
		}
		seq, err := b.conn.CAS(b.ctx(), protocol.OwnSubject(0, key), data, nil, fence)
		switch {
		case err == nil:
			return protocol.Assignment{V: protocol.Version, Key: key, Fence: seq, Reason: "test"}
		case !errors.Is(err, natsx.ErrConflict): // the former holder wrote meanwhile: as a coordinator does, look again
			b.t.Fatal(err)
		}
	}
}

// hold gives the worker an owner, and waits for its browser.
func (b *bench) hold(key protocol.OwnerKey) *browser {
	b.t.Helper()
	if err := b.control(protocol.VerbAssign, b.assign(key)); err != nil {
		b.t.Fatal(err)
	}
	return await(b.t, "a browser", b.opened)
}

func (b *bench) record(key protocol.OwnerKey) (*protocol.OwnerRecord, protocol.Seq) {
	b.t.Helper()
	rec, fence, err := ownerlog.Read(b.ctx(), b.conn, 0, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return rec, fence
}

// open sends an action with an effect.
func (b *bench) open(key protocol.OwnerKey, budget time.Duration) protocol.RequestID {
	b.t.Helper()
	r, err := protocol.NewRequest(protocol.KindOpen, &protocol.OpenArgs{URL: "http://simulated.invalid/"}, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	r.BudgetMS = budget.Milliseconds()
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.agent.Request(protocol.AgentActSubject(key.Owner, protocol.LaneQueue), body, patience); err != nil {
		b.t.Fatal(err)
	}
	return r.ID
}

// result waits for a stored result.
func (b *bench) result(key protocol.OwnerKey, id protocol.RequestID) *protocol.Result {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx := b.ctx(); ; {
		m, err := b.conn.LeaderLast(ctx, protocol.ResStream(0), protocol.ResSubject(0, key, id))
		if err == nil {
			var res protocol.Result
			if err := json.Unmarshal(m.Data, &res); err != nil {
				b.t.Fatal(err)
			}
			return &res
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.t.Fatalf("no result for %s: %v", id, err)
		}
	}
}
