package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/loadtest/check"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/simulated"
)

func access(s *testkit.Server, user string) Access {
	o := s.Options(user)
	return Access{URL: o.URL, User: o.User, Password: o.Password, InboxPrefix: o.InboxPrefix}
}

func options(f *fleettest.Fleet) Options {
	o := Options{
		Tenant: "a", Agent: access(f.NATS, deploy.TenantUser("a")), Operator: access(f.NATS, deploy.UserOperator),
		Duration: 2 * time.Minute, Seed: 7,
		Orphans: func(context.Context) (int, error) { return 0, nil }, // simulated browsers have no process
	}
	for _, w := range f.Workers {
		o.DispatchLogs = append(o.DispatchLogs, w.Dispatches)
	}
	return o
}

func run(t *testing.T, o Options) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	if r.Broken() {
		t.Fatalf("a promise was broken: %+v\n%+v", r.Promises, r.Findings)
	}
	return r
}

// quiet wants no notes, but for one: a machine that stalls for seconds loses
// connections, of which the harness itself has some.
func quiet(t *testing.T, r *Report) {
	t.Helper()
	for _, note := range r.Notes {
		if !strings.HasPrefix(note, "the watch lost its connection") {
			t.Errorf("notes: %q", r.Notes)
		}
	}
}

// unmoved wants no errors, unless owners moved: on a busy machine a worker may be
// taken for dead, and its owners are told. Nor does it mind what could not be
// handed over (unavailable): a connection was lost.
func unmoved(t *testing.T, r *Report) {
	t.Helper()
	if len(r.Errors) > 0 && r.Restored == 0 && r.Errors[protocol.CodeUnavailable] == 0 {
		t.Errorf("errors: %v", r.Errors)
	}
}

func TestAQuietFleetKeepsItsPromises(t *testing.T) {
	t.Parallel()
	f := fleettest.Start(t, fleettest.Options{Workers: 2, Objects: objectstore.NewMemory()})
	o := options(f)
	o.Owners, o.Steps = 4, 60
	r := run(t, o)
	quiet(t, r)
	unmoved(t, r)
	for _, row := range []string{"open", "observe", "fill", "click", "ping", "pipelined", "resend", "reattach", "cancel"} {
		if l := r.LatencyMS[row]; l.P50 <= 0 || l.P50 > l.P95 || l.P95 > l.P99 || l.P99 > l.Max {
			t.Errorf("latency of %s: %+v", row, l)
		}
	}
	if r.Requests < 4*60 || r.ActionsPerS <= 0 || r.Owners != 4 || r.Seed != 7 || r.Machine.CPUs == 0 {
		t.Errorf("%+v", r)
	}
	if r.Provoked["invalid_request"] == 0 || r.Provoked["cancelled"] == 0 {
		t.Errorf("nothing was provoked: %v", r.Provoked)
	}
}

func TestAWorkerIsLostUnderLoadAndEveryPromiseIsKept(t *testing.T) {
	t.Parallel()
	f := fleettest.Start(t, fleettest.Options{
		Workers: 3, Objects: objectstore.NewMemory(), Launcher: &simulated.Launcher{Latency: 2 * time.Millisecond},
	})
	cut := startAfter(t, f, 60, f.Workers[0].CutOff)
	o := options(f)
	o.Owners, o.Steps = 8, 80
	var progress bytes.Buffer
	o.Progress = &progress
	r := run(t, o)
	quiet(t, r)
	select {
	case <-cut:
	default:
		t.Fatal("the worker was never cut off")
	}
	if r.Restored == 0 {
		t.Errorf("nobody was told of a loss: %+v", r)
	}
	if !strings.Contains(progress.String(), "8 owners") {
		t.Errorf("progress: %q", progress.String())
	}
}

func TestNATSRestartsUnderLoadAndEveryPromiseIsKept(t *testing.T) {
	t.Parallel()
	f := fleettest.Start(t, fleettest.Options{
		Workers: 2, Objects: objectstore.NewMemory(), Launcher: &simulated.Launcher{Latency: 2 * time.Millisecond},
	})
	restarted := startAfter(t, f, 60, func() { f.NATS.Restart(t) })
	o := options(f)
	o.Owners, o.Steps = 4, 60
	r := run(t, o)
	select {
	case <-restarted:
	default:
		t.Fatal("the server was never restarted")
	}
	// Pushes were missed; the report says so, and rests on the streams.
	if !strings.Contains(strings.Join(r.Notes, "\n"), "the watch lost its connection") {
		t.Errorf("notes: %q", r.Notes)
	}
}

