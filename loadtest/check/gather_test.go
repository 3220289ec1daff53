package check

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

// run is a fleet whose worker is the test: it answers as it likes.
type run struct {
	t      *testing.T
	ctx    context.Context
	server *testkit.Server
	worker *natsx.Conn
	agent  *natsx.Conn
	ledger *Ledger
	source Sources
}

func newRun(t *testing.T, shards int) *run {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	s := testkit.NATS(t, testkit.WithShards(shards))
	r := &run{t: t, ctx: ctx, server: s, worker: s.Worker(t), agent: s.As(t, "tenant.a")}
	conn := s.Operator(t)
	ledger, err := NewLedger(ctx, conn, func(k protocol.OwnerKey) bool { return k.Tenant == "a" })
	if err != nil {
		t.Fatal(err)
	}
	if ledger.Shards() != shards {
		t.Fatalf("%d shards, want %d", ledger.Shards(), shards)
	}
	stop, err := Watch(ctx, conn, ledger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	r.ledger = ledger
	r.source = Sources{Conn: conn, Ledger: ledger}
	return r
}

// send publishes as an agent does and records the PubAck.
func (r *run) send(body []byte) (protocol.RequestID, protocol.Seq) {
	r.t.Helper()
	seq, err := r.agent.Publish(r.ctx, protocol.AgentActSubject(owner.Owner, protocol.LaneQueue), body, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.ledger.Stored(owner, protocol.LaneQueue, seq, body), seq
}

func (r *run) request() []byte {
	r.t.Helper()
	req, err := protocol.NewRequest(protocol.KindObserve, nil, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	body, err := json.Marshal(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return body
}

func (r *run) shard() protocol.Shard { return protocol.ShardOf(owner.Owner, r.server.Shards) }

// answer stores a result; repeat pushes something again.
func (r *run) answer(id protocol.RequestID, seq protocol.Seq) []byte {
	r.t.Helper()
	body, err := json.Marshal(protocol.Result{
		V: 1, Tenant: owner.Tenant, Owner: owner.Owner, Request: id, Lane: protocol.LaneQueue, Seq: seq,
		Kind: protocol.KindObserve, Status: protocol.StatusOK, Dispatched: protocol.DispatchedYes, Nonce: string(id),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.worker.Create(r.ctx, protocol.ResSubject(r.shard(), owner, id), body, nil); err != nil {
		r.t.Fatal(err)
	}
	return body
}

func (r *run) repeat(id protocol.RequestID, body []byte, head nats.Header) {
	r.t.Helper()
	err := r.worker.NC.PublishMsg(&nats.Msg{Subject: protocol.DoneSubject(owner, id), Header: head, Data: body})
	if err == nil {
		err = r.worker.NC.FlushWithContext(r.ctx)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) judge() Verdict {
	r.t.Helper()
	e, err := Gather(r.ctx, r.source)
	if err != nil {
		r.t.Fatal(err)
	}
	return Judge(e)
}

var repeated = nats.Header{protocol.HeaderRepeat: {"1"}}

func TestGatherReadsWhatTheFleetDid(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 3} {
		r := newRun(t, shards)
		id, seq := r.send(r.request())
		body := r.answer(id, seq)
		r.repeat(id, body, repeated)
		bad, badSeq := r.send([]byte(`{"v":1,`))
		r.answer(bad, badSeq)
		v := r.judge()
		want := []string{
			"without dispatch logs double_dispatched is not judged, and reordered by results only",
			"nobody looked for orphan processes",
		}
		if v.Promises.Broken() || cmp.Diff(want, v.Notes) != "" {
			t.Errorf("%+v", v)
		}
		if n := len(r.ledger.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	}
}

func TestGatherFindsWhatIsLost(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1)
	id, _ := r.send(r.request())
	// This one's publisher heard nothing: Watch or BF_ACT shows it.
	if err := r.agent.NC.Publish(protocol.AgentActSubject(owner.Owner, protocol.LaneQueue), []byte("17")); err != nil {
		t.Fatal(err)
	}
	if err := r.agent.NC.FlushWithContext(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.source.Grace = 10 * time.Millisecond
	v := r.judge()
	if v.Promises != (Promises{Lost: 2}) || !strings.Contains(v.Findings[0].Text, "no record") {
		t.Fatalf("%s: %+v", id, v)
	}
}

func TestGatherWaitsForAResult(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1)
	id, seq := r.send(r.request())
	timer := time.AfterFunc(100*time.Millisecond, func() { r.answer(id, seq) })
	t.Cleanup(func() { timer.Stop() })
	r.source.Grace = 4 * time.Minute
	if v := r.judge(); v.Promises.Broken() {
		t.Fatalf("%+v", v)
	}
}

func TestGatherSeesSecondPushes(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1)
	id, seq := r.send(r.request())
	r.answer(id, seq)
	r.repeat(id, []byte("another"), repeated)
	// Not marked, and not from a stream: no client takes it.
	r.repeat(id, []byte("noise"), nil)
	v := r.judge()
	if v.Promises != (Promises{SecondResults: 1}) {
		t.Errorf("%+v", v)
	}
	if !strings.Contains(strings.Join(v.Notes, "\n"), "1 messages on bf.done") {
		t.Errorf("%q", v.Notes)
	}
}

func TestGatherReadsLogsAndAsksForOrphans(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1)
	id, seq := r.send(r.request())
	r.answer(id, seq)
	path := filepath.Join(t.TempDir(), "w.jsonl")
	var text []byte
	for _, tenant := range []protocol.Tenant{"a", "b"} { // b is not ours
		line, err := json.Marshal(protocol.DispatchEntry{
			At: protocol.At(time.Now()), Key: protocol.OwnerKey{Tenant: tenant, Owner: "one"}, Request: id, Seq: seq,
			Kind: protocol.KindObserve, Effect: protocol.EffectRead, Worker: "w", Epoch: 1, Attempt: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	text = append(text, "{torn"...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r.source.DispatchLogs = []string{path}
	r.source.Orphans = func(context.Context) (int, error) { return 1, nil }
	e, err := Gather(r.ctx, r.source)
	if err != nil || len(e.Dispatches) != 1 || e.Orphans != 1 || len(e.Notes) != 1 {
		t.Fatalf("%+v, %v", e, err)
	}
	broken := errors.New("cannot look")
	r.source.Orphans = func(context.Context) (int, error) { return 0, broken }
	if _, err := Gather(r.ctx, r.source); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
}
