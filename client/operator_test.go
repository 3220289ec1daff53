package client

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func respondJSON(m *nats.Msg, body any) {
	data, _ := json.Marshal(body)
	_ = m.Respond(data)
}

func TestOperator(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	f.serve("bf.ops.*", func(m *nats.Msg) {
		switch {
		case strings.HasSuffix(m.Subject, "workers"):
			respondJSON(m, protocol.WorkersReply{V: 1, Workers: []protocol.WorkerInfo{{Heartbeat: protocol.Heartbeat{Worker: "w-1"}, State: "up"}}})
		case strings.HasSuffix(m.Subject, "owners"):
			respondJSON(m, protocol.OwnersReply{V: 1, Owners: []protocol.OwnerInfo{{State: protocol.RecordAssigned}}})
		case strings.Contains(string(m.Data), `"w-1"`):
			respondJSON(m, protocol.ControlReply{V: 1, OK: true})
		default:
			respondJSON(m, protocol.ControlReply{V: 1, Error: protocol.Errorf(protocol.CodeNotFound, "no such worker")})
		}
	})
	o := s.Options("operator")
	op, err := ConnectOperator(testContext(t), Options{URL: o.URL, User: o.User, Password: Secret(o.Password), InboxPrefix: o.InboxPrefix})
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	workers, err := op.Workers(testContext(t))
	if err != nil || len(workers) != 1 || workers[0].Worker != "w-1" {
		t.Errorf("workers %v, %v", workers, err)
	}
	owners, err := op.Owners(testContext(t))
	if err != nil || len(owners.Owners) != 1 {
		t.Errorf("owners %v, %v", owners, err)
	}
	got := []protocol.Code{Code(op.Drain(testContext(t), "w-1")), Code(op.Drain(testContext(t), "w-2")), Code(op.Drain(testContext(t), "w.*"))}
	if diff := cmp.Diff([]protocol.Code{"", protocol.CodeNotFound, protocol.CodeInvalidArgument}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDescribeAndList(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	reply := protocol.OwnersReply{V: 1, Owners: []protocol.OwnerInfo{{Key: protocol.OwnerKey{Tenant: "a", Owner: "one"}, State: protocol.RecordAssigned}}}
	f.serve("bf.svc.a.describe.*", func(m *nats.Msg) { respondJSON(m, reply) })
	f.serve("bf.svc.a.list", func(m *nats.Msg) { respondJSON(m, reply) })
	if err := f.conn.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, s, "agent.a.one")
	info, err := c.Describe(testContext(t), "one")
	if err != nil || info.State != protocol.RecordAssigned {
		t.Errorf("got %v, %v", info, err)
	}
	list, err := c.List(testContext(t))
	if err != nil || len(list.Owners) != 1 {
		t.Errorf("got %v, %v", list, err)
	}
}
