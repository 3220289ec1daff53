package client

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

// Evidence tells what was stored of the owner's actions, oldest first: with after 0
// the newest limit events, else those that follow it. Limit 0 means 20. What pages
// said, and secrets in URLs, are not in them.
func (o *Owner) Evidence(ctx context.Context, after protocol.Seq, limit int) (*protocol.EvidenceReply, error) {
	if err := checkOwner(o.id); err != nil {
		return nil, err
	}
	var reply protocol.EvidenceReply
	query := protocol.EvidenceQuery{V: protocol.Version, After: after, Limit: limit}
	if err := o.client.request(ctx, protocol.AgentServiceSubject(protocol.ServiceEvidence, o.id), query, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	return &reply, nil
}

const (
	// watchSweep repairs pushes that were lost with a connection.
	watchSweep = 5 * time.Second
	// watchAgain: a replica that is read may be some milliseconds behind the push.
	watchAgain = 200 * time.Millisecond
)

// Watch tells the owner's events as they are stored, in their order and without
// gaps, until ctx ends or tell fails. With after 0 it begins with what comes next.
// A push only says that there is something: what is told was read from the fleet,
// so a neighbour's noise on the subject is never told.
func (o *Owner) Watch(ctx context.Context, after protocol.Seq, tell func(protocol.EvidenceEntry) error) error {
	if err := checkOwner(o.id); err != nil {
		return err
	}
	pushed := make(chan struct{}, 1)
	sub, err := o.client.nc.Subscribe(protocol.AgentEventSubject(o.id), func(*nats.Msg) { poke(pushed) })
	if err != nil {
		return protocol.Errorf(protocol.CodeUnavailable, "%v", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only when the connection is closed
	if after == 0 {
		if after, err = o.newest(ctx); err != nil {
			return err
		}
	}
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pushed:
			next.Reset(watchAgain)
		case <-next.C:
			next.Reset(watchSweep)
		}
		if after, err = o.catchUp(ctx, after, tell); err != nil {
			return err
		}
	}
}

func (o *Owner) newest(ctx context.Context) (protocol.Seq, error) {
	reply, err := o.Evidence(ctx, 0, 1)
	if err != nil || len(reply.Events) == 0 {
		return 0, err
	}
	return reply.Events[0].Seq, nil
}

// catchUp tells what was stored after a sequence, and returns the last one. A fleet
// that cannot be asked now is asked again later.
func (o *Owner) catchUp(ctx context.Context, after protocol.Seq, tell func(protocol.EvidenceEntry) error) (protocol.Seq, error) {
	for {
		reply, err := o.Evidence(ctx, after, protocol.MaxEvidence)
		if err != nil {
			if ctx.Err() != nil {
				return after, context.Cause(ctx)
			}
			return after, nil
		}
		for _, e := range reply.Events {
			if err := tell(e); err != nil {
				return after, err
			}
			after = e.Seq
		}
		if !reply.More {
			return after, nil
		}
	}
}
