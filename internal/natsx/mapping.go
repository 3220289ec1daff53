package natsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// probes of the shared shards. Two numbers of shards that agree on the hash
	// of 64 names are the same number.
	probes = 64
	// noStream is the name of no stream.
	noStream = "BF_NONE"
)

// VerifyMapping asks the server in which shard it would store requests, and
// compares that with shards: its configuration has the number of shards a second
// time. It needs the coordinator's rights.
func (c *Conn) VerifyMapping(ctx context.Context, shards protocol.ShardMap) error {
	for n := range probes {
		key := protocol.OwnerKey{Tenant: protocol.ProbeTenant, Owner: protocol.Owner(fmt.Sprintf("p%d", n))}
		if err := c.verifyShard(ctx, key, shards); err != nil {
			return err
		}
	}
	for tenant := range shards.Dedicated {
		key := protocol.OwnerKey{Tenant: tenant, Owner: protocol.Owner(protocol.ProbeTenant)}
		if err := c.verifyShard(ctx, key, shards); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) verifyShard(ctx context.Context, key protocol.OwnerKey, shards protocol.ShardMap) error {
	const again = "write its configuration again, with `browserfleet nats config` and these shards"
	stream, err := c.wouldStore(ctx, protocol.ProbeSubject(key))
	switch want := protocol.ActStream(shards.Of(key)); {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("the server stores requests of %s nowhere, want %s (shards %q): %s", key, want, shards, again)
	case err != nil:
		return fmt.Errorf("ask where requests of %s are stored: %w", key, err)
	case stream != want:
		return fmt.Errorf("the server stores requests of %s in %s, want %s (shards %q): %s", key, stream, want, shards, again)
	}
	return nil
}

// wouldStore is the stream that would store a message of this subject. The
// message names another stream, so it is refused, and the refusal says by whom.
func (c *Conn) wouldStore(ctx context.Context, subject string) (string, error) {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	m := &nats.Msg{Subject: subject, Header: nats.Header{jetstream.ExpectedStreamHeader: {noStream}}}
	reply, err := c.NC.RequestMsgWithContext(ctx, m)
	if err != nil {
		return "", requestFailed(err, false)
	}
	var ack struct {
		apiReply
		Stream string `json:"stream"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return "", fmt.Errorf("unreadable answer: %w", err)
	}
	if ack.Error == nil || ack.Error.ErrorCode != codeStreamMismatch {
		return "", fmt.Errorf("unexpected answer %.200q", reply.Data)
	}
	return ack.Stream, nil
}
