package loadtest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/loadtest/check"
	"github.com/browserfleet/browserfleet/protocol"
)

// agent works for one owner. One goroutine uses it.
type agent struct {
	key    protocol.OwnerKey
	owner  *client.Owner
	raw    *natsx.Conn // publishes what the client refuses to
	ledger *check.Ledger
	rec    *recorder
	site   site
	rng    *rand.Rand
	wait   time.Duration

	// shown is the newest observation whose refs hold; nil: look first.
	shown *protocol.Observation
	// last is the newest answered request, for resends.
	last *protocol.Request
	// stumbled: a request got no answer. The next step waits a little, so that a
	// fleet that is away is not asked ten thousand times a second.
	stumbled bool
}

const (
	// stumblePause is that little.
	stumblePause = 200 * time.Millisecond
	// ackTimeout bounds a raw publish; an election takes up to nine seconds.
	ackTimeout = 10 * time.Second
)

// run takes steps until it took enough of them, or done is closed. A step that
// was begun is finished.
func (a *agent) run(ctx context.Context, d *deck, limit int, gap time.Duration, done <-chan struct{}) {
	pace := newPace(gap)
	defer pace.stop()
	for n := 0; limit == 0 || n < limit; n++ {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-pace.next():
		}
		steps[d.draw(a.rng)](a, ctx)
		if a.stumbled {
			a.pause(done)
		}
	}
}

// pause waits before the next step.
func (a *agent) pause(done <-chan struct{}) {
	a.stumbled = false
	t := time.NewTimer(stumblePause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
}

// fail records a request without an answer.
func (a *agent) fail(err error) {
	a.rec.failed(err)
	a.shown, a.stumbled = nil, true
}

// pace spaces steps.
type pace struct {
	ticker *time.Ticker
	now    chan time.Time // always ready
}

func newPace(gap time.Duration) *pace {
	if gap > 0 {
		return &pace{ticker: time.NewTicker(gap)}
	}
	p := &pace{now: make(chan time.Time)}
	close(p.now)
	return p
}

func (p *pace) next() <-chan time.Time {
	if p.ticker != nil {
		return p.ticker.C
	}
	return p.now
}

func (p *pace) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}

// do sends a request through the client and waits for its answer.
func (a *agent) do(ctx context.Context, row string, kind protocol.Kind, args protocol.Args, how ...client.Option) *protocol.Result {
	req, err := protocol.NewRequest(kind, args, time.Now())
	if err != nil {
		a.fail(err)
		return nil
	}
	for _, change := range how {
		change(&req)
	}
	res := a.send(ctx, row, req, asked)
	if res != nil {
		a.last = &req
	}
	return res
}

// send runs a request and records what came of it.
func (a *agent) send(ctx context.Context, row string, req protocol.Request, p purpose) *protocol.Result {
	return a.heard(row, a.ask(ctx, req), p)
}

// answer is what came of one request.
type answer struct {
	res  *protocol.Result
	err  error
	took time.Duration
}

// ask runs a request. It touches nothing of the agent, so several may run.
func (a *agent) ask(ctx context.Context, req protocol.Request) answer {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	res, err := a.owner.Run(ctx, req)
	return answer{res, err, time.Since(begun)}
}

// heard records an answer, or that there is none.
func (a *agent) heard(row string, got answer, p purpose) *protocol.Result {
	if got.err != nil {
		a.fail(got.err)
		return nil
	}
	res := got.res
	a.ledger.Told(res)
	a.rec.answered(row, got.took, res, p)
	switch {
	case res.Lane == protocol.LaneControl:
	case res.Observation != nil:
		a.shown = res.Observation
	case res.Error != nil && !res.Error.RefsHold:
		a.shown = nil
	}
	return res
}

// publish stores a body as it is, without waiting for an answer. It returns the
// name under which it will be answered, or nothing where it was not stored.
func (a *agent) publish(ctx context.Context, lane protocol.Lane, body []byte) (protocol.RequestID, bool) {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	seq, err := a.raw.Publish(ctx, protocol.AgentActSubject(a.key.Owner, lane), body, nil)
	if err != nil {
		a.fail(err)
		return "", false
	}
	return a.ledger.Stored(a.key, lane, seq, body), true
}

// await waits for the answer to something that was published: the client asks
// fleet.result first, since it may have been answered already.
func (a *agent) await(ctx context.Context, row string, begun time.Time, id protocol.RequestID, p purpose) *protocol.Result {
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	res, err := a.owner.Reattach(ctx, id)
	return a.heard(row, answer{res, err, time.Since(begun)}, p)
}
