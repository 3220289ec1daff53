package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

type uncounted struct{}

func (uncounted) Assigned(string)                     {}
func (uncounted) AnsweredByCoordinator(protocol.Code) {}
func (uncounted) WorkerGone()                         {}

// Whatever the lease says: two leaders that place the same owners at the same
// moment write one record for each change of its epoch.
func TestTwoLeadersAtOnceNeverAssignTwice(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	conn := s.Fleet(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, id := range []protocol.WorkerID{"w-0", "w-1"} { // they take whoever is offered
		nc := s.Worker(t).NC
		if _, err := nc.Subscribe(protocol.ControlSubject(id, protocol.VerbAssign), func(m *nats.Msg) {
			_ = m.Respond([]byte(`{"v":1,"ok":true}`))
		}); err != nil {
			t.Fatal(err)
		}
		if err := nc.FlushTimeout(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	var leaders []*shard
	for i := range 2 {
		c := New(Config{
			ID: protocol.WorkerID(fmt.Sprintf("c-%d", i)), Shards: protocol.Shards(1), Conn: s.Fleet(t), Observer: uncounted{},
			Logger: slog.New(slog.DiscardHandler),
		})
		c.registry.since = time.Now().Add(-time.Hour) // no grace for the worker that is gone
		// They disagree about where to put an owner, and know both workers.
		c.registry.heard(beat("w-0", 1000+i, 0))
		c.registry.heard(beat("w-1", 1001-i, 0))
		leaders = append(leaders, c.shards[0])
	}
	const owners = 25
	key := func(i int) protocol.OwnerKey {
		return protocol.OwnerKey{Tenant: "a", Owner: protocol.Owner(fmt.Sprintf("o%d", i))}
	}
	for i := range owners { // every second one had a worker that is gone
		if i%2 == 0 {
			continue
		}
		data, err := json.Marshal(protocol.OwnerRecord{
			V: protocol.Version, State: protocol.RecordAssigned, Worker: "gone", Since: protocol.At(time.Now()), Nonce: ownerlog.NewNonce(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.CAS(ctx, protocol.OwnSubject(0, key(i)), data, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	before, err := conn.StreamLast(ctx, protocol.OwnStream(0))
	if err != nil {
		t.Fatal(err)
	}
	var placing sync.WaitGroup
	for i := range owners {
		for _, leader := range leaders {
			placing.Go(func() { leader.place(ctx, ticket{key: key(i), reason: decide.Wake}) })
		}
	}
	placing.Wait()
	after, err := conn.StreamLast(ctx, protocol.OwnStream(0))
	if err != nil {
		t.Fatal(err)
	}
	if after-before != owners {
		t.Fatalf("%d owners, %d records", owners, after-before)
	}
	for i := range owners {
		rec, fence, err := ownerlog.Read(ctx, conn, 0, key(i))
		if err != nil || rec.State != protocol.RecordAssigned || rec.Epoch != protocol.Epoch(fence) {
			t.Errorf("%s: %+v, %v", key(i), rec, err)
		}
	}
}

// The last look before a coordinator makes itself the holder: a job that began
// while the owner was free may find it held.
func TestTheCoordinatorDoesNotTakeWhatALivingWorkerHolds(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := New(Config{ID: "c-0", Shards: protocol.Shards(1), Conn: s.Fleet(t), Observer: uncounted{}, Logger: slog.New(slog.DiscardHandler)})
	c.registry.heard(beat("w-0", 1, 1))
	key := protocol.OwnerKey{Tenant: "a", Owner: "one"}
	data, err := json.Marshal(protocol.OwnerRecord{
		V: protocol.Version, State: protocol.RecordAssigned, Worker: "w-0", Since: protocol.At(time.Now()), Nonce: ownerlog.NewNonce(),
	})
	if err != nil {
		t.Fatal(err)
	}
	held, err := c.cfg.Conn.CAS(ctx, protocol.OwnSubject(0, key), data, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tenant(t, "a").Request("act.one.q", []byte("malformed: it is due"), time.Minute); err != nil {
		t.Fatal(err)
	}
	c.shards[0].answerDue(ctx, key)
	if _, fence, err := ownerlog.Read(ctx, c.cfg.Conn, 0, key); err != nil || fence != held {
		t.Fatalf("the record was written at %d, %v", fence, err)
	}
}
