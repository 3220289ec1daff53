package natsx_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go/jetstream"
)

func acquire(t *testing.T, l *natsx.Lease) (term uint64, ok bool) {
	t.Helper()
	term, ok, err := l.Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return term, ok
}

// lease lasts longer than any pause of the machine.
func lease(c *natsx.Conn, holder string) *natsx.Lease { return leaseFor(c, holder, time.Hour) }

func leaseFor(c *natsx.Conn, holder string, ttl time.Duration) *natsx.Lease {
	return natsx.NewLease(c, protocol.LeaderBucket, "shard.0", holder, ttl)
}

func TestALeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	first, second := lease(s.Fleet(t), "c1"), lease(s.Fleet(t), "c2")
	if _, ok := acquire(t, first); !ok {
		t.Fatal("a free lease was not taken")
	}
	if _, ok := acquire(t, second); ok {
		t.Fatal("two holders")
	}
	if err := second.Renew(within(t)); !errors.Is(err, natsx.ErrConflict) {
		t.Errorf("renewed without holding it: %v", err)
	}
	if first.Expires().IsZero() || !second.Expires().IsZero() {
		t.Error("Expires does not tell who holds it")
	}
}

func TestAReleasedLeaseIsTakenAtOnceAndTermsGrow(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	first, second := lease(s.Fleet(t), "c1"), lease(s.Fleet(t), "c2")
	before, _ := acquire(t, first)
	first.Release(within(t))
	first.Release(within(t)) // twice is harmless
	after, ok := acquire(t, second)
	if !ok || after <= before {
		t.Errorf("term %d after %d, taken %v", after, before, ok)
	}
	if err := first.Renew(within(t)); !errors.Is(err, natsx.ErrConflict) {
		t.Errorf("renewed after its release: %v", err)
	}
}

// Its holder does not renew it, and nobody released it. The watch is the one that a
// coordinator keeps, so its rights are tried here as well.
func TestAnAbandonedLeaseEndsAndIsTakenOver(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	dead, heir := s.Fleet(t), s.Fleet(t)
	old, successor := leaseFor(dead, "c1", time.Second), lease(heir, "c2")
	ended := watchMarkers(t, heir)
	before, _ := acquire(t, old)
	ended()
	after, ok := acquire(t, successor)
	if !ok || after <= before {
		t.Fatalf("term %d after %d, taken %v", after, before, ok)
	}
	if err := old.Renew(within(t)); !errors.Is(err, natsx.ErrConflict) {
		t.Errorf("the former holder renewed: %v", err)
	}
	if !old.Expires().IsZero() {
		t.Error("the former holder still believes in it")
	}
}

// watchMarkers begins to watch; ended waits until the server has ended a lease,
// of which the marker is gone again after a few seconds.
func watchMarkers(t *testing.T, c *natsx.Conn) (ended func()) {
	t.Helper()
	kv, err := c.JS.KeyValue(within(t), protocol.LeaderBucket)
	if err != nil {
		t.Fatal(err)
	}
	w, err := kv.Watch(within(t), "shard.0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Stop() })
	return func() {
		t.Helper()
		for {
			select {
			case e := <-w.Updates():
				if e != nil && e.Operation() != jetstream.KeyValuePut {
					return
				}
			case <-time.After(patience):
				t.Fatal("the lease did not end")
			}
		}
	}
}

// jetstream's own Update drops the TTL, and then the lease never ends.
func TestEveryRenewalCarriesTheTTL(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	l := lease(s.Fleet(t), "c1")
	acquire(t, l)
	op := s.Operator(t)
	for range 3 {
		if err := l.Renew(within(t)); err != nil {
			t.Fatal(err)
		}
		st, err := op.JS.Stream(within(t), "KV_"+protocol.LeaderBucket)
		if err != nil {
			t.Fatal(err)
		}
		m, err := st.GetLastMsgForSubject(within(t), "$KV."+protocol.LeaderBucket+".shard.0")
		if err != nil || m.Header.Get(jetstream.MsgTTLHeader) != "1h0m0s" {
			t.Fatalf("TTL %q, %v", m.Header.Get(jetstream.MsgTTLHeader), err)
		}
	}
}

// A renewal whose answer was lost is found again by the holder's name.
func TestARenewalThatWasStoredButNotAnsweredKeepsTheLease(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	l := lease(s.Fleet(t), "c1")
	term, _ := acquire(t, l)
	body, err := json.Marshal(map[string]string{"holder": "c1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Operator(t).CAS(within(t), "$KV."+protocol.LeaderBucket+".shard.0", body, nil, protocol.Seq(term)); err != nil {
		t.Fatal(err)
	}
	if err := l.Renew(within(t)); err != nil {
		t.Errorf("lost: %v", err)
	}
}

func TestOfTwoWhoAreFasterOneWins(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	c := s.Fleet(t)
	wins := make(chan bool)
	runContenders(within(t), c, wins)
	won := 0
	for range contenders {
		if <-wins {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d holders", won)
	}
}

const contenders = 8

func runContenders(ctx context.Context, c *natsx.Conn, wins chan<- bool) {
	for i := range contenders {
		l := natsx.NewLease(c, protocol.LeaderBucket, "contended", string(rune('a'+i)), time.Minute)
		go func() {
			_, ok, err := l.Acquire(ctx)
			wins <- ok && err == nil
		}()
	}
}

func TestALeaseWithoutAServerIsNotLostButUnknown(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	l := lease(s.Fleet(t), "c1")
	acquire(t, l)
	s.Stop(t)
	short, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	err := l.Renew(short)
	if err == nil || errors.Is(err, natsx.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if l.Expires().IsZero() {
		t.Error("given up although the server may be back in time")
	}
}
