package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// askFirst and askMost space the questions about a request without a result.
	askFirst = 2 * time.Second
	askMost  = 15 * time.Second
	// hintGap spaces the questions that hints cause: anybody of the tenant can
	// cause hints.
	hintGap = time.Second
	// overhead is what a request may take beside queue deadline and budget:
	// opening or moving its environment, and the answer of a replaced holder.
	overhead = 2 * time.Minute
)

// Option changes a request before it is sent.
type Option func(*protocol.Request)

// WithID sends the request under an id of the caller's: the same id again is
// answered with the stored result. Make it with protocol.NewRequestID.
func WithID(id protocol.RequestID) Option { return func(r *protocol.Request) { r.ID = id } }

// WithQueueDeadline bounds how long the request may wait for its turn.
func WithQueueDeadline(d time.Duration) Option {
	return func(r *protocol.Request) { r.QueueDeadlineMS = d.Milliseconds() }
}

// WithBudget bounds how long the request may run.
func WithBudget(d time.Duration) Option {
	return func(r *protocol.Request) { r.BudgetMS = d.Milliseconds() }
}

// WithObserve shapes the observation of the result.
func WithObserve(o protocol.ObserveOptions) Option {
	return func(r *protocol.Request) { r.Observe = &o }
}

// Do sends a request of an owner and waits for its result. See the package
// comment for what comes back.
func (c *Client) Do(ctx context.Context, owner protocol.Owner, kind protocol.Kind, args protocol.Args, opts ...Option) (*protocol.Result, error) {
	return c.Owner(owner).Do(ctx, kind, args, opts...)
}

// Reattach waits for the result of a request that was sent earlier, by anybody.
func (c *Client) Reattach(ctx context.Context, owner protocol.Owner, id protocol.RequestID) (*protocol.Result, error) {
	return c.Owner(owner).Reattach(ctx, id)
}

// Cancel asks that a request not run, or stop. Its result tells what was
// cancelled; the cancelled request gets its own.
func (c *Client) Cancel(ctx context.Context, owner protocol.Owner, id protocol.RequestID) (*protocol.Result, error) {
	return c.Owner(owner).Cancel(ctx, id)
}

// Do sends a request and waits for its result.
func (o *Owner) Do(ctx context.Context, kind protocol.Kind, args protocol.Args, opts ...Option) (*protocol.Result, error) {
	req, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		return nil, &NoResult{Request: req.ID, Err: protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)}
	}
	for _, opt := range opts {
		opt(&req)
	}
	return o.Run(ctx, req)
}

// Run sends a request that the caller made and waits for its result.
func (o *Owner) Run(ctx context.Context, req protocol.Request) (*protocol.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, req.QueueDeadline()+req.Budget()+overhead, errTooLong)
	defer cancel()
	ctx, span := startSpan(ctx, "request "+string(req.Kind))
	defer span.End()
	span.SetAttributes(attribute.String("browserfleet.owner", string(o.id)), attribute.String("browserfleet.request", string(req.ID)))

	res, err := o.run(ctx, req)
	switch {
	case err != nil:
		span.SetStatus(codes.Error, string(Code(err)))
	case res.Status != protocol.StatusOK:
		span.SetStatus(codes.Error, string(Code(Err(res))))
	}
	return res, err
}

var errTooLong = fmt.Errorf("the fleet took longer than it may: %w", context.DeadlineExceeded)

func (o *Owner) run(ctx context.Context, req protocol.Request) (*protocol.Result, error) {
	e := &errand{owner: o, id: req.ID, lane: protocol.LaneQueue, header: traceHeader(ctx)}
	if info, known := req.Kind.Lookup(); known {
		e.lane = info.Lane
	}
	if _, _, err := protocol.ParseRequestID(string(req.ID)); err != nil {
		// Without an id of its own a request cannot be waited for, nor sent again.
		return nil, &NoResult{Request: req.ID, Err: protocol.Errorf(protocol.CodeInvalidRequest, "%v", err)}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, &NoResult{Request: req.ID, Err: protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)}
	}
	e.body = body
	if err := e.listen(); err != nil {
		return nil, err
	}
	defer o.leave(e.id, e.waiter)
	if err := e.publish(ctx); err != nil {
		return nil, err
	}
	return e.await(ctx)
}

// Reattach waits for the result of a request that was sent earlier.
func (o *Owner) Reattach(ctx context.Context, id protocol.RequestID) (*protocol.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, protocol.MaxQueueDeadline+protocol.MaxRunBudget+overhead, errTooLong)
	defer cancel()
	if !protocol.ValidToken(string(id), protocol.MaxIDLen) {
		return nil, &NoResult{Request: id, Err: protocol.Errorf(protocol.CodeInvalidArgument, "request: want the id of a request")}
	}
	e := &errand{owner: o, id: id}
	if err := e.listen(); err != nil {
		return nil, err
	}
	defer o.leave(e.id, e.waiter)
	poke(e.waiter.nudge) // it may be answered already: ask at once
	return e.await(ctx)
}

// listen begins to hear of the result.
func (e *errand) listen() error {
	if err := checkOwner(e.owner.id); err != nil {
		return &NoResult{Request: e.id, Err: protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)}
	}
	w, err := e.owner.listen(e.id)
	if err != nil {
		return e.fail(protocol.CodeUnavailable, err, "cannot listen for results: %v", err)
	}
	e.waiter = w
	return nil
}

// await waits for the result, and asks for it when it does not come.
func (e *errand) await(ctx context.Context) (*protocol.Result, error) {
	gap := askFirst
	ask := time.NewTimer(gap)
	defer ask.Stop()
	var asked time.Time
	for {
		select {
		case res := <-e.waiter.result:
			return res, nil
		case <-ctx.Done():
			return nil, ended(ctx, e.id, protocol.DispatchedUnknown)
		case <-e.waiter.nudge:
			if wait := hintGap - time.Since(asked); wait > 0 {
				ask.Reset(wait)
				continue
			}
		case <-ask.C:
			gap = min(2*gap, askMost)
		}
		asked = time.Now()
		res, err := e.ask(ctx)
		if res != nil || err != nil {
			return res, err
		}
		ask.Reset(gap)
	}
}

// ask asks what became of the request; nil and nil: go on waiting.
func (e *errand) ask(ctx context.Context) (*protocol.Result, error) {
	reply, err := e.owner.client.Fate(ctx, e.owner.id, e.id)
	if err != nil {
		e.owner.client.log.Debug("fleet.result did not tell", "request", e.id, "error", err)
		return nil, nil
	}
	switch reply.Fate {
	case protocol.FateAnswered:
		return reply.Result, nil
	case protocol.FateTooOld:
		why := "the result is not kept any more, or was never made"
		if e.body == nil { // somebody asks by an id, and may have the wrong owner
			why = fmt.Sprintf("owner %s has no result of request %s: it is not kept any more, was never made, or is another owner's", e.owner.id, e.id)
		}
		return nil, &NoResult{Request: e.id, Err: protocol.Errorf(protocol.CodeRequestTooOld, "%s", why).
			WithDispatched(protocol.DispatchedUnknown)}
	case protocol.FateNotStored:
		if e.body == nil {
			return nil, &NoResult{Request: e.id, Err: protocol.Errorf(protocol.CodeNotFound, "owner %s has no request %s: it was never stored, or it is another owner's", e.owner.id, e.id)}
		}
		e.doubted = false
		return nil, e.publish(ctx)
	}
	return nil, nil
}
