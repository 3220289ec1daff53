package client

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestAcquireReturnsTheLeaseAndALostWaitIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	withdrawn := make(chan protocol.LeaseID, 1)
	asked := make(chan protocol.AcquireQuery, 2)
	f.serve("bf.svc.a.*.one", func(m *nats.Msg) {
		if strings.Contains(m.Subject, ".release.") {
			var q protocol.ReleaseQuery
			_ = json.Unmarshal(m.Data, &q)
			withdrawn <- q.Lease
			return
		}
		var q protocol.AcquireQuery
		_ = json.Unmarshal(m.Data, &q)
		asked <- q
		if q.Persistence == protocol.PersistEphemeral {
			return // it never opens
		}
		respondJSON(m, protocol.AcquireReply{V: 1, OK: true, Generation: 2, Lease: &protocol.ClientLease{ID: q.Lease}})
	})
	if err := f.conn.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	o := connect(t, s, "agent.a.one").Owner("one")
	reply, err := o.Acquire(testContext(t), protocol.AcquireQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if q := <-asked; q.Lease == "" || q.TimeoutMS == 0 || reply.Lease.ID != q.Lease || reply.Generation != 2 {
		t.Fatalf("asked %+v, got %+v", q, reply)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	go cancelAfter(asked, cancel)
	if _, err := o.Acquire(ctx, protocol.AcquireQuery{Lease: "mine", Persistence: protocol.PersistEphemeral}); err == nil {
		t.Fatal("acquired although nobody answered")
	}
	select {
	case id := <-withdrawn:
		if id != "mine" {
			t.Fatalf("withdrew %s", id)
		}
	case <-time.After(time.Minute):
		t.Fatal("the wait was not withdrawn")
	}
}

func cancelAfter(asked <-chan protocol.AcquireQuery, cancel func()) {
	<-asked
	cancel()
}

func TestLifeServicesSayYesOrWhyNot(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	f.serve("bf.svc.a.*.one", func(m *nats.Msg) {
		reply := protocol.ControlReply{V: 1, OK: true}
		if strings.Contains(m.Subject, ".reset.") {
			reply = protocol.ControlReply{V: 1, Error: protocol.Errorf(protocol.CodeEnvironmentFailed, "")}
		}
		respondJSON(m, reply)
	})
	if err := f.conn.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	o := connect(t, s, "agent.a.one").Owner("one")
	ctx := testContext(t)
	for name, err := range map[string]error{"release": o.Release(ctx, "l"), "close": o.Close(ctx), "delete": o.Delete(ctx)} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := Code(o.Reset(ctx)); got != protocol.CodeEnvironmentFailed {
		t.Errorf("reset: %s", got)
	}
}
