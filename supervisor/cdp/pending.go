package cdp

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// abandonAfter is when a call that nobody waits for leaves the table. It is
// longer than any deadline that a caller may reasonably have.
const abandonAfter = 5 * time.Minute

// Pending is one command that was accepted for sending.
type Pending struct {
	conn    *Conn
	id      int64
	session SessionID
	method  string
	params  jsonv2.Value
	queued  time.Time
	done    chan struct{}
	ordered bool // its result comes as an event

	// Set under conn.mu; result and err are read only after done is closed.
	written bool
	settled bool
	result  jsonv2.Value
	err     error
}

// Method is the command's name.
func (p *Pending) Method() string { return p.method }

// Done is closed when the call has a reply or has failed, so that a caller can
// race it against other events. Wait then returns at once.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait returns the outcome and decodes the result into result, which may be nil.
// Without a deadline in ctx it waits for Options.CallTimeout. When ctx ends, the
// call leaves the table; a command that was not yet written is never written.
func (p *Pending) Wait(ctx context.Context, result any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.conn.options.CallTimeout)
		defer cancel()
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.conn.abandon(p, context.Cause(ctx))
	}
	if p.err != nil {
		return p.err
	}
	return decode(p.result, result)
}

// Forget drops the call; a reply that comes later is ignored. The command itself
// is still written: it was asked for, only nobody wants the answer.
func (p *Pending) Forget() { p.conn.forget(p) }
