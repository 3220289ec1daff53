package natsx_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const ownOne = "bf.own.0.a.one"

func TestCompareAndSetIsTheFence(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	holder, rival := s.Worker(t), s.Fleet(t)
	first, err := rival.CAS(within(t), ownOne, []byte("assigned"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.CAS(within(t), ownOne, []byte("second first"), nil, 0); !errors.Is(err, natsx.ErrConflict) {
		t.Errorf("a second first record: %v", err)
	}
	second, err := rival.CAS(within(t), ownOne, []byte("moved"), nil, first)
	if err != nil || second <= first {
		t.Fatalf("got %d, %v after %d", second, err, first)
	}
	if _, err := holder.CAS(within(t), ownOne, []byte("zombie"), nil, first); !errors.Is(err, natsx.ErrConflict) {
		t.Errorf("the replaced holder: %v", err)
	}
	// Other owners' writes in the same stream do not disturb the chain.
	if _, err := rival.CAS(within(t), "bf.own.0.a.two", nil, nil, 0); err != nil {
		t.Error(err)
	}
	if _, err := rival.CAS(within(t), ownOne, []byte("on"), nil, second); err != nil {
		t.Error(err)
	}
}

// A write whose answer was lost is made again; its refusal and the nonce that
// stands there tell that it was stored.
func TestARepeatedWriteIsRecognisedByItsNonce(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	worker := s.Worker(t)
	body := []byte(`{"nonce":"n1"}`)
	seq, err := worker.CAS(within(t), ownOne, body, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.CAS(within(t), ownOne, body, nil, 0); !errors.Is(err, natsx.ErrConflict) {
		t.Fatalf("the same write again: %v", err)
	}
	m, err := worker.LeaderLast(within(t), "BF_OWN_0", ownOne)
	if err != nil || m.Seq != seq || !bytes.Equal(m.Data, body) {
		t.Fatalf("got %+v, %v", m, err)
	}
}

func TestOneResult(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	worker := s.Worker(t)
	const res = "bf.res.0.a.one.R1"
	if _, err := worker.Create(within(t), res, []byte("first"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Create(within(t), res, []byte("second"), nil); !errors.Is(err, natsx.ErrConflict) {
		t.Errorf("create again: %v", err)
	}
	// Also without the header the server refuses it.
	if _, err := worker.Publish(within(t), res, []byte("third"), nil); err == nil {
		t.Error("a plain publish overwrote the result")
	}
	// And no compare-and-set on the right sequence replaces it.
	if _, err := worker.CAS(within(t), res, []byte("fourth"), nil, 1); err == nil {
		t.Error("a compare-and-set overwrote the result")
	}
	m, err := worker.LeaderLast(within(t), "BF_RES_0", res)
	if err != nil || string(m.Data) != "first" {
		t.Errorf("the result is %q, %v", m.Data, err)
	}
}

func TestAFullQueueRefusesAndNeighboursDoNotNotice(t *testing.T) {
	t.Parallel()
	_, agent := owner(t)
	for range protocol.QueueDepth {
		publish(t, agent, "act.one.q", "x", nil)
	}
	_, err := agent.Publish(within(t), "act.one.q", nil, nil)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.CodeQueueFull {
		t.Fatalf("got %v, want queue_full", err)
	}
	publish(t, agent, "act.one.c", "control has its own lane", nil)
}

func TestATooLargeRequestIsRefused(t *testing.T) {
	t.Parallel()
	_, agent := owner(t)
	for _, size := range []int{protocol.MaxRequestBytes + 1, 2 << 20} {
		_, err := agent.Publish(within(t), "act.one.q", make([]byte, size), nil)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != protocol.CodeRequestTooLarge {
			t.Errorf("%d bytes: got %v, want request_too_large", size, err)
		}
	}
}

// What one publisher may not do to what another stored.
func TestHeadersThatRemoveStoredRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s, agent := owner(t)
	publish(t, agent, "act.one.q", "keep me", nil)
	for name, tc := range map[string]struct {
		h    nats.Header
		code jetstream.ErrorCode
	}{
		"a TTL":                   {nats.Header{"Nats-TTL": {"1s"}}, 10166},
		"a rollup of the subject": {nats.Header{"Nats-Rollup": {"sub"}}, 10111},
		"a rollup of the stream":  {nats.Header{"Nats-Rollup": {"all"}}, 10111},
		"a schedule":              {nats.Header{"Nats-Schedule": {"@every 1s"}, "Nats-Schedule-Target": {"bf.act.0.a.two.q"}}, 10188},
		"another stream":          {nats.Header{"Nats-Expected-Stream": {"BF_RES_0"}}, 10060},
		"a batch":                 {nats.Header{"Nats-Batch-Id": {"x"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}}, 10174},
	} {
		_, err := agent.Publish(within(t), "act.one.q", []byte(name), tc.h)
		var api *jetstream.APIError
		if !errors.As(err, &api) || api.ErrorCode != tc.code {
			t.Errorf("%s: got %v, want error %d", name, err, tc.code)
		}
	}
	counts, err := s.Fleet(t).SubjectCounts(within(t), "BF_ACT_0", "bf.act.0.>")
	if err != nil || counts[actOne] != 1 {
		t.Errorf("stored: %v, %v; want the first message alone", counts, err)
	}
}

func TestTheSameMessageIDOfAnotherOwnerIsStored(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	one, two := s.As(t, "agent.a.one"), s.As(t, "agent.b.two")
	publish(t, one, "act.one.q", "x", nil)
	// JetStream's dedupe spans the stream; its window is too short to be a way
	// to drop a neighbour's requests. An id made up anew is never a duplicate.
	for i := range 3 {
		publish(t, two, "act.two.q", "x", nats.Header{"Nats-Msg-Id": {fmt.Sprint("id", i)}})
	}
	counts, err := s.Fleet(t).SubjectCounts(within(t), "BF_ACT_0", "bf.act.0.b.two.q")
	if err != nil || counts["bf.act.0.b.two.q"] != 3 {
		t.Errorf("got %v, %v", counts, err)
	}
}

func TestCallersHeadersAreNotChanged(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	h := nats.Header{"traceparent": {"00-x"}}
	if _, err := s.Worker(t).Create(within(t), ownOne, nil, h); err != nil {
		t.Fatal(err)
	}
	if len(h) != 1 {
		t.Errorf("got %v", h)
	}
}
