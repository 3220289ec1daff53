package coordinator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestUsageFollowsTheRecords(t *testing.T) {
	t.Parallel()
	u := newUsage()
	moves := []protocol.RecordState{
		protocol.RecordNone, protocol.RecordAssigned, protocol.RecordMoving, protocol.RecordAssigned,
		protocol.RecordHibernated, protocol.RecordAnswering, protocol.RecordUnassigned, protocol.RecordDeleted, protocol.RecordDeleted,
	}
	var got [][2]int
	for i := 1; i < len(moves); i++ {
		u.moved("a", moves[i-1], moves[i])
		got = append(got, [2]int{u.of("a").Owners, u.of("a").Environments})
	}
	want := [][2]int{{1, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, {1, 0}, {0, 0}, {0, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("owners, environments (-want +got):\n%s", diff)
	}
	if len(u.tenants) != 0 {
		t.Errorf("tenants without anything are remembered: %v", u.tenants)
	}
}

func TestUsageCountsBytesUntilTheyAreAnswered(t *testing.T) {
	t.Parallel()
	u := newUsage()
	k := owner("a", 1)
	bytes := func(want int64) {
		t.Helper()
		if got := u.of("a").QueueBytes; got != want {
			t.Errorf("%d bytes, want %d", got, want)
		}
	}
	u.stored(k, protocol.LaneQueue, 1, 100)
	u.stored(k, protocol.LaneQueue, 3, 50)
	u.stored(k, protocol.LaneControl, 2, 10)
	u.listed(k, protocol.LaneQueue, 2, 50) // as many as were seen
	bytes(160)
	u.trimmed(k, protocol.LaneQueue, 1)
	bytes(60)
	u.listed(k, protocol.LaneQueue, 4, 50) // three were stored while nobody listened
	bytes(210)
	u.trimmed(owner("a", 2), protocol.LaneQueue, 9)
	u.emptied(func(protocol.OwnerKey) bool { return true })
	bytes(210)
	u.emptied(func(protocol.OwnerKey) bool { return false })
	bytes(0)
	if len(u.backlogs) != 0 || len(u.tenants) != 0 {
		t.Errorf("%v, %v", u.backlogs, u.tenants)
	}
}
