package ownerlog_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// patience is how long a test waits for what must come: it ends a hang, and is
// never over because a machine is slow.
const patience = 2 * time.Minute

var (
	key = protocol.OwnerKey{Tenant: "a", Owner: "one"}
	me  = protocol.WorkerID("w-1")
)

// bench is a server with one owner that is assigned to me.
type bench struct {
	*testkit.Server
	t          *testing.T
	wire       *fleettest.Wire
	conn       *natsx.Conn // the holder's, over the wire
	rival      *natsx.Conn
	agent      *nats.Conn
	assignment protocol.Seq
}

func newBench(t *testing.T) *bench {
	t.Helper()
	s := testkit.NATS(t)
	b := &bench{Server: s, t: t, rival: s.Fleet(t), agent: s.Tenant(t, key.Tenant)}
	b.wire = fleettest.NewWire(t, strings.TrimPrefix(s.URL, "nats://"))
	options := s.Options(deploy.UserWorker)
	options.URL = b.wire.URL()
	var err error
	if b.conn, err = natsx.Connect(b.ctx(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.conn.Close)
	b.assignment = b.assign(0, me)
	return b
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b.t.Cleanup(cancel)
	return ctx
}

// assign writes the record as a coordinator does.
func (b *bench) assign(fence protocol.Seq, to protocol.WorkerID) protocol.Seq {
	b.t.Helper()
	rec := &protocol.OwnerRecord{}
	if fence > 0 {
		rec, _ = b.record()
	}
	rec.V, rec.State, rec.Worker, rec.Epoch = protocol.Version, protocol.RecordAssigned, to, 0
	rec.Nonce, rec.Since = ownerlog.NewNonce(), protocol.At(time.Now())
	return b.write(rec, fence)
}

func (b *bench) write(rec *protocol.OwnerRecord, fence protocol.Seq) protocol.Seq {
	b.t.Helper()
	data, err := json.Marshal(rec)
	if err != nil {
		b.t.Fatal(err)
	}
	seq, err := b.rival.CAS(b.ctx(), protocol.OwnSubject(0, key), data, nil, fence)
	if err != nil {
		b.t.Fatal(err)
	}
	return seq
}

func (b *bench) record() (*protocol.OwnerRecord, protocol.Seq) {
	b.t.Helper()
	rec, fence, err := ownerlog.Read(b.ctx(), b.rival, 0, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return rec, fence
}

// claim takes the owner as its worker does.
func (b *bench) claim() *ownerlog.Holder {
	b.t.Helper()
	h, err := ownerlog.Claim(b.ctx(), b.conn, 0, key, func(rec *protocol.OwnerRecord, _ protocol.Seq) (*protocol.OwnerRecord, error) {
		return rec.Clone(), nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

// store publishes a request as an agent, and reads it as a holder does.
func (b *bench) store(h *ownerlog.Holder, kind protocol.Kind, args protocol.Args) *protocol.Admitted {
	b.t.Helper()
	r, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	lane := protocol.LaneQueue
	if info, _ := kind.Lookup(); info.Lane != "" {
		lane = info.Lane
	}
	return b.admit(h, lane, b.publish(lane, body, nil))
}

func (b *bench) publish(lane protocol.Lane, body []byte, head nats.Header) protocol.Seq {
	b.t.Helper()
	m, err := b.agent.RequestMsg(&nats.Msg{Subject: protocol.AgentActSubject(key.Owner, lane), Data: body, Header: head}, patience)
	if err != nil {
		b.t.Fatal(err)
	}
	var ack struct{ Seq protocol.Seq }
	if err := json.Unmarshal(m.Data, &ack); err != nil || ack.Seq == 0 {
		b.t.Fatalf("not stored: %s", m.Data)
	}
	return ack.Seq
}

func (b *bench) admit(h *ownerlog.Holder, lane protocol.Lane, seq protocol.Seq) *protocol.Admitted {
	b.t.Helper()
	m, err := b.rival.LeaderNext(b.ctx(), protocol.ActStream(0), protocol.ActSubject(0, key, lane), seq)
	if err != nil {
		b.t.Fatal(err)
	}
	a := protocol.Admit(protocol.Stored{Key: key, Lane: lane, Seq: m.Seq, StoredAt: m.Time, Data: m.Data}, h.StreamCreated())
	return &a
}

func (b *bench) observe(h *ownerlog.Holder) *protocol.Admitted {
	return b.store(h, protocol.KindObserve, nil)
}

func (b *bench) start(h *ownerlog.Holder, a *protocol.Admitted) ownerlog.Started {
	b.t.Helper()
	started, err := h.Start(b.ctx(), a, 1)
	if err != nil {
		b.t.Fatal(err)
	}
	return started
}

func ok(a *protocol.Admitted) *protocol.Result {
	res := a.NewResult(time.Now())
	res.Status, res.Dispatched = protocol.StatusOK, protocol.DispatchedYes
	return res
}

func (b *bench) answer(h *ownerlog.Holder, a *protocol.Admitted) {
	b.t.Helper()
	b.start(h, a)
	if err := h.Answer(b.ctx(), a, ok(a), nil); err != nil {
		b.t.Fatal(err)
	}
}

// result is the stored one, nil when there is none.
func (b *bench) result(id protocol.RequestID) *protocol.Result {
	b.t.Helper()
	m, err := b.rival.LeaderLast(b.ctx(), protocol.ResStream(0), protocol.ResSubject(0, key, id))
	if err != nil {
		return nil
	}
	var res protocol.Result
	if err := json.Unmarshal(m.Data, &res); err != nil {
		b.t.Fatal(err)
	}
	return &res
}

// last are the newest sequences of the streams of records and results: what a
// write would move.
func (b *bench) last() [2]protocol.Seq {
	b.t.Helper()
	var out [2]protocol.Seq
	for i, stream := range []string{protocol.OwnStream(0), protocol.ResStream(0)} {
		seq, err := b.rival.StreamLast(b.ctx(), stream)
		if err != nil {
			b.t.Fatal(err)
		}
		out[i] = seq
	}
	return out
}

// subscribe listens before anything is published.
func (b *bench) subscribe(c *nats.Conn, subject string) chan *nats.Msg {
	b.t.Helper()
	ch := make(chan *nats.Msg, 256)
	if _, err := c.ChanSubscribe(subject, ch); err != nil {
		b.t.Fatal(err)
	}
	if err := c.FlushTimeout(patience); err != nil {
		b.t.Fatal(err)
	}
	return ch
}

func (b *bench) next(ch chan *nats.Msg) *nats.Msg {
	b.t.Helper()
	select {
	case m := <-ch:
		return m
	case <-time.After(patience):
		b.t.Fatal("no message came")
		return nil
	}
}
