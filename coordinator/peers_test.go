package coordinator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func leads(shards ...protocol.Shard) (all []protocol.ShardLead) {
	for _, s := range shards {
		all = append(all, protocol.ShardLead{Shard: s, Tenants: []protocol.TenantUsage{{Tenant: "a", Owners: 10, Environments: 5, QueueBytes: 1}}})
	}
	return all
}

func TestShardsAreSpreadOverTheLiving(t *testing.T) {
	t.Parallel()
	p, now := newPeers(4), time.Now()
	for s := range 4 {
		if !p.mayLead(protocol.Shard(s), now) || p.yields(0, now) {
			t.Fatal("alone, and does not lead all")
		}
		p.begins(protocol.Shard(s))
	}
	p.hear(protocol.CoordinatorBeat{Coordinator: "new"}, now)
	var given []protocol.Shard
	for range 4 { // each leader asks, the last one gives
		for s := range 4 {
			if id := protocol.Shard(s); p.leading(id) && p.yields(id, now) {
				p.ends(id)
				given = append(given, id)
			}
		}
		now = now.Add(yieldEvery)
		p.hear(protocol.CoordinatorBeat{Coordinator: "new", Leads: leads(given...)}, now)
	}
	if diff := cmp.Diff([]protocol.Shard{3, 2}, given); diff != "" {
		t.Fatalf("given (-want +got):\n%s", diff)
	}
	if p.mayLead(3, now) {
		t.Fatal("takes back what it gave")
	}
	// The new one dies: its shards are anybody's.
	now = now.Add(peerGone + time.Second)
	if !p.mayLead(3, now) || !p.mayLead(2, now) {
		t.Fatal("nobody leads them")
	}
}

func TestAShardThatNobodyLeadsIsTakenByWhoHasEnough(t *testing.T) {
	t.Parallel()
	p, now := newPeers(3), time.Now()
	p.begins(0)
	p.begins(1)
	lives := func() { p.hear(protocol.CoordinatorBeat{Coordinator: "deaf"}, now) } // alive, and leads nothing
	lives()
	if p.mayLead(2, now) {
		t.Fatal("takes more than its part at once")
	}
	now = now.Add(peerGone + time.Millisecond)
	lives()
	if !p.mayLead(2, now) {
		t.Fatal("leaves a shard alone for ever")
	}
}

func TestUsageIsSummedOverShardsOnce(t *testing.T) {
	t.Parallel()
	p, now := newPeers(4), time.Now()
	p.begins(0)
	p.begins(1)
	for _, l := range leads(0, 1, 3) { // 3 is not its own: a late report
		p.report(l)
	}
	p.hear(protocol.CoordinatorBeat{Coordinator: "x", Leads: leads(1, 2)}, now) // 1: it led it before
	want := protocol.TenantUsage{Tenant: "a", Owners: 20, Environments: 10, QueueBytes: 2}
	if diff := cmp.Diff(want, p.elsewhere("a", 0, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := p.elsewhere("a", 0, now.Add(peerGone+1)); got.Owners != 10 {
		t.Errorf("the dead count: %+v", got)
	}
}
