package cdp

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// subscriptionRoom is how many events a subscriber may be behind before it loses
// some. The supervisor's own state does not depend on subscriptions.
const subscriptionRoom = 256

// Session is a handle on one flattened session. It is a value without state of
// its own and stays usable as long as the browser knows the session.
type Session struct {
	conn *Conn
	id   SessionID
}

// ID returns the session's id, empty for the browser itself.
func (s *Session) ID() SessionID { return s.id }

// Call sends one command, waits for its reply and decodes the result. It is the
// method of cdproto's cdp.Session. Without a deadline in ctx, it waits for
// Options.CallTimeout.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	if err := context.Cause(ctx); err != nil {
		return &LostError{Method: method, Cause: err}
	}
	pending, err := s.Send(method, params)
	if err != nil {
		return err
	}
	return pending.Wait(ctx, result)
}

// Send queues one command and never waits. Commands of a connection are written
// in the order of their Send calls.
func (s *Session) Send(method string, params any) (*Pending, error) {
	return s.send(method, params, false)
}

// SendOrdered queues one command whose result the handler gets as an event of the
// command's name, in its place on the wire: a reply otherwise overtakes the events
// that were written before it. A command that fails brings no event.
func (s *Session) SendOrdered(method string, params any) error {
	_, err := s.send(method, params, true)
	return err
}

func (s *Session) send(method string, params any, ordered bool) (*Pending, error) {
	raw, err := encodeParams(params)
	if err != nil {
		return nil, &LostError{Method: method, Cause: fmt.Errorf("encode parameters: %w", err)}
	}
	return s.conn.send(s.id, method, raw, ordered)
}

// Subscribe is the other method of cdproto's cdp.Session: the events of one
// method on this session, from now on. A subscriber that falls 256 events behind
// loses events; Stats.Missed counts them. The channel is closed by cancel, when
// the session is detached and when the connection ends.
func (s *Session) Subscribe(method string) (<-chan jsonv2.Value, func()) {
	return s.conn.subscribe(s.id, method)
}

type subscription struct {
	session SessionID
	method  string
	events  chan jsonv2.Value
}

func (c *Conn) subscribe(session SessionID, method string) (<-chan jsonv2.Value, func()) {
	sub := &subscription{session: session, method: method, events: make(chan jsonv2.Value, subscriptionRoom)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscriptions == nil {
		close(sub.events)
		return sub.events, func() {}
	}
	c.subscriptions[sub] = struct{}{}
	return sub.events, func() { c.unsubscribe(sub) }
}

func (c *Conn) unsubscribe(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.subscriptions[sub]; ok {
		delete(c.subscriptions, sub)
		close(sub.events)
	}
}

func (c *Conn) publish(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for sub := range c.subscriptions {
		if sub.session != e.Session || sub.method != e.Method {
			continue
		}
		select {
		case sub.events <- e.Params:
		default:
			c.missed++
		}
	}
}

// endSubscriptions closes those of one session, or all of them for nil, after
// which no new one is accepted.
func (c *Conn) endSubscriptions(session *SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for sub := range c.subscriptions {
		if session == nil || sub.session == *session {
			delete(c.subscriptions, sub)
			close(sub.events)
		}
	}
	if session == nil {
		c.subscriptions = nil
	}
}
