package client

import (
	"context"
	"fmt"

	"github.com/browserfleet/browserfleet/protocol"
)

// Operator is a connection of a user of the fleet's own account.
type Operator struct{ *link }

// ConnectOperator connects as Connect does.
func ConnectOperator(ctx context.Context, o Options) (*Operator, error) {
	l, err := dial(ctx, o, func() {})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &Operator{l}, nil
}

// Close ends the connection.
func (o *Operator) Close() { o.link.close() }

// Owners tells the state of all tenants' owners.
func (o *Operator) Owners(ctx context.Context) (*protocol.OwnersReply, error) {
	return listOwners(ctx, o.link, protocol.OpsSubject(protocol.OpsOwners))
}

// Workers tells the state of the workers.
func (o *Operator) Workers(ctx context.Context) ([]protocol.WorkerInfo, error) {
	var reply protocol.WorkersReply
	if err := o.request(ctx, protocol.OpsSubject(protocol.OpsWorkers), nil, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	return reply.Workers, nil
}

// Drain asks a worker to hand over its owners and stop. It returns when the
// worker has agreed; Workers tells how far it is.
func (o *Operator) Drain(ctx context.Context, id protocol.WorkerID) error {
	if _, err := protocol.ParseWorker(string(id)); err != nil {
		return protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)
	}
	var reply protocol.ControlReply
	query := protocol.DrainQuery{V: protocol.Version, Worker: id}
	if err := o.request(ctx, protocol.OpsSubject(protocol.OpsDrain), query, &reply); err != nil {
		return err
	}
	if reply.Error != nil {
		return reply.Error
	}
	return nil
}
