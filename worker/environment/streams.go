package environment

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// StreamMade tells the environment when its shard's stream of requests was made,
// as somebody was told: another time than it knows makes it look.
func (e *Environment) StreamMade(created time.Time) {
	if known := e.Status().Stream; known.IsZero() || known.Equal(created) {
		return
	}
	select {
	case e.streams <- struct{}{}:
	default:
	}
}

// onStreamReplaced goes on with another stream of requests: somebody deleted the
// former one, with what was queued. The browser stays, and so does the ring of
// finished ids; the queues are read from their beginning. What runs is answered
// under the name that it has.
func (e *Environment) onStreamReplaced(ctx context.Context) error {
	var running []protocol.RequestID
	if e.running != nil {
		running = append(running, e.running.admitted.ID)
	}
	if in := e.holder.Record().InflightC; e.replying && in != nil {
		running = append(running, in.Request)
	}
	alarm, err := e.holder.Resettle(ctx, running...)
	switch {
	case err != nil && ctx.Err() == nil && !fenced(err):
		e.log.Warn("cannot look at the stream of requests", "error", err)
		return nil // it is told again
	case err != nil:
		return err
	case alarm == nil:
		return nil
	}
	e.log.Error("the record does not fit its stream", "error", alarm)
	e.queue, e.control = e.holder.NewLane(protocol.LaneQueue), e.holder.NewLane(protocol.LaneControl)
	e.orphan, e.orphanC = orphanIn(e.holder.Record(), protocol.LaneQueue), orphanIn(e.holder.Record(), protocol.LaneControl)
	for _, p := range []**protocol.Inflight{&e.orphan, &e.orphanC} {
		if *p != nil && slices.Contains(running, (*p).Request) {
			*p = nil
		}
	}
	e.restAfter = 0
	if e.restored == nil {
		// The agent knows of the last restore, but maybe since after this stream was
		// made: what waits in it may mean an earlier page. Nothing tells, so all that
		// is there now counts as sent before.
		e.barrier = math.MaxUint64
		e.setBarrier(ctx)
	}
	e.publishStatus()
	return nil
}
