package cdp

import "sync"

// queue holds events between the reader and the handler. mu protects all fields;
// wake has room for one token.
type queue struct {
	mu        sync.Mutex
	events    []Event
	bytes     int
	dropped   uint64
	ended     bool
	wake      chan struct{}
	maxEvents int
	maxBytes  int
	droppable func(method string) bool
}

func newQueue(o Options) *queue {
	return &queue{
		wake:      make(chan struct{}, 1),
		maxEvents: o.MaxEvents,
		maxBytes:  o.MaxEventBytes,
		droppable: o.Droppable,
	}
}

// put reports false when an event that may not be dropped did not fit.
func (q *queue) put(e Event) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over(2, e) && q.droppable != nil && q.droppable(e.Method) {
		q.dropped++
		return true
	}
	if q.over(1, e) {
		q.dropped++
		return false
	}
	q.events = append(q.events, e)
	q.bytes += len(e.Params)
	q.poke()
	return true
}

// over says whether e would take the queue beyond 1/share of its bounds. One
// event always fits into an empty queue.
func (q *queue) over(share int, e Event) bool {
	if len(q.events) == 0 {
		return false
	}
	return len(q.events)+1 > q.maxEvents/share || q.bytes+len(e.Params) > q.maxBytes/share
}

// take removes everything that is queued; the second result is false after end
// once nothing is left.
func (q *queue) take() ([]Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.events
	q.events, q.bytes = nil, 0
	return batch, len(batch) > 0 || !q.ended
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.poke()
}

func (q *queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) counts() (queued int, dropped uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.events), q.dropped
}
