package loadtest

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/protocol"
)

// purpose is why a request was sent: it decides where its answer is counted.
type purpose int

const (
	// asked: its errors are errors.
	asked purpose = iota
	// provoked: it was made to be refused.
	provoked
	// repeated: its answer was counted already.
	repeated
)

// Bounds of the histograms, in microseconds, and their digits.
const (
	lowest  = 1
	highest = int64(30 * time.Minute / time.Microsecond)
	digits  = 3
)

// recorder counts. Its methods are safe for concurrent use.
type recorder struct {
	mu       sync.Mutex // guards everything below
	on       bool       // false during the warm-up
	took     map[string]*hdrhistogram.Histogram
	errors   map[protocol.Code]int
	provoked map[protocol.Code]int
	requests int // answers, of whatever kind
	actions  int // that were dispatched
	restored int // answers with a fidelity report
}

func newRecorder() *recorder {
	return &recorder{
		took: map[string]*hdrhistogram.Histogram{}, errors: map[protocol.Code]int{}, provoked: map[protocol.Code]int{},
	}
}

func (r *recorder) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = true
}

// answered records an answer; an empty row records no latency.
func (r *recorder) answered(row string, took time.Duration, res *protocol.Result, p purpose) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.on {
		return
	}
	r.requests++
	if res.Restored != nil && p != repeated {
		r.restored++
	}
	if p != repeated && res.Lane == protocol.LaneQueue && res.Dispatched == protocol.DispatchedYes {
		r.actions++
	}
	if row != "" {
		h := r.took[row]
		if h == nil {
			h = hdrhistogram.New(lowest, highest, digits)
			r.took[row] = h
		}
		// A value out of bounds is clipped: it says "over half an hour".
		_ = h.RecordValue(min(max(took.Microseconds(), lowest), highest))
	}
	if res.Status == protocol.StatusOK || p == repeated {
		return
	}
	counts := r.errors
	if p == provoked {
		counts = r.provoked
	}
	counts[client.Code(client.Err(res))]++
}

// failed records a request without an answer. What the client cannot name is
// the fleet's not answering. It counts in the warm-up, too.
func (r *recorder) failed(err error) {
	code := client.Code(err)
	if code == "" {
		code = protocol.CodeUnavailable
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors[code]++
}

// sofar is for the progress line.
func (r *recorder) sofar() (requests, actions, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed = 0
	for _, n := range r.errors {
		failed += n
	}
	return r.requests, r.actions, failed
}
