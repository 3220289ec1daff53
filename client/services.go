package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// serviceTimeout bounds one question to a coordinator.
const serviceTimeout = 4 * time.Second

// Fate asks what became of a request.
func (c *Client) Fate(ctx context.Context, owner protocol.Owner, id protocol.RequestID) (*protocol.ResultReply, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	var reply protocol.ResultReply
	query := protocol.ResultQuery{V: protocol.Version, Request: id}
	if err := c.request(ctx, protocol.AgentServiceSubject(protocol.ServiceResult, owner), query, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	if reply.Fate == protocol.FateAnswered && !genuine(reply.Result, owner, id) {
		return nil, protocol.Errorf(protocol.CodeInternal, "fleet.result answered with another request's result")
	}
	return &reply, nil
}

// Describe tells the state of one owner.
func (c *Client) Describe(ctx context.Context, owner protocol.Owner) (*protocol.OwnerInfo, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	var reply protocol.OwnersReply
	if err := c.request(ctx, protocol.AgentServiceSubject(protocol.ServiceDescribe, owner), nil, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	if len(reply.Owners) != 1 {
		return nil, protocol.Errorf(protocol.CodeInternal, "fleet.describe answered with %d owners", len(reply.Owners))
	}
	return &reply.Owners[0], nil
}

// List tells the state of the tenant's owners.
func (c *Client) List(ctx context.Context) (*protocol.OwnersReply, error) {
	return listOwners(ctx, c.link, protocol.AgentServiceSubject(protocol.ServiceList, ""))
}

func listOwners(ctx context.Context, l *link, subject string) (*protocol.OwnersReply, error) {
	var reply protocol.OwnersReply
	if err := l.request(ctx, subject, nil, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	return &reply, nil
}

// checkOwner keeps what is not an id out of subjects.
func checkOwner(owner protocol.Owner) error {
	if _, err := protocol.ParseOwner(string(owner)); err != nil {
		return protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)
	}
	return nil
}

func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a question: %w", err)
	}
	return data, nil
}

func decode(data []byte, out any) error {
	if err := json.Unmarshal(data, out); err != nil {
		return protocol.Errorf(protocol.CodeInternal, "the answer cannot be read: %v", err)
	}
	return nil
}
