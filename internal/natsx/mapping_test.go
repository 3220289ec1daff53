package natsx_test

import (
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func shardMap(t *testing.T, text string) protocol.ShardMap {
	t.Helper()
	m, err := protocol.ParseShards(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheServersMappingIsVerifiedAndStoresNothing(t *testing.T) {
	t.Parallel()
	m := shardMap(t, "4,b=3")
	s := testkit.NATS(t, testkit.WithShardMap(m))
	c := s.Fleet(t)
	if err := c.VerifyMapping(within(t), m); err != nil {
		t.Fatal(err)
	}
	for shard := range m.Total {
		counts, err := c.SubjectCounts(within(t), protocol.ActStream(protocol.Shard(shard)), ">")
		if err != nil || len(counts) > 0 {
			t.Errorf("the question was stored: %v %v", counts, err)
		}
	}
	for text, why := range map[string]string{
		"2":         "stores requests of _probe/",
		"4":         "stores requests of _probe/",
		"2,b=1":     "stores requests of _probe/",
		"5,b=3,a=4": "of a/_probe", // the role may not even ask
	} {
		if err := s.Operator(t).VerifyMapping(within(t), shardMap(t, text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("shards %q: %v", text, err)
		}
	}
}

// A configuration without the line cannot be asked, and so is not believed.
func TestAServerThatMapsNothingIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t, testkit.WithoutStreams())
	err := s.Fleet(t).VerifyMapping(within(t), protocol.Shards(1))
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
}

func TestANewTenantMayGetAShardOfItsOwn(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t, testkit.WithShards(2), testkit.WithTenants(deploy.Tenant{Name: "a"}, deploy.Tenant{Name: "b"}))
	op := s.Operator(t)
	if _, err := s.As(t, deploy.TenantUser("a")).Publish(within(t), protocol.AgentActSubject("one", protocol.LaneQueue), []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	err := op.Provision(within(t), shardMap(t, "3,a=2"), 1)
	if err == nil || !strings.Contains(err.Error(), "tenant a has owners in the shared shards") {
		t.Errorf("a tenant with a stored request moves: %v", err)
	}
	key := protocol.OwnerKey{Tenant: "b", Owner: "one"}
	own := protocol.OwnSubject(protocol.ShardOf(key.Owner, 2), key)
	if _, err := op.CAS(within(t), own, []byte("{}"), nil, 0); err != nil {
		t.Fatal(err)
	}
	err = op.Provision(within(t), shardMap(t, "3,b=2"), 1)
	if err == nil || !strings.Contains(err.Error(), "tenant b has owners in the shared shards") {
		t.Errorf("a tenant with an owner moves: %v", err)
	}
	want := shardMap(t, "3,new=2")
	for range 2 {
		if err := op.Provision(within(t), want, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := op.Shards(within(t)); err != nil || got.String() != want.String() {
		t.Errorf("the streams are for %q (%v), want %q", got, err, want)
	}
	if err := op.Verify(within(t), want); err != nil {
		t.Error(err)
	}
	if err := op.Verify(within(t), protocol.Shards(2)); err == nil || !strings.Contains(err.Error(), "number of shards") {
		t.Errorf("a service with the old shards starts: %v", err)
	}
	if err := op.Provision(within(t), protocol.Shards(2), 1); err == nil || !strings.Contains(err.Error(), "docs/operations.md") {
		t.Errorf("the shard is taken away: %v", err)
	}
}
