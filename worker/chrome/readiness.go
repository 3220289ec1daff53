package chrome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/supervisor"
)

// unreadyAfter is how many starts in a row must fail: one may be an environment
// that was given up, or a moment without memory.
const unreadyAfter = 3

// errNotTried is why a launcher is not ready at first.
var errNotTried = errors.New("no browser has been opened yet")

// readiness is whether browsers can be opened here. Only a browser that was
// opened, with a page that computed something, is a proof.
type readiness struct {
	log *slog.Logger
	// doubt asks RunPool for a proof.
	doubt chan struct{}

	mu     sync.Mutex // guards all below
	failed int        // starts in a row
	why    error      // nil: ready
}

func newReadiness(log *slog.Logger) *readiness {
	return &readiness{log: log, doubt: make(chan struct{}, 1), why: errNotTried}
}

// Ready is nil if a browser can be opened, as far as is known, and otherwise why
// not.
func (l *Launcher) Ready() error {
	l.ready.mu.Lock()
	defer l.ready.mu.Unlock()
	return l.ready.why
}

func (r *readiness) succeeded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = 0
	if r.why != nil {
		r.why = nil
		r.log.Info("ready: a browser was opened and its page answered")
	}
}

// fails counts a start that failed. What the caller gave up says nothing.
func (r *readiness) fails(ctx context.Context, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if r.failed < unreadyAfter && r.why == nil {
		return
	}
	if r.why == nil {
		r.log.Error("not ready: browsers cannot be opened", "failed", r.failed, "error", err)
	}
	r.why = fmt.Errorf("%d starts of a browser failed in a row; the last: %w", r.failed, err)
	select {
	case r.doubt <- struct{}{}:
	default:
	}
}

// probeTimeout bounds the first answer of a page that was just opened.
const probeTimeout = 10 * time.Second

// errProbe: a page that cannot compute is no page.
var errProbe = errors.New("the page of a new browser does not compute")

// probe lets the page compute something in the world that observations use.
func probe(ctx context.Context, page *supervisor.Page) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	world, err := page.World(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errProbe, err)
	}
	var reply struct {
		Result struct {
			Value float64 `json:"value"`
		} `json:"result"`
	}
	params := map[string]any{"expression": "6*7", "uniqueContextId": world.UniqueID, "returnByValue": true}
	if err := world.Session.Call(ctx, "Runtime.evaluate", params, &reply); err != nil {
		return fmt.Errorf("%w: %w", errProbe, err)
	}
	if reply.Result.Value != 42 {
		return fmt.Errorf("%w: 6*7 is %v", errProbe, reply.Result.Value)
	}
	return nil
}
