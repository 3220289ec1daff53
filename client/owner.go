package client

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

// owners are the handles of a client.
type owners struct {
	mu   sync.Mutex // guards byID
	byID map[protocol.Owner]*Owner
}

// nudge makes every waiting request ask what became of it: while there was no
// connection, its result may have been pushed to nobody.
func (s *owners) nudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.byID {
		o.nudgeAll()
	}
}

// Owner is a handle on one environment. Its methods are safe for concurrent use;
// the fleet runs the actions in the order in which they are stored.
type Owner struct {
	client *Client
	id     protocol.Owner

	mu sync.Mutex // guards sub and waiting
	// sub is made with the first request.
	sub     *nats.Subscription
	waiting map[protocol.RequestID][]*waiter
}

// waiter is one wait for a result.
type waiter struct {
	result chan *protocol.Result // room for the one
	nudge  chan struct{}         // room for one
}

// Owner is the handle of an owner. It costs nothing until it is used.
func (c *Client) Owner(id protocol.Owner) *Owner {
	c.owners.mu.Lock()
	defer c.owners.mu.Unlock()
	o, ok := c.owners.byID[id]
	if !ok {
		o = &Owner{client: c, id: id, waiting: map[protocol.RequestID][]*waiter{}}
		c.owners.byID[id] = o
	}
	return o
}

// ID is the owner's id.
func (o *Owner) ID() protocol.Owner { return o.id }

// Forget ends the handle's subscription. Requests that still wait are answered
// by fleet.result only.
func (o *Owner) Forget() {
	o.client.owners.mu.Lock()
	delete(o.client.owners.byID, o.id)
	o.client.owners.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sub != nil {
		_ = o.sub.Unsubscribe() // fails only when the connection is closed
		o.sub = nil
	}
}

// listen registers a wait. It comes before the request is published: a result
// cannot be missed.
func (o *Owner) listen(id protocol.RequestID) (*waiter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sub == nil {
		sub, err := o.client.nc.Subscribe(protocol.AgentDoneSubject(o.id, ">"), o.heard)
		if err != nil {
			return nil, err
		}
		o.sub = sub
	}
	w := &waiter{result: make(chan *protocol.Result, 1), nudge: make(chan struct{}, 1)}
	o.waiting[id] = append(o.waiting[id], w)
	return w, nil
}

func (o *Owner) leave(id protocol.RequestID, w *waiter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.waiting[id][:0:0]
	for _, other := range o.waiting[id] {
		if other != w {
			rest = append(rest, other)
		}
	}
	if o.waiting[id] = rest; len(rest) == 0 {
		delete(o.waiting, id)
	}
}

// heard takes a message on done.O.R.
func (o *Owner) heard(m *nats.Msg) {
	id := protocol.RequestID(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
	o.mu.Lock()
	waiters := o.waiting[id]
	o.mu.Unlock()
	if len(waiters) == 0 {
		return
	}
	res := resultOf(m, o.id, id)
	for _, w := range waiters {
		w.tell(res)
	}
}

func (w *waiter) tell(res *protocol.Result) {
	if res == nil {
		poke(w.nudge)
		return
	}
	select {
	case w.result <- res:
	default: // it has one
	}
}

func (o *Owner) nudgeAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, waiters := range o.waiting {
		for _, w := range waiters {
			poke(w.nudge)
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// headerStream is what the server adds, as the last value, to what a stream
// republishes.
const headerStream = "Nats-Stream"

// resultOf is the result in a message on done.O.R, or nil where the message is
// not one: it must come from a results stream, and name owner and request.
func resultOf(m *nats.Msg, owner protocol.Owner, id protocol.RequestID) *protocol.Result {
	streams := m.Header[headerStream]
	if len(streams) == 0 || !strings.HasPrefix(streams[len(streams)-1], "BF_RES_") {
		return nil
	}
	var res protocol.Result
	if json.Unmarshal(m.Data, &res) != nil || !genuine(&res, owner, id) {
		return nil
	}
	return &res
}

// genuine reports whether a result is the one that is waited for.
func genuine(res *protocol.Result, owner protocol.Owner, id protocol.RequestID) bool {
	return res != nil && res.V == protocol.Version && res.Owner == owner && res.Request == id
}
