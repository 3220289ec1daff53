package cdp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// Options bound a connection; zero values mean the defaults.
type Options struct {
	// CallTimeout is the deadline of a call whose context has none (10 s).
	CallTimeout time.Duration
	// MaxEvents and MaxEventBytes bound the queue of events (16384, 64 MiB).
	MaxEvents     int
	MaxEventBytes int
	// MaxUnwritten bounds the commands that wait to be written (4096).
	MaxUnwritten int
	// Droppable names events that may be lost under pressure. Nil: none.
	Droppable func(method string) bool
}

func (o Options) withDefaults() Options {
	if o.CallTimeout <= 0 {
		o.CallTimeout = 10 * time.Second
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = 16384
	}
	if o.MaxEventBytes <= 0 {
		o.MaxEventBytes = 64 << 20
	}
	if o.MaxUnwritten <= 0 {
		o.MaxUnwritten = 4096
	}
	return o
}

// Stats is what a connection counted.
type Stats struct {
	Pending   int    // calls in the table
	Queued    int    // events that the handler has not taken yet
	Dropped   uint64 // events lost to the bound of the queue
	Missed    uint64 // events lost by slow subscribers
	Malformed uint64 // messages that were no JSON object of the protocol
}

// Conn is one connection to a browser.
type Conn struct {
	carrier Carrier
	options Options
	events  *queue
	done    chan struct{}
	unsent  chan struct{} // one token: outbox is not empty
	workers sync.WaitGroup

	mu            sync.Mutex // protects everything below
	lastID        int64
	pending       map[int64]*Pending
	outbox        []*Pending
	subscriptions map[*subscription]struct{}
	swept         time.Time
	missed        uint64
	malformed     uint64
	err           error // why the connection ended
}

// Start takes over the carrier and begins to read. handle is called with one
// event at a time, in the order of the wire; it may be nil.
func Start(carrier Carrier, handle func(Event), options Options) *Conn {
	options = options.withDefaults()
	c := &Conn{
		carrier:       carrier,
		options:       options,
		events:        newQueue(options),
		done:          make(chan struct{}),
		unsent:        make(chan struct{}, 1),
		pending:       make(map[int64]*Pending),
		subscriptions: make(map[*subscription]struct{}),
		swept:         time.Now(),
	}
	c.workers.Add(3)
	go c.runReader()
	go c.runWriter()
	go c.runHandler(handle)
	return c
}

// Session returns a handle; it does not ask the browser whether the session
// exists. The empty id is the browser.
func (c *Conn) Session(id SessionID) *Session { return &Session{conn: c, id: id} }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is nil while the connection lives, then says why it ended. It matches
// ErrClosed.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Stats reports the counters.
func (c *Conn) Stats() Stats {
	queued, dropped := c.events.counts()
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		Pending: len(c.pending), Queued: queued, Dropped: dropped,
		Missed: c.missed, Malformed: c.malformed,
	}
}

// FailSession settles every call of the session with err at once: after a crash
// or a detach the browser never answers them. With an err that is ErrDetached,
// its subscriptions end too. Calls that are sent later are not touched.
func (c *Conn) FailSession(id SessionID, err error) {
	c.mu.Lock()
	for _, p := range c.pending {
		if p.session == id {
			c.settle(p, nil, &LostError{Method: p.method, Cause: err, MayHaveExecuted: p.written})
		}
	}
	c.mu.Unlock()
	if errors.Is(err, ErrDetached) {
		c.endSubscriptions(&id)
	}
}

// Close ends the connection, fails what is pending and waits for the goroutines.
// It must not be called from the handler.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	c.workers.Wait()
	return nil
}

func (c *Conn) runReader() {
	defer c.workers.Done()
	defer c.events.end()
	for {
		message, err := c.carrier.ReadMessage()
		if err != nil {
			c.fail(fmt.Errorf("%w: read: %w", ErrClosed, err))
			return
		}
		c.route(message)
	}
}

func (c *Conn) runWriter() {
	defer c.workers.Done()
	for {
		select {
		case <-c.done:
			return
		case <-c.unsent:
		}
		for p := c.nextUnsent(); p != nil; p = c.nextUnsent() {
			if err := c.carrier.WriteMessage(frame(p.id, p.session, p.method, p.params)); err != nil {
				c.fail(fmt.Errorf("%w: write: %w", ErrClosed, err))
				return
			}
		}
	}
}

