package fleettest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// Agent speaks for one owner, over plain NATS.
type Agent struct {
	Key  protocol.OwnerKey
	t    *testing.T
	nc   *nats.Conn
	done chan *nats.Msg
	// kept are results that arrived while another was awaited.
	kept map[protocol.RequestID]*nats.Msg
}

// Agent connects one.
func (f *Fleet) Agent(t *testing.T, tenant protocol.Tenant, owner protocol.Owner) *Agent {
	t.Helper()
	a := &Agent{
		Key: protocol.OwnerKey{Tenant: tenant, Owner: owner}, t: t, nc: f.NATS.Tenant(t, tenant),
		done: make(chan *nats.Msg, 1024), kept: map[protocol.RequestID]*nats.Msg{},
	}
	if _, err := a.nc.ChanSubscribe(protocol.AgentDoneSubject(owner, ">"), a.done); err != nil {
		t.Fatal(err)
	}
	a.settled()
	return a
}

// settled waits until the server has heard what the agent subscribes: two
// connections of one tenant that subscribe an import at the same moment are a data
// race inside nats-server 2.15.3 (addShadowSub), which is not what a test is about.
func (a *Agent) settled() {
	a.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := a.nc.FlushTimeout(time.Minute)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			a.t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond) // it is being connected again
	}
}

// Send publishes a request and returns its id.
func (a *Agent) Send(kind protocol.Kind, args protocol.Args, change ...func(*protocol.Request)) protocol.RequestID {
	a.t.Helper()
	r, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, f := range change {
		f(&r)
	}
	a.SendRequest(r)
	return r.ID
}

// SendRequest publishes a request as it is.
func (a *Agent) SendRequest(r protocol.Request) protocol.Seq {
	a.t.Helper()
	lane := protocol.LaneQueue
	if info, ok := r.Kind.Lookup(); ok {
		lane = info.Lane
	}
	body, err := json.Marshal(r)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.SendRaw(lane, body)
}

// SendRaw publishes any body, and returns the sequence under which it is stored.
func (a *Agent) SendRaw(lane protocol.Lane, body []byte) protocol.Seq {
	a.t.Helper()
	m, err := a.nc.Request(protocol.AgentActSubject(a.Key.Owner, lane), body, wait)
	if err != nil {
		a.t.Fatal(err)
	}
	var ack struct {
		Seq   protocol.Seq `json:"seq"`
		Error *struct{ Description string }
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil || ack.Error != nil {
		a.t.Fatalf("not stored: %s", m.Data)
	}
	return ack.Seq
}

// Await is the result of a request.
func (a *Agent) Await(id protocol.RequestID) *protocol.Result {
	a.t.Helper()
	_, res := a.AwaitMessage(id)
	return res
}

// AwaitMessage is the result with its message.
func (a *Agent) AwaitMessage(id protocol.RequestID) (*nats.Msg, *protocol.Result) {
	a.t.Helper()
	deadline := time.After(wait)
	for {
		if m := a.kept[id]; m != nil {
			delete(a.kept, id)
			var res protocol.Result
			if err := json.Unmarshal(m.Data, &res); err != nil {
				a.t.Fatal(err)
			}
			return m, &res
		}
		select {
		case m := <-a.done:
			a.kept[protocol.RequestID(m.Subject[len("done.")+len(a.Key.Owner)+1:])] = m
		case <-deadline:
			a.t.Fatalf("no result for %s", id)
		}
	}
}

// Do sends and awaits.
func (a *Agent) Do(kind protocol.Kind, args protocol.Args, change ...func(*protocol.Request)) *protocol.Result {
	a.t.Helper()
	return a.Await(a.Send(kind, args, change...))
}

// Fate asks fleet.result.
func (a *Agent) Fate(id protocol.RequestID) protocol.ResultReply {
	a.t.Helper()
	body, err := json.Marshal(protocol.ResultQuery{V: protocol.Version, Request: id})
	if err != nil {
		a.t.Fatal(err)
	}
	m := a.service(protocol.ServiceResult, body)
	var reply protocol.ResultReply
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		a.t.Fatal(err)
	}
	return reply
}

// service asks a coordinator. One that has just started may not be subscribed yet:
// then the server says at once that nobody heard, and the question is put again.
func (a *Agent) service(verb string, body []byte) *nats.Msg {
	a.t.Helper()
	patience := time.After(wait)
	for {
		m, err := a.nc.Request(protocol.AgentServiceSubject(verb, a.Key.Owner), body, wait)
		if err == nil {
			return m
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			a.t.Fatalf("fleet.%s: %v", verb, err)
		}
		select {
		case <-patience:
			a.t.Fatalf("fleet.%s: %v", verb, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Record is the owner's record as the stream has it.
func (f *Fleet) Record(t *testing.T, key protocol.OwnerKey) *protocol.OwnerRecord {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	rec, _, err := ownerlog.Read(ctx, f.NATS.Fleet(t), f.NATS.Map.Of(key), key)
	if err != nil {
		t.Fatal(err)
	}
	if rec == nil {
		return &protocol.OwnerRecord{}
	}
	return rec
}

// Until waits until the owner's record satisfies ok.
func (f *Fleet) Until(t *testing.T, key protocol.OwnerKey, what string, ok func(*protocol.OwnerRecord) bool) *protocol.OwnerRecord {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	conn, shard := f.NATS.Fleet(t), f.NATS.Map.Of(key)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		rec, _, err := ownerlog.Read(ctx, conn, shard, key)
		if err == nil && rec != nil && ok(rec) {
			return rec
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the record of %s never became %s (last: %+v, %v)", key, what, rec, err)
		}
	}
}

// Dispatched are the entries of all dispatch logs for a request.
func (f *Fleet) Dispatched(t *testing.T, id protocol.RequestID) []protocol.DispatchEntry {
	t.Helper()
	var all []protocol.DispatchEntry
	for _, w := range f.Workers {
		file, err := os.Open(w.Dispatches)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var e protocol.DispatchEntry
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			if e.Request == id {
				all = append(all, e)
			}
		}
		_ = file.Close()
	}
	return all
}

// Results counts the stored results of a request: 0 or 1.
func (f *Fleet) Results(t *testing.T, key protocol.OwnerKey, id protocol.RequestID) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	shard := f.NATS.Map.Of(key)
	counts, err := f.NATS.Fleet(t).SubjectCounts(ctx, protocol.ResStream(shard), protocol.ResSubject(shard, key, id))
	if err != nil {
		t.Fatal(err)
	}
	return int(counts[protocol.ResSubject(shard, key, id)])
}
