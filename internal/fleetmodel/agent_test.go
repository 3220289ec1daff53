package fleetmodel

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

// agent publishes: what arrives is stored at once. It remembers its ids.
type agent struct {
	w    *world
	sent []sent
	// early are those whose ids are of a time to come.
	early []sent
	// leases that it asked for.
	leases []protocol.LeaseID
}

type sent struct {
	id   protocol.RequestID
	lane protocol.Lane
	body []byte
}

// requests are what an agent asks, an effect more often than not.
var requests = []struct {
	kind protocol.Kind
	args protocol.Args
}{
	{protocol.KindOpen, &protocol.OpenArgs{URL: "http://model.invalid/"}},
	{protocol.KindObserve, nil},
	{protocol.KindPress, &protocol.PressArgs{Key: "Enter"}},
	{protocol.KindScreenshot, nil},
	{protocol.KindReload, nil},
}

func (a *agent) request(n int) {
	r := requests[n%len(requests)]
	req, err := protocol.NewRequest(r.kind, r.args, time.Now())
	if err != nil {
		panic(err)
	}
	if n%7 == 3 {
		req.QueueDeadlineMS = 2000
	}
	a.send(protocol.LaneQueue, req.ID, req)
}

// control cancels, interrupts, or pings.
func (a *agent) control(kind protocol.Kind, n int) {
	var args protocol.Args
	if len(a.sent) > 0 {
		target := a.sent[len(a.sent)-1-n%len(a.sent)].id
		switch kind {
		case protocol.KindCancel:
			args = &protocol.CancelArgs{Request: target}
		case protocol.KindInterrupt:
			args = &protocol.InterruptArgs{Request: target}
		}
	}
	if args == nil {
		kind = protocol.KindPing
	}
	req, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		panic(err)
	}
	a.send(protocol.LaneControl, req.ID, req)
}

func (a *agent) send(lane protocol.Lane, id protocol.RequestID, req protocol.Request) {
	body, err := json.Marshal(req)
	if err != nil {
		panic(err)
	}
	a.sent = append(a.sent, sent{id, lane, body})
	a.store(lane, body, nil)
}

// again sends a request of before once more, under its id.
func (a *agent) again(n int) {
	if len(a.sent) > 0 {
		s := a.sent[len(a.sent)-1-n%len(a.sent)]
		a.store(s.lane, s.body, nil)
	}
}

// odd sends what no client should.
func (a *agent) odd(n int) {
	now := time.Now()
	body := func(id any, kind protocol.Kind) []byte {
		return fmt.Appendf(nil, `{"v":1,"id":%q,"kind":%q,"args":{"key":"Enter","url":"http://model.invalid/"}}`, id, kind)
	}
	switch n % 7 {
	case 0: // no id: its sequence names it
		a.store(protocol.LaneQueue, []byte(`{"v":1,"kind":"press","args":{"key":"Enter"}}`), nil)
	case 1:
		a.store(protocol.LaneQueue, []byte(`{"v":1,`), nil)
	case 2:
		a.store(protocol.LaneQueue, body(protocol.NewRequestID(now.Add(-protocol.ResendHorizon-time.Minute)), protocol.KindPress), nil)
	case 3: // another request's name
		a.store(protocol.LaneQueue, body(fmt.Sprintf("s%d-%d", a.w.servers.streams[protocol.ActStream(0)].last, epoch.Unix()), protocol.KindPress), nil)
	case 4: // the server's headers, forged: a sequence that would move a cursor far ahead
		r, err := protocol.NewRequest(protocol.KindPress, &protocol.PressArgs{Key: "Enter"}, now)
		if err != nil {
			panic(err)
		}
		data, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		forged := nats.Header{"Nats-Sequence": {"1000000"}, "Nats-Last-Sequence": {"0"}, "Nats-Time-Stamp": {now.UTC().Format(time.RFC3339Nano)}}
		if n/7%2 == 0 { // even less like the server's
			forged["Nats-Stream"], forged["Status"] = []string{"BF_RES_0"}, []string{"404"}
			forged["Nats-Subject"] = []string{protocol.ActSubject(0, neighbour, protocol.LaneQueue)}
		}
		a.w.saw("forged headers")
		a.store(protocol.LaneQueue, data, forged)
	case 6: // an id of a time to come: it could be sent again for longer than its result lives
		id := protocol.NewRequestID(now.Add(3 * time.Hour))
		early := body(id, protocol.KindPress)
		a.early = append(a.early, sent{id, protocol.LaneQueue, early})
		a.store(protocol.LaneQueue, early, nil)
	case 5: // a neighbour's, in the same stream
		w := a.w
		w.mu.Lock()
		defer w.mu.Unlock()
		_, _ = w.servers.publish(protocol.ActSubject(0, neighbour, protocol.LaneQueue), []byte(`{}`), nil, now)
	}
}

// store is the arrival of a request. What is refused was never stored.
func (a *agent) store(lane protocol.Lane, body []byte, h nats.Header) {
	w := a.w
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	seq, err := w.servers.publish(protocol.ActSubject(0, owner, lane), body, h, now)
	if err != nil {
		w.say("agent: %v", err)
		return
	}
	adm := w.admit(lane, seq, now, body)
	w.say("agent: %s %s stored at %d in lane %s", adm.Action.Kind, short(adm.ID), seq, lane)
	if r := w.promises.requests[adm.ID]; r != nil {
		r.life, r.excused = w.promises.life, false
		return
	}
	r := &request{id: adm.ID, kind: adm.Action.Kind, seq: seq, life: w.promises.life}
	if c, ok := adm.Action.Args.(*protocol.CancelArgs); ok && adm.Refused == nil {
		r.target = c.Request
	}
	w.promises.requests[adm.ID] = r
}

func (w *world) admit(lane protocol.Lane, seq protocol.Seq, at time.Time, body []byte) protocol.Admitted {
	return protocol.Admit(protocol.Stored{Key: owner, Lane: lane, Seq: seq, StoredAt: at, Data: body}, w.servers.streams[protocol.ActStream(0)].created)
}

// purged tells the promises which requests a purge removed.
func (w *world) purged(gone []message) {
	var ids []protocol.RequestID
	for _, m := range gone {
		lane := protocol.Lane(m.Subject[len(m.Subject)-1:])
		ids = append(ids, w.admit(lane, m.Seq, m.Time, m.Data).ID)
	}
	w.promises.purged(ids)
}