// Three shards that all share and one of tenant b's own, two coordinators: the
// load is on every shard, and the harness judges what stands in all streams.
func TestOwnersOfEveryShardAreServed(t *testing.T) {
	t.Parallel()
	shards, err := protocol.ParseShards("4,b=3")
	if err != nil {
		t.Fatal(err)
	}
	f := fleettest.Start(t, fleettest.Options{Workers: 2, Slots: 128, Objects: objectstore.NewMemory(), Shards: shards})
	f.StartCoordinator(t)
	for tenant, want := range map[protocol.Tenant][]protocol.Shard{"a": {0, 1, 2}, "b": {3}} {
		o := options(f)
		o.Tenant, o.Agent = tenant, access(f.NATS, deploy.TenantUser(tenant))
		// So many that no shard stays empty, whatever the owners are called, and no
		// more than share a connection: nats-server 2.15.3 fills in a stream import's
		// transform when it is first subscribed, without a lock (client.go,
		// addShadowSub), which the race detector sees.
		o.Owners, o.Steps = ownersPerConn-2, 3
		r := run(t, o)
		unmoved(t, r)
		var stored []protocol.Shard
		for s := range shards.Total {
			shard := protocol.Shard(s)
			filter := "bf.own." + shard.String() + "." + string(tenant) + ".*"
			counts, err := f.NATS.Operator(t).SubjectCounts(t.Context(), protocol.OwnStream(shard), filter)
			if err != nil {
				t.Fatal(err)
			}
			if len(counts) > 0 {
				stored = append(stored, shard)
			}
		}
		if diff := cmp.Diff(want, stored); diff != "" {
			t.Errorf("tenant %s: shards with owners (-want +got):\n%s", tenant, diff)
		}
	}
}

// startAfter does something when the fleet has dispatched so many actions.
func startAfter(t *testing.T, f *fleettest.Fleet, dispatches int, do func()) (done <-chan struct{}) {
	t.Helper()
	did, stop := make(chan struct{}), make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			n := 0
			for _, w := range f.Workers {
				text, err := os.ReadFile(w.Dispatches)
				if err != nil {
					t.Error(err)
				}
				n += bytes.Count(text, []byte("\n"))
			}
			if n >= dispatches {
				do()
				close(did)
				return
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() { close(stop); waiting.Wait() })
	return did
}

// The harness would not be worth much if it found nothing: a doctored dispatch
// log of a sound run is a broken promise.
func TestADoubleDispatchIsFound(t *testing.T) {
	t.Parallel()
	f := fleettest.Start(t, fleettest.Options{Workers: 1, Objects: objectstore.NewMemory()})
	o := options(f)
	o.Owners, o.Steps, o.Mix = 1, 3, Mix{StepOpen: 1}
	doctored := t.TempDir() + "/w.jsonl"
	o.Orphans = func(context.Context) (int, error) { return 2, nil }
	o.DispatchLogs = nil
	for range 2 {
		o.DispatchLogs = append(o.DispatchLogs, f.Workers[0].Dispatches)
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Broken() || r.Promises.DoubleDispatched != 3 || r.Promises.OrphanProcesses != 2 {
		t.Errorf("%+v", r.Promises)
	}
	o.DispatchLogs = []string{doctored}
	if _, err := Run(context.Background(), o); err == nil {
		t.Error("a missing dispatch log is no error")
	}
}

func TestTheRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	o := Options{
		Tenant: "a", Agent: access(s, deploy.TenantUser("a")), Operator: access(s, deploy.UserOperator), Owners: 2,
	}
	if r, err := Run(ctx, o); err == nil {
		t.Fatalf("nobody answers, and there is a report: %+v", r)
	}
}

func TestNoFleetIsSaid(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	nowhere := Access{URL: "nats://127.0.0.1:1"}
	if _, err := Run(ctx, Options{Tenant: "a", Agent: nowhere, Operator: nowhere}); !errors.Is(err, ErrUnreachable) {
		t.Fatalf("got %v", err)
	}
}

func TestTheReportIsTheJSONThatMachinesRead(t *testing.T) {
	t.Parallel()
	r := newRecorder().report(time.Second)
	r.judged(check.Verdict{Promises: check.Promises{Lost: 1}, Findings: []check.Finding{{Promise: check.Lost, Owner: "a/one", Request: "r", Text: "gone"}}})
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"lost": 1.0, "second_results": 0.0, "reordered": 0.0, "double_dispatched": 0.0, "orphan_processes": 0.0}
	if diff := cmp.Diff(want, got["promises"]); diff != "" {
		t.Error(diff)
	}
	for _, field := range []string{"latency_ms", "actions_per_s", "errors"} {
		if _, ok := got[field]; !ok || got[field] == nil {
			t.Errorf("field %s is missing: %s", field, data)
		}
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "BROKEN lost: a/one r: gone") {
		t.Errorf("%s %v", text.String(), err)
	}
}
