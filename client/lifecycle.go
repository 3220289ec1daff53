package client

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// Acquire opens the owner's environment, wherever it is, and returns with a
// lease on it. It is optional: the first action does the same without a lease.
// A lease keeps the environment from hibernating until it is released or has not
// been used for its time to live; any action of the owner is a use of it.
//
// The zero query asks for the owner as it is. When ctx ends, the wait is
// withdrawn, and with it an environment that nobody else wants.
func (o *Owner) Acquire(ctx context.Context, q protocol.AcquireQuery) (*protocol.AcquireReply, error) {
	if err := checkOwner(o.id); err != nil {
		return nil, err
	}
	q.V = protocol.Version
	if q.Lease == "" {
		q.Lease = protocol.LeaseID("l-" + strings.ToLower(rand.Text()))
	}
	if deadline, ok := ctx.Deadline(); ok && q.TimeoutMS == 0 {
		q.TimeoutMS = max(1, time.Until(deadline).Milliseconds())
	}
	var reply protocol.AcquireReply
	err := o.client.requestWithin(ctx, q.Wait()+serviceTimeout, protocol.AgentServiceSubject(protocol.ServiceAcquire, o.id), q, &reply)
	if err != nil {
		o.withdraw(q.Lease)
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	if reply.Lease == nil {
		return nil, protocol.Errorf(protocol.CodeInternal, "fleet.acquire answered without a lease")
	}
	return &reply, nil
}

// withdraw gives up a lease that is not known to exist, without waiting.
func (o *Owner) withdraw(id protocol.LeaseID) {
	data, err := encode(protocol.ReleaseQuery{V: protocol.Version, Lease: id})
	if err == nil {
		err = o.client.nc.Publish(protocol.AgentServiceSubject(protocol.ServiceRelease, o.id), data)
	}
	if err != nil {
		o.client.log.Debug("cannot withdraw an acquire; its lease expires", "error", err)
	}
}

// Release gives a lease up. After the last one the environment hibernates as
// soon as what was sent is answered. Releasing twice is harmless.
func (o *Owner) Release(ctx context.Context, id protocol.LeaseID) error {
	return o.life(ctx, protocol.ServiceRelease, serviceTimeout, protocol.ReleaseQuery{V: protocol.Version, Lease: id})
}

// Close ends all leases and the environment. It returns when what was sent is
// answered, the state is saved (that of an ephemeral one is dropped) and the
// browser is gone. The next action or Acquire opens it again.
func (o *Owner) Close(ctx context.Context) error {
	return o.life(ctx, protocol.ServiceClose, protocol.DefaultLifeWait+serviceTimeout, nil)
}

// Delete removes the owner's state for good. The id cannot be used again.
func (o *Owner) Delete(ctx context.Context) error {
	return o.life(ctx, protocol.ServiceDelete, protocol.DefaultLifeWait+serviceTimeout, nil)
}

// Reset brings the owner back after it has failed.
func (o *Owner) Reset(ctx context.Context) error {
	return o.life(ctx, protocol.ServiceReset, serviceTimeout, nil)
}

func (o *Owner) life(ctx context.Context, verb string, limit time.Duration, body any) error {
	if err := checkOwner(o.id); err != nil {
		return err
	}
	return yes(ctx, o.client.link, limit, protocol.AgentServiceSubject(verb, o.id), body)
}

// yes asks what is answered with yes, or why not.
func yes(ctx context.Context, l *link, limit time.Duration, subject string, body any) error {
	var reply protocol.ControlReply
	if err := l.requestWithin(ctx, limit, subject, body, &reply); err != nil {
		return err
	}
	if reply.Error != nil {
		return reply.Error
	}
	return nil
}

// Reset brings an owner back after it has failed, at once.
func (o *Operator) Reset(ctx context.Context, key protocol.OwnerKey) error {
	return yes(ctx, o.link, serviceTimeout, protocol.OpsSubject(protocol.OpsReset), protocol.OwnerQuery{V: protocol.Version, Key: key})
}

// TakeControl gives the environment to a person until it is given back, or for
// so long (0: ten minutes). It opens the environment if need be. An action that
// runs ends first; the others wait within their queue deadlines. The same holder
// may take it again, which renews.
func (o *Operator) TakeControl(ctx context.Context, key protocol.OwnerKey, holder string, ttl time.Duration) error {
	return o.control(ctx, protocol.ControlQuery{Key: key, Op: protocol.ControlTake, Holder: holder, TTLMS: ttl.Milliseconds()})
}

// GiveControl hands the environment back to its agent.
func (o *Operator) GiveControl(ctx context.Context, key protocol.OwnerKey, holder string) error {
	return o.control(ctx, protocol.ControlQuery{Key: key, Op: protocol.ControlGive, Holder: holder})
}

func (o *Operator) control(ctx context.Context, q protocol.ControlQuery) error {
	q.V = protocol.Version
	return yes(ctx, o.link, protocol.DefaultLifeWait+serviceTimeout, protocol.OpsSubject(protocol.OpsControl), q)
}
