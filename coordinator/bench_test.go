package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/coordinator"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

const patience = time.Minute

var (
	one = protocol.OwnerKey{Tenant: "a", Owner: "one"}
	two = protocol.OwnerKey{Tenant: "a", Owner: "two"}
)

// bench is a server with an agent; coordinators and workers are the test's.
type bench struct {
	*testkit.Server
	t     *testing.T
	conn  *natsx.Conn
	agent *nats.Conn
	done  chan *nats.Msg
	// operator is connected when it is needed.
	operator *natsx.Conn
}

func newBench(t *testing.T, opts ...testkit.NATSOption) *bench {
	t.Helper()
	s := testkit.NATS(t, opts...)
	b := &bench{Server: s, t: t, conn: s.Fleet(t), agent: s.Tenant(t, "a"), done: make(chan *nats.Msg, 256)}
	if _, err := b.agent.ChanSubscribe("done.>", b.done); err != nil {
		t.Fatal(err)
	}
	if err := b.agent.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b.t.Cleanup(cancel)
	return ctx
}

// coordinate runs a coordinator until the test ends, or until stop.
func (b *bench) coordinate(id protocol.WorkerID, conn *natsx.Conn, change ...func(*coordinator.Config)) (stop func()) {
	b.t.Helper()
	cfg := coordinator.Config{
		ID: id, Shards: b.Map, Conn: conn, Observer: deaf{},
		Logger: slog.New(slog.NewTextHandler(b.t.Output(), nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	c := coordinator.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			b.t.Errorf("coordinator: %v", err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	b.t.Cleanup(stop)
	return stop
}

type deaf struct{}

func (deaf) Assigned(string)                     {}
func (deaf) AnsweredByCoordinator(protocol.Code) {}
func (deaf) WorkerGone()                         {}

// puppet is a worker that does what the test says: it runs nothing.
type puppet struct {
	id       protocol.WorkerID
	assigned chan protocol.Assignment

	mu   sync.Mutex // guards all below
	beat protocol.Heartbeat
	// refuse is what it answers to every assignment; nil takes them.
	refuse *protocol.Error
	// counts: it has so many slots, and no more; took are those who have them.
	counts bool
	took   map[protocol.OwnerKey]bool
	// held is what it says when it is asked; nil says nothing.
	held *protocol.HeldReply
	// heard are the other control messages.
	heard chan *nats.Msg
}

// says changes what the puppet's heartbeats say.
func (p *puppet) says(change func(*puppet)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// speak is its next heartbeat.
func (p *puppet) speak() protocol.Heartbeat {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat.Number++
	beat := p.beat
	beat.Owners += len(p.took)
	return beat
}

// take answers an assignment. Who has few slots takes as many owners as a worker
// would; the others take all.
func (p *puppet) take(a protocol.Assignment) protocol.ControlReply {
	p.mu.Lock()
	defer p.mu.Unlock()
	reply := protocol.ControlReply{V: protocol.Version, Error: p.refuse}
	if p.counts && reply.Error == nil {
		if !p.took[a.Key] && len(p.took) >= p.beat.Slots {
			reply.Error = protocol.Errorf(protocol.CodeNoCapacity, "no slot")
			return reply
		}
		p.took[a.Key] = true
	}
	reply.OK, reply.CountedFrom = reply.Error == nil, p.beat.Number+1
	p.assigned <- a
	return reply
}

// plenty of slots are never used up.
const plenty = 64

// worker starts a puppet; refuse may be nil.
func (b *bench) worker(id protocol.WorkerID, refuse *protocol.Error) *puppet {
	b.t.Helper()
	return b.puppet(id, plenty, refuse)
}

func (b *bench) puppet(id protocol.WorkerID, slots int, refuse *protocol.Error) *puppet {
	b.t.Helper()
	p := &puppet{
		id: id, assigned: make(chan protocol.Assignment, 256), heard: make(chan *nats.Msg, 256), took: map[protocol.OwnerKey]bool{},
		counts: slots < plenty, refuse: refuse,
		beat: protocol.Heartbeat{V: protocol.Version, Worker: id, Slots: slots, Ready: true},
	}
	nc := b.Worker(b.t).NC
	_, err := nc.Subscribe(protocol.ControlSubject(id, "*"), func(m *nats.Msg) {
		var a protocol.Assignment
		reply := protocol.ControlReply{V: protocol.Version, OK: true}
		if m.Subject == protocol.ControlSubject(id, protocol.VerbAssign) {
			_ = json.Unmarshal(m.Data, &a)
			reply = p.take(a)
		} else if m.Subject != protocol.ControlSubject(id, protocol.VerbPing) {
			p.heard <- m
		}
		if m.Subject == protocol.ControlSubject(id, protocol.VerbHeld) && p.holds(m) {
			return
		}
		if data, err := json.Marshal(reply); err == nil && m.Reply != "" {
			_ = m.Respond(data)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			data, err := json.Marshal(p.speak())
			if err == nil {
				_ = nc.Publish(protocol.HeartbeatSubject(id), data)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	b.t.Cleanup(func() { cancel(); beats.Wait() })
	return p
}

// holds answers what it holds.
func (p *puppet) holds(m *nats.Msg) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		return false
	}
	data, err := json.Marshal(p.held)
	if err == nil {
		_ = m.Respond(data)
	}
	return true
}

// assignment is the next one that is not a repetition.
func (b *bench) assignment(p *puppet) protocol.Assignment {
	b.t.Helper()
	for {
		if a := b.told(p); a.Reason != "reminded" {
			return a
		}
	}
}

// reminder is the next repetition: a reconcile has passed.
func (b *bench) reminder(p *puppet, key protocol.OwnerKey) protocol.Assignment {
	b.t.Helper()
	for {
		if a := b.told(p); a.Reason == "reminded" && a.Key == key {
			return a
		}
	}
}

func (b *bench) told(p *puppet) protocol.Assignment {
	b.t.Helper()
	select {
	case a := <-p.assigned:
		return a
	case <-time.After(patience):
		b.t.Fatalf("nothing was assigned to %s", p.id)
		return protocol.Assignment{}
	}
}

// store publishes a request as the agent.
func (b *bench) store(key protocol.OwnerKey, kind protocol.Kind, args protocol.Args, change ...func(*protocol.Request)) (protocol.RequestID, protocol.Seq) {
	b.t.Helper()
	r, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range change {
		f(&r)
	}
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	info, _ := kind.Lookup()
	return r.ID, b.raw(key, info.Lane, body)
}

func (b *bench) raw(key protocol.OwnerKey, lane protocol.Lane, body []byte) protocol.Seq {
	b.t.Helper()
	m := b.request(b.agent, protocol.AgentActSubject(key.Owner, lane), body)
	var ack struct{ Seq protocol.Seq }
	if err := json.Unmarshal(m.Data, &ack); err != nil || ack.Seq == 0 {
		b.t.Fatalf("not stored: %s", m.Data)
	}
	return ack.Seq
}

// request asks, and goes on asking while the connection is not there: a machine
// that stalls for seconds loses connections, and what was not sent can be sent.
func (b *bench) request(nc *nats.Conn, subject string, body []byte) *nats.Msg {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		m, err := nc.Request(subject, body, patience)
		if err == nil {
			return m
		}
		if !errors.Is(err, nats.ErrReconnectBufExceeded) || time.Now().After(deadline) {
			b.t.Fatal(err)
		}
		<-time.After(100 * time.Millisecond)
	}
}

func (b *bench) open(key protocol.OwnerKey, change ...func(*protocol.Request)) (protocol.RequestID, protocol.Seq) {
	b.t.Helper()
	return b.store(key, protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/"}, change...)
}

func expires(r *protocol.Request) { r.QueueDeadlineMS = 1 }

// result waits for a stored result.
func (b *bench) result(key protocol.OwnerKey, id protocol.RequestID) *protocol.Result {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx := b.ctx()
	for {
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

func (b *bench) expect(key protocol.OwnerKey, id protocol.RequestID, status protocol.Status, code protocol.Code) {
	b.t.Helper()
	res := b.result(key, id)
	got := protocol.Code("")
	if res.Error != nil {
		got = res.Error.Code
	}
	if res.Status != status || got != code {
		b.t.Fatalf("%s %s: got %s %v, want %s %s", res.Kind, id, res.Status, res.Error, status, code)
	}
}

// put writes a record, whatever stands there.
func (b *bench) put(key protocol.OwnerKey, rec protocol.OwnerRecord) protocol.Seq {
	b.t.Helper()
	_, fence, err := ownerlog.Read(b.ctx(), b.conn, 0, key)
	if err != nil {
		b.t.Fatal(err)
	}
	rec.V, rec.Nonce = protocol.Version, ownerlog.NewNonce()
	if rec.Since.IsZero() {
		rec.Since = protocol.At(time.Now())
	}
	data, err := json.Marshal(rec)
	if err != nil {
		b.t.Fatal(err)
	}
	seq, err := b.conn.CAS(b.ctx(), protocol.OwnSubject(0, key), data, nil, fence)
	if err != nil {
		b.t.Fatal(err)
	}
	return seq
}

func (b *bench) record(key protocol.OwnerKey) *protocol.OwnerRecord {
	b.t.Helper()
	rec, _ := b.recordAt(0, key)
	return rec
}

// recordAt reads a record, however long the servers take to answer.
func (b *bench) recordAt(s protocol.Shard, key protocol.OwnerKey) (*protocol.OwnerRecord, protocol.Seq) {
	b.t.Helper()
	ctx := b.ctx()
	for {
		rec, at, err := ownerlog.Read(ctx, b.conn, s, key)
		if err == nil {
			return rec, at
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			b.t.Fatal(err)
		}
	}
}

// until waits for the record to be ok.
func (b *bench) until(key protocol.OwnerKey, what string, ok func(*protocol.OwnerRecord) bool) *protocol.OwnerRecord {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		rec := b.record(key)
		if rec != nil && ok(rec) {
			return rec
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("the record of %s never became %s: %+v", key, what, rec)
		}
	}
}

// queued are the sequences that lane q of an owner holds.
func (b *bench) queued(key protocol.OwnerKey) []protocol.Seq {
	b.t.Helper()
	var all []protocol.Seq
	for from := protocol.Seq(1); ; {
		m, err := b.conn.LeaderNext(b.ctx(), protocol.ActStream(0), protocol.ActSubject(0, key, protocol.LaneQueue), from)
		if err != nil {
			return all
		}
		all = append(all, m.Seq)
		from = m.Seq + 1
	}
}
