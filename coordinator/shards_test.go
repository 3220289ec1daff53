package coordinator_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

const shards = 4

// leaders are who holds the leases, by shard.
func (b *bench) leaders() map[protocol.WorkerID]int {
	b.t.Helper()
	count := map[protocol.WorkerID]int{}
	for s := range b.Shards {
		for _, id := range []protocol.WorkerID{"c-1", "c-2"} {
			k := b.ownerOf(protocol.Shard(s))
			if b.explain(k).Leader == id {
				count[id]++
			}
		}
	}
	return count
}

// ownerOf is a name that belongs to a shard, and to no test's owner.
func (b *bench) ownerOf(s protocol.Shard) protocol.OwnerKey {
	for i := 0; ; i++ {
		k := protocol.OwnerKey{Tenant: "a", Owner: protocol.Owner(fmt.Sprintf("nobody%d", i))}
		if protocol.ShardOf(k.Owner, b.Shards) == s {
			return k
		}
	}
}

// Four shards, two coordinators: each leads two. One dies in the middle of a
// flood, and every owner has one assignment in the end.
func TestADeadCoordinatorsShardsArePlacedOnceByTheOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.WithShards(shards))
	w := b.worker("w-1", nil)
	first := b.Fleet(t)
	b.coordinate("c-1", first)
	b.coordinate("c-2", b.Fleet(t))
	b.eventually("leadership to be spread", func() bool {
		l := b.leaders()
		return l["c-1"] == shards/2 && l["c-2"] == shards/2
	})
	const owners = 40
	for i := range owners {
		if b.open(key(i)); i == owners/2 {
			first.Close() // to the servers a dead machine: nothing is released
		}
	}
	told := map[protocol.OwnerKey]protocol.Seq{}
	for len(told) < owners {
		// What the dead one wrote and could not tell comes as a reminder.
		a := b.told(w)
		if before := told[a.Key]; before != 0 && before != a.Fence {
			t.Fatalf("%s was assigned at %d and at %d", a.Key, before, a.Fence)
		}
		told[a.Key] = a.Fence
	}
	for k, fence := range told {
		rec, at := b.recordAt(protocol.ShardOf(k.Owner, shards), k)
		if rec == nil || rec.State != protocol.RecordAssigned || at != fence {
			t.Errorf("%s: %+v at %d, told %d", k, rec, at, fence)
		}
	}
}

// The number of shards is fixed at birth; nothing is changed by trying.
func TestChangingTheNumberOfShardsIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.WithShards(2))
	for _, n := range []int{1, 3} {
		if err := b.Operator(t).Provision(b.ctx(), protocol.Shards(n), 1); err == nil {
			t.Errorf("%d shards were made of 2", n)
		} else if errors.Is(err, natsx.ErrUnavailable) {
			t.Error(err)
		}
	}
	if err := b.conn.Verify(b.ctx(), protocol.Shards(2)); err != nil {
		t.Error(err)
	}
}
