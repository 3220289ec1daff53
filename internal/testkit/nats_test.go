package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestNATSKeepsWhatIsStoredAcrossARestart(t *testing.T) {
	t.Parallel()
	s := NATS(t, WithShards(2), WithTenants(deploy.Tenant{Name: "acme", Agents: []protocol.Owner{"o"}}))
	ctx, cancel := context.WithTimeout(context.Background(), natsWait)
	defer cancel()
	agent := s.As(t, deploy.AgentUser("acme", "o"))
	if _, err := agent.Publish(ctx, "act.o.q", []byte("kept"), nil); err != nil {
		t.Fatal(err)
	}
	url := s.URL
	s.Restart(t)
	if s.URL != url {
		t.Errorf("the server moved from %s to %s", url, s.URL)
	}
	shard := protocol.ShardOf("o", 2)
	subject := protocol.ActSubject(shard, protocol.OwnerKey{Tenant: "acme", Owner: "o"}, protocol.LaneQueue)
	for name, c := range map[string]interface {
		Verify(context.Context, protocol.ShardMap) error
	}{"coordinator": s.Fleet(t), "worker": s.Worker(t), "operator": s.Operator(t)} {
		if err := c.Verify(ctx, protocol.Shards(2)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := s.Worker(t).LeaderLast(ctx, protocol.ActStream(shard), subject)
	if err != nil || string(m.Data) != "kept" {
		t.Errorf("got %q, %v", m.Data, err)
	}
	// A connection from before the restart comes back by itself.
	for deadline := time.Now().Add(natsWait); ; {
		if _, err := agent.Publish(ctx, "act.o.q", nil, nil); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestTwoNATSServersAreStrangers(t *testing.T) {
	t.Parallel()
	a, b := NATS(t), NATS(t)
	if a.URL == b.URL {
		t.Errorf("both listen on %s", a.URL)
	}
	if a.Tenant(t, "a").Opts.Password == b.Tenant(t, "a").Opts.Password {
		t.Error("they share a password")
	}
	a.Stop(t)
	a.Stop(t)
}

func TestARawClientHearsWhatTheServerSays(t *testing.T) {
	t.Parallel()
	s := NATS(t)
	if said := s.RawPublish(t, deploy.AgentUser("a", "one"), "act.one.q", "", "", "x"); said != "" {
		t.Errorf("an allowed publish: %q", said)
	}
	if said := s.RawPublish(t, deploy.AgentUser("a", "one"), "act.two.q", "", "", "x"); said == "" {
		t.Error("a forbidden publish: nothing was said")
	}
	if said := s.RawSubscribe(t, deploy.AgentUser("a", "one"), ">"); said == "" {
		t.Error("a forbidden subscription: nothing was said")
	}
}
