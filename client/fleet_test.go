package client

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

const testTimeout = 2 * time.Minute

func TestMain(m *testing.M) { testkit.Main(m) }

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// connect connects as a user of the test server.
func connect(t testing.TB, s *testkit.Server, user string) *Client {
	t.Helper()
	o := s.Options(user)
	c, err := Connect(testContext(t), Options{
		URL: o.URL, User: o.User, Password: Secret(o.Password), InboxPrefix: o.InboxPrefix, Name: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// fleet stands in for coordinator and worker: it sees what is stored and says
// what a test wants.
type fleet struct {
	t    testing.TB
	conn *natsx.Conn
	// stored gets each stored request.
	stored chan *nats.Msg

	mu   sync.Mutex // guards seen, fate
	seen []protocol.RequestID
	fate func(protocol.ResultQuery) protocol.ResultReply
}

// newFleet serves tenant a. answer, unless nil, is called with each request.
func newFleet(t testing.TB, s *testkit.Server, answer func(f *fleet, owner protocol.Owner, req protocol.Request)) *fleet {
	t.Helper()
	f := &fleet{t: t, conn: s.Fleet(t), stored: make(chan *nats.Msg, 200)}
	f.fate = func(protocol.ResultQuery) protocol.ResultReply {
		return protocol.ResultReply{V: protocol.Version, Fate: protocol.FateRunning}
	}
	f.serve("bf.push.>", func(m *nats.Msg) {
		at, err := protocol.ParseActSubject(m.Subject)
		if err != nil {
			return
		}
		var req protocol.Request
		_ = json.Unmarshal(m.Data, &req)
		f.mu.Lock()
		f.seen = append(f.seen, req.ID)
		f.mu.Unlock()
		f.stored <- m
		if answer != nil {
			answer(f, at.Key.Owner, req)
		}
	})
	f.serve("bf.svc.a.result.*", func(m *nats.Msg) {
		var q protocol.ResultQuery
		_ = json.Unmarshal(m.Data, &q)
		f.mu.Lock()
		reply := f.fate(q)
		f.mu.Unlock()
		data, _ := json.Marshal(reply)
		_ = m.Respond(data)
	})
	if err := f.conn.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	return f
}

// serve answers once the server knows of it: a question of another connection that is
// asked right after finds somebody.
func (f *fleet) serve(subject string, h nats.MsgHandler) {
	f.t.Helper()
	if _, err := f.conn.NC.Subscribe(subject, h); err != nil {
		f.t.Fatal(err)
	}
	if err := f.conn.NC.FlushWithContext(testContext(f.t)); err != nil {
		f.t.Fatal(err)
	}
}

// says makes fleet.result answer.
func (f *fleet) says(fate func(protocol.ResultQuery) protocol.ResultReply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fate = fate
}

func (f *fleet) ids() []protocol.RequestID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]protocol.RequestID(nil), f.seen...)
}

func okResult(owner protocol.Owner, req protocol.Request) *protocol.Result {
	return &protocol.Result{
		V: protocol.Version, Tenant: "a", Owner: owner, Request: req.ID, Kind: req.Kind,
		Status: protocol.StatusOK, Dispatched: protocol.DispatchedYes, Nonce: "n",
	}
}

// store creates a result in the results' stream. It does not wait: the client may
// have the result, and its test be over, before an acknowledgement came.
func (f *fleet) store(res *protocol.Result) {
	data, _ := json.Marshal(res)
	subject := protocol.ResSubject(0, protocol.OwnerKey{Tenant: "a", Owner: res.Owner}, res.Request)
	if err := f.conn.NC.Publish(subject, data); err != nil {
		f.t.Errorf("store a result: %v", err)
	}
}

// push sends something to done.O.R that no stream stored.
func (f *fleet) push(owner protocol.Owner, id protocol.RequestID, h nats.Header, body any) {
	data, _ := json.Marshal(body)
	subject := protocol.DoneSubject(protocol.OwnerKey{Tenant: "a", Owner: owner}, id)
	if err := f.conn.NC.PublishMsg(&nats.Msg{Subject: subject, Header: h, Data: data}); err != nil {
		f.t.Errorf("push: %v", err)
	}
}

// answerOK stores an ok for every request.
func answerOK(f *fleet, owner protocol.Owner, req protocol.Request) { f.store(okResult(owner, req)) }
