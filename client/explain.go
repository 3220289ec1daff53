package client

import (
	"context"

	"github.com/browserfleet/browserfleet/protocol"
)

// Explain tells why an owner is where it is, or why it waits. The leader of the
// owner's shard answers; while there is none, nobody does.
func (o *Operator) Explain(ctx context.Context, key protocol.OwnerKey) (*protocol.ExplainReply, error) {
	query := protocol.OwnerQuery{V: protocol.Version, Key: key}
	if err := query.Check(); err != nil {
		return nil, err
	}
	var reply protocol.ExplainReply
	if err := o.request(ctx, protocol.OpsSubject(protocol.OpsExplain), query, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	return &reply, nil
}
