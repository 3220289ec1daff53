package client

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	f := newFleet(t, s, nil)
	f.serve("bf.ops.leader.explain", func(m *nats.Msg) {
		var q protocol.OwnerQuery
		if json.Unmarshal(m.Data, &q) != nil || q.Key.Owner != "one" {
			respondJSON(m, protocol.ExplainReply{V: 1, Error: protocol.Errorf(protocol.CodeNotFound, "")})
			return
		}
		respondJSON(m, protocol.ExplainReply{V: 1, Waits: "its turn", Position: 3})
	})
	o := s.Options("operator")
	op, err := ConnectOperator(testContext(t), Options{URL: o.URL, User: o.User, Password: Secret(o.Password), InboxPrefix: o.InboxPrefix})
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	got, err := op.Explain(testContext(t), protocol.OwnerKey{Tenant: "a", Owner: "one"})
	if err != nil || got.Position != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, want := range map[protocol.Owner]protocol.Code{"two": protocol.CodeNotFound, "t.wo": protocol.CodeInvalidArgument} {
		if _, err := op.Explain(testContext(t), protocol.OwnerKey{Tenant: "a", Owner: name}); Code(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
