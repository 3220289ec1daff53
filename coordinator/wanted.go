package coordinator

import (
	"cmp"
	"context"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/protocol"
)

// askPlace spaces questions for the place in the line.
const askPlace = time.Second

// patient waits for an owner to open that has nothing queued: an agent that
// acquires it, or a person who takes it over. It says so in the owner's record,
// and the shard's leader puts the owner into the line like any other; whoever
// leads next reads the same. The word is over with the wait's deadline, when the
// lease is granted, or when it is given up.
type patient struct {
	as protocol.LeaseID
	// wrote: the record has said so.
	wrote    bool
	asked    time.Time
	position int
}

// step sees to it that the owner is in the line. next is its record, with what
// is asked of it; no worker holds it.
func (p *patient) step(ctx context.Context, s *shard, key protocol.OwnerKey, next *protocol.OwnerRecord, fence protocol.Seq) (protocol.AcquireReply, bool) {
	switch {
	case next.State == protocol.RecordMoving || next.State == protocol.RecordAnswering:
		return refusal(wait("the owner is on its way to a worker")), false
	case !p.wrote:
		if err := p.write(ctx, next); err != nil {
			return refusal(err), true
		}
		if err := s.rewrite(ctx, key, next, fence); err != nil {
			return unreached(err), false
		}
		p.wrote, p.asked = true, time.Now()
	case !next.Wants(p.as):
		return refusal(protocol.Errorf(protocol.CodeCancelled, "the wait for the environment was withdrawn")), true
	}
	if time.Since(p.asked) > askPlace {
		p.asked = time.Now()
		p.position = cmp.Or(s.whereInLine(ctx, key), p.position)
	}
	err := protocol.Errorf(protocol.CodeNoCapacity, "no worker could take the environment in the time that was given")
	err.Position, err.RetryAfterMS = p.position, decide.QuotaRetry.Milliseconds()
	return refusal(err), false
}

func (p *patient) write(ctx context.Context, next *protocol.OwnerRecord) error {
	until, bounded := ctx.Deadline()
	if !bounded {
		until = time.Now().Add(protocol.DefaultLifeWait)
	}
	if err := next.Want(p.as, until, time.Now()); err != nil {
		return err
	}
	return next.Move(protocol.RecordAcquire, time.Now())
}

// whereInLine asks the loop, if this coordinator leads the shard: 0 is not known.
func (s *shard) whereInLine(ctx context.Context, key protocol.OwnerKey) int {
	ctx, cancel := context.WithTimeout(ctx, askPlace)
	defer cancel()
	known, ok := s.ask(ctx, key)
	if !ok {
		return 0
	}
	return known.position
}

// ask is a question to the shard's loop; false where this coordinator does not
// lead it.
func (s *shard) ask(ctx context.Context, key protocol.OwnerKey) (snapshot, bool) {
	if !s.c.peers.leading(s.id) {
		return snapshot{}, false
	}
	question := ask{key, make(chan snapshot, 1)}
	select {
	case s.asks <- question:
	case <-ctx.Done():
		return snapshot{}, false
	}
	select {
	case known := <-question.reply:
		return known, true
	case <-ctx.Done():
		return snapshot{}, false
	}
}
