package natsx_test

import (
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go/jetstream"
)

func TestProvisionTwiceAndVerifyAsEveryRole(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t, testkit.WithShards(3), testkit.WithoutStreams())
	op := s.Operator(t)
	if err := op.Verify(within(t), protocol.Shards(3)); err == nil || !strings.Contains(err.Error(), "BF_EV_2") {
		t.Errorf("nothing is there, and Verify says %v", err)
	}
	for range 2 {
		if err := op.Provision(within(t), protocol.Shards(3), 1); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]*natsx.Conn{"operator": op, "coordinator": s.Fleet(t), "worker": s.Worker(t)} {
		if err := c.Verify(within(t), protocol.Shards(3)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheNumberOfShardsIsFixedAtBirth(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t, testkit.WithShards(2))
	op := s.Operator(t)
	for _, n := range []int{1, 3} {
		err := op.Provision(within(t), protocol.Shards(n), 1)
		if err == nil || !strings.Contains(err.Error(), "fixed at birth") {
			t.Errorf("%d shards: %v", n, err)
		}
		if err := op.Verify(within(t), protocol.Shards(n)); err == nil || !strings.Contains(err.Error(), "number of shards") {
			t.Errorf("verify %d shards: %v", n, err)
		}
	}
	if err := op.JS.DeleteStream(within(t), protocol.WorkerStream); err != nil {
		t.Fatal(err)
	}
	if err := op.Provision(within(t), protocol.Shards(1), 1); err == nil {
		t.Error("fewer shards, after the shared stream was lost")
	}
	for _, n := range []int{0, -1, protocol.MaxShards + 1} {
		if err := op.Provision(within(t), protocol.Shards(n), 1); err == nil {
			t.Errorf("%d shards were provisioned", n)
		}
	}
}

// A provisioning that broke off goes on with the same number, and only with it.
func TestProvisionGoesOnWhereItBrokeOff(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t, testkit.WithShards(3))
	op := s.Operator(t)
	for _, stream := range []string{"BF_ACT_2", "BF_OWN_2", "BF_EV_1"} {
		if err := op.JS.DeleteStream(within(t), stream); err != nil {
			t.Fatal(err)
		}
	}
	if err := op.Provision(within(t), protocol.Shards(2), 1); err == nil {
		t.Error("two shards of three were provisioned")
	}
	if err := op.Provision(within(t), protocol.Shards(3), 1); err != nil {
		t.Fatal(err)
	}
	if err := op.Verify(within(t), protocol.Shards(3)); err != nil {
		t.Error(err)
	}
}

func TestVerifyReportsEveryDifference(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	op := s.Operator(t)
	alter := func(stream string, change func(*jetstream.StreamConfig)) {
		t.Helper()
		st, err := op.JS.Stream(within(t), stream)
		if err != nil {
			t.Fatal(err)
		}
		cfg := st.CachedInfo().Config
		change(&cfg)
		if _, err := op.JS.UpdateStream(within(t), cfg); err != nil {
			t.Fatal(err)
		}
	}
	alter("BF_ACT_0", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.AllowMsgTTL = 3, true })
	alter("BF_RES_0", func(c *jetstream.StreamConfig) {
		c.MaxAge, c.Discard, c.DiscardNewPerSubject = 10*time.Minute, jetstream.DiscardOld, false
	})
	alter("BF_EV_0", func(c *jetstream.StreamConfig) { c.RePublish, c.AllowRollup = nil, true })
	if err := op.JS.DeleteKeyValue(within(t), protocol.PolicyBucket); err != nil {
		t.Fatal(err)
	}
	if err := op.JS.DeleteKeyValue(within(t), protocol.LeaderBucket); err != nil {
		t.Fatal(err)
	}
	if _, err := op.JS.CreateKeyValue(within(t), jetstream.KeyValueConfig{Bucket: protocol.LeaderBucket}); err != nil {
		t.Fatal(err)
	}
	err := op.Verify(within(t), protocol.Shards(1))
	if err == nil {
		t.Fatal("no difference was reported")
	}
	for _, want := range []string{
		"BF_ACT_0: messages per subject is 3, want 64",
		"BF_ACT_0: per-message TTL is true, want false",
		"BF_RES_0: age is 10m0s, want 2h0m0s",
		"BF_RES_0: discard is",
		"BF_RES_0: discard new per subject is false, want true",
		"BF_RES_0: results are kept 10m0s",
		"BF_EV_0: republish is none",
		"BF_EV_0: rollups is true, want false",
		"KV_bf_policy",
		"KV_bf_leader: keys have no TTL",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}

func TestResultsAreKeptAsLongAsTheyMayBeAskedFor(t *testing.T) {
	t.Parallel()
	if need := protocol.ResendHorizon + protocol.MaxQueueDeadline + protocol.MaxRunBudget; protocol.ResultRetention < need {
		t.Errorf("results are kept %v, need %v", protocol.ResultRetention, need)
	}
}
