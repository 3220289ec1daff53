package loadtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/loadtest/check"
	"github.com/browserfleet/browserfleet/protocol"
)

// ownersPerConn is how many owners share a connection: as agents of one program
// would, and so that no connection is the bottleneck.
const ownersPerConn = 50

// ErrUnreachable: there is no fleet to drive.
var ErrUnreachable = errors.New("the fleet cannot be reached")

// connectTimeout bounds connecting at the start.
const connectTimeout = 20 * time.Second

// Run drives a fleet and judges it. The error says why there is no report; a
// broken promise is not one: see Report.Broken. When ctx ends, the run ends with
// its cause.
func Run(ctx context.Context, o Options) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Seed == 0 {
		o.Seed = mathrand.Uint64()
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("load test: %w", err)
	}
	defer b.close()
	measured := b.runOwners(ctx)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load test: %w", context.Cause(ctx))
	}
	report := b.rec.report(measured)
	report.Owners, report.Seed = o.Owners, o.Seed
	verdict, err := b.judge(ctx)
	if err != nil {
		return nil, fmt.Errorf("load test: %w", err)
	}
	report.judged(verdict)
	report.Requests = len(b.ledger.Requests())
	return report, nil
}

// bench is a run's connections and books.
type bench struct {
	o        Options
	run      string // part of the owners' names
	operator *natsx.Conn
	clients  []*client.Client
	raws     []*natsx.Conn
	ledger   *check.Ledger
	unwatch  func()
	rec      *recorder
}

func newBench(ctx context.Context, o Options) (*bench, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, errors.New("no connection in time"))
	defer cancel()
	b := &bench{o: o, run: strings.ToLower(rand.Text()[:8]), rec: newRecorder(), unwatch: func() {}}
	if err := b.connect(ctx); err != nil {
		b.close()
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return b, nil
}

func (b *bench) connect(ctx context.Context) (err error) {
	if b.operator, err = natsx.Connect(ctx, b.o.Operator.natsx("loadtest operator")); err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	if b.ledger, err = check.NewLedger(ctx, b.operator, b.mine); err != nil {
		return err
	}
	if b.unwatch, err = check.Watch(ctx, b.operator, b.ledger); err != nil {
		b.unwatch = func() {}
		return err
	}
	for range (b.o.Owners + ownersPerConn - 1) / ownersPerConn {
		c, err := client.Connect(ctx, b.o.Agent.client("loadtest agents"))
		if err != nil {
			return fmt.Errorf("agents: %w", err)
		}
		b.clients = append(b.clients, c)
		raw, err := natsx.Connect(ctx, b.o.Agent.natsx("loadtest agents, raw"))
		if err != nil {
			return fmt.Errorf("agents: %w", err)
		}
		b.raws = append(b.raws, raw)
	}
	return nil
}

// close ends the connections; closing twice is harmless only for the watch.
func (b *bench) close() {
	b.unwatch()
	for _, c := range b.clients {
		c.Close()
	}
	for _, c := range b.raws {
		c.Close()
	}
	if b.operator != nil {
		b.operator.Close()
	}
}

func (b *bench) prefix() string { return "load-" + b.run + "-" }

// mine are this run's owners; a fleet may have others.
func (b *bench) mine(k protocol.OwnerKey) bool {
	return k.Tenant == b.o.Tenant && strings.HasPrefix(string(k.Owner), b.prefix())
}

func (b *bench) agent(n int) *agent {
	key := protocol.OwnerKey{Tenant: b.o.Tenant, Owner: protocol.Owner(fmt.Sprintf("%s%d", b.prefix(), n))}
	return &agent{
		key: key, owner: b.clients[n/ownersPerConn].Owner(key.Owner), raw: b.raws[n/ownersPerConn],
		ledger: b.ledger, rec: b.rec, site: newSite(b.o.SiteURL),
		rng: mathrand.New(mathrand.NewPCG(b.o.Seed, uint64(n))), wait: b.o.Timeout,
	}
}

// runOwners works until the time is up or every owner has taken its steps, and
// returns the measured time.
func (b *bench) runOwners(ctx context.Context) time.Duration {
	done := make(chan struct{})
	finished := make(chan struct{})
	begun := time.Now()
	var gap time.Duration
	if b.o.Rate > 0 {
		gap = time.Duration(float64(b.o.Owners) / b.o.Rate * float64(time.Second))
	}
	d := newDeck(b.o.Mix)
	var owners sync.WaitGroup
	for n := range b.o.Owners {
		owners.Go(func() { b.agent(n).run(ctx, d, b.o.Steps, gap, done) })
	}
	go func() { // ends with the owners
		owners.Wait()
		close(finished)
	}()
	from := b.runClock(ctx, begun, done, finished)
	<-finished
	return time.Since(from)
}

// runClock ends the warm-up and the run, and tells how it goes. It returns when
// the time is up, or the owners have finished, and says when measuring began.
func (b *bench) runClock(ctx context.Context, begun time.Time, done chan struct{}, finished <-chan struct{}) (from time.Time) {
	defer close(done)
	over := time.NewTimer(b.o.Duration)
	defer over.Stop()
	warm := time.NewTimer(b.o.Warmup)
	defer warm.Stop()
	if from = begun; b.o.Warmup == 0 {
		b.rec.start()
	}
	tell := time.NewTicker(time.Second)
	defer tell.Stop()
	for {
		select {
		case <-warm.C:
			if b.o.Warmup > 0 {
				b.rec.start()
				from = time.Now()
			}
		case <-tell.C:
			b.tell(time.Since(begun))
		case <-over.C:
			return from
		case <-finished:
			return from
		case <-ctx.Done():
			return from
		}
	}
}

func (b *bench) tell(elapsed time.Duration) {
	if b.o.Progress == nil {
		return
	}
	requests, actions, failed := b.rec.sofar()
	// Nobody can do anything about a terminal that does not listen.
	_, _ = fmt.Fprintf(b.o.Progress, "%3.0fs of %.0fs: %d owners, %d requests answered, %d actions, %d errors\n",
		elapsed.Seconds(), b.o.Duration.Seconds(), b.o.Owners, requests, actions, failed)
}

// judge gathers the evidence and judges it.
func (b *bench) judge(ctx context.Context) (check.Verdict, error) {
	files, err := b.o.dispatchFiles()
	if err != nil {
		return check.Verdict{}, err
	}
	if b.o.Progress != nil {
		_, _ = fmt.Fprintln(b.o.Progress, "reading what the fleet left behind")
	}
	evidence, err := check.Gather(ctx, check.Sources{
		Conn: b.operator, Ledger: b.ledger, DispatchLogs: files,
		Grace: b.o.Grace, Skew: b.o.Skew, Orphans: b.o.Orphans,
	})
	if err != nil {
		return check.Verdict{}, err
	}
	return check.Judge(evidence), nil
}