func (c *Conn) runHandler(handle func(Event)) {
	defer c.workers.Done()
	defer c.endSubscriptions(nil)
	for range c.events.wake {
		batch, more := c.events.take()
		for _, e := range batch {
			if handle != nil {
				handle(e)
			}
			c.publish(e)
		}
		if !more {
			return
		}
		if len(batch) > 0 {
			c.events.poke() // look again: end may have come meanwhile
		}
	}
}

// route settles a call or queues an event. It runs in the reader and never waits.
func (c *Conn) route(message []byte) {
	var e envelope
	if err := json.Unmarshal(message, &e); err != nil || (e.ID == 0 && e.Method == "") {
		c.mu.Lock()
		c.malformed++
		c.mu.Unlock()
		return
	}
	if e.ID == 0 {
		event := Event{Session: e.SessionID, Method: e.Method, Params: jsonv2.Value(e.Params)}
		if !c.events.put(event) {
			c.fail(fmt.Errorf("%w: %w at %s", ErrClosed, ErrOverflow, e.Method))
		}
		return
	}
	if event, ok := c.reply(&e); ok && !c.events.put(event) {
		c.fail(fmt.Errorf("%w: %w at the result of %s", ErrClosed, ErrOverflow, event.Method))
	}
}

// reply settles the call that the message answers. The result of one that was
// sent by SendOrdered is an event.
func (c *Conn) reply(e *envelope) (Event, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[e.ID]
	switch {
	case p == nil: // the caller has left
	case e.Error != nil:
		c.settle(p, nil, &Error{Method: p.method, Code: e.Error.Code, Message: e.Error.Message})
	default:
		c.settle(p, jsonv2.Value(e.Result), nil)
		return Event{Session: p.session, Method: p.method, Params: jsonv2.Value(e.Result)}, p.ordered
	}
	return Event{}, false
}

func (c *Conn) send(session SessionID, method string, params jsonv2.Value, ordered bool) (*Pending, error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, &LostError{Method: method, Cause: c.err}
	}
	if len(c.outbox) >= c.options.MaxUnwritten {
		c.outbox = slices.DeleteFunc(c.outbox, func(p *Pending) bool { return p.settled })
	}
	if len(c.outbox) >= c.options.MaxUnwritten {
		return nil, &LostError{Method: method, Cause: ErrBusy}
	}
	c.sweep(now)
	c.lastID++
	p := &Pending{
		conn: c, id: c.lastID, session: session, method: method, params: params,
		queued: now, done: make(chan struct{}), ordered: ordered,
	}
	c.pending[p.id] = p
	c.outbox = append(c.outbox, p)
	select {
	case c.unsent <- struct{}{}:
	default:
	}
	return p, nil
}

// nextUnsent takes the next command that somebody still wants and marks it as
// written: from here on it may have executed.
func (c *Conn) nextUnsent() *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.outbox) > 0 {
		p := c.outbox[0]
		c.outbox[0] = nil
		c.outbox = c.outbox[1:]
		if !p.settled {
			p.written = true
			return p
		}
	}
	return nil
}

// settle gives the call its outcome, once. Callers hold mu.
func (c *Conn) settle(p *Pending, result jsonv2.Value, err error) {
	if p.settled {
		return
	}
	p.settled = true
	p.result, p.err = result, err
	delete(c.pending, p.id)
	close(p.done)
}

func (c *Conn) abandon(p *Pending, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(p, nil, &LostError{Method: p.method, Cause: cause, MayHaveExecuted: p.written})
}

func (c *Conn) forget(p *Pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, p.id)
}

// sweep drops, about once a minute, calls that nobody waits for. Callers hold mu.
func (c *Conn) sweep(now time.Time) {
	if now.Sub(c.swept) < time.Minute {
		return
	}
	c.swept = now
	for _, p := range c.pending {
		if now.Sub(p.queued) > abandonAfter {
			c.settle(p, nil, &LostError{Method: p.method, Cause: errAbandoned, MayHaveExecuted: p.written})
		}
	}
}

// fail ends the connection for the first cause that is given.
func (c *Conn) fail(cause error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = cause
	for _, p := range c.pending {
		c.settle(p, nil, &LostError{Method: p.method, Cause: cause, MayHaveExecuted: p.written})
	}
	c.outbox = nil
	close(c.done)
	c.mu.Unlock()
	// The reader notices the closed carrier; an error of Close has no reader.
	_ = c.carrier.Close()
}
