package coordinator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/coordinator"
	"github.com/browserfleet/browserfleet/protocol"
)

// limit writes a tenant's quotas as an operator does.
func (b *bench) limit(tenant protocol.Tenant, q protocol.Quotas) {
	b.t.Helper()
	q.V = protocol.Version
	data, err := json.Marshal(q)
	if err != nil {
		b.t.Fatal(err)
	}
	bucket, err := b.Operator(b.t).JS.KeyValue(b.ctx(), protocol.PolicyBucket)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := bucket.Put(b.ctx(), protocol.QuotasKey(tenant), data); err != nil {
		b.t.Fatal(err)
	}
}

func key(n int) protocol.OwnerKey {
	return protocol.OwnerKey{Tenant: "a", Owner: protocol.Owner(fmt.Sprintf("o%d", n))}
}

// An owner over its tenant's cap is answered, purged, and gets no record; the
// owners that there are go on.
func TestAnOwnerOverItsTenantsCapIsAnsweredAndGetsNoRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.limit("a", protocol.Quotas{Owners: 2})
	b.coordinate("c-1", b.conn)
	b.open(key(0))
	b.open(key(1))
	b.assignment(w)
	b.assignment(w)
	over, _ := b.open(key(2))
	ping, _ := b.store(key(2), protocol.KindPing, nil)
	b.expect(key(2), over, protocol.StatusError, protocol.CodeQuotaExceeded)
	b.expect(key(2), ping, protocol.StatusError, protocol.CodeQuotaExceeded)
	if e := b.result(key(2), over).Error; e.RetryAfterMS == 0 || e.Position != 1 || e.Dispatched != protocol.DispatchedNo || !e.Retryable {
		t.Errorf("%+v", e)
	}
	b.eventually("the queue to be purged", func() bool { return len(b.queued(key(2))) == 0 })
	if rec := b.record(key(2)); rec != nil {
		t.Errorf("it has a record: %+v", rec)
	}
	// It is over once more, also after the leader's view has forgotten it; and it
	// is taken when the operator allows more.
	again, _ := b.open(key(2))
	b.expect(key(2), again, protocol.StatusError, protocol.CodeQuotaExceeded)
	b.limit("a", protocol.Quotas{Owners: 3})
	b.openUntilAssigned(key(2))
}

// The agent did not get the refusal, and sends the request again: it gets the same
// one, whose push is marked, also after its queue was purged.
func TestAnAnsweredRequestOfARefusedOwnerIsRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.limit("a", protocol.Quotas{Owners: 1})
	b.coordinate("c-1", b.conn)
	b.open(key(0))
	b.assignment(w)
	over := protocol.NewRequestID(time.Now())
	same := func(r *protocol.Request) { r.ID = over }
	b.open(key(2), same)
	first := b.pushed(key(2), over)
	if first.Header.Get(protocol.HeaderRepeat) != "" {
		t.Errorf("the first push is marked as a repeat: %v", first.Header)
	}
	b.eventually("the queue to be purged", func() bool { return len(b.queued(key(2))) == 0 })
	b.open(key(2), same)
	again := b.pushed(key(2), over)
	if again.Header.Get(protocol.HeaderRepeat) == "" || string(again.Data) != string(first.Data) {
		t.Errorf("repeated %v %s, first %s", again.Header, again.Data, first.Data)
	}
	b.eventually("the queue to be purged again", func() bool { return len(b.queued(key(2))) == 0 })
}

// pushed is the next result of the request that comes to the agent.
func (b *bench) pushed(k protocol.OwnerKey, id protocol.RequestID) *nats.Msg {
	b.t.Helper()
	for late := time.After(patience); ; {
		select {
		case m := <-b.done:
			if m.Subject == protocol.AgentDoneSubject(k.Owner, id) {
				return m
			}
		case <-late:
			b.t.Fatalf("no push of %s", id)
		}
	}
}

// openUntilAssigned sends a request after the other, each when the one before was
// refused: what has made room for the owner may not have come to the leader yet.
func (b *bench) openUntilAssigned(k protocol.OwnerKey) {
	b.t.Helper()
	id, _ := b.open(k)
	b.eventually("the owner to be taken", func() bool {
		if _, err := b.conn.LeaderLast(b.ctx(), protocol.ResStream(0), protocol.ResSubject(0, k, id)); err == nil {
			id, _ = b.open(k)
		}
		rec := b.record(k)
		return rec != nil && rec.State == protocol.RecordAssigned
	})
}

// A tenant whose environments are all in use: who sleeps is answered through
// its record, and stays as it is.
func TestASleepingOwnerOverTheQuotaIsAnsweredThroughItsRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.limit("a", protocol.Quotas{Environments: 1})
	b.put(two, protocol.OwnerRecord{State: protocol.RecordHibernated, Generation: 5})
	b.coordinate("c-1", b.conn)
	_, seq := b.open(one)
	b.assignment(w)
	id, _ := b.open(two)
	b.expect(two, id, protocol.StatusError, protocol.CodeQuotaExceeded)
	rec := b.until(two, "let go", func(r *protocol.OwnerRecord) bool { return r.IsDone(id) && r.State == protocol.RecordUnassigned })
	if rec.Generation != 5 || len(w.assigned) != 0 {
		t.Errorf("%+v", rec)
	}
	// The other one goes to sleep, all of it answered: now there is room in the
	// quota. (A cursor beyond the stream's end would be of another stream: the next
	// reconcile wakes such an owner, since nothing of it is known to be answered.)
	b.put(one, protocol.OwnerRecord{State: protocol.RecordHibernated, CursorQ: seq})
	b.openUntilAssigned(two)
	if a := b.assignment(w); a.Key != two {
		t.Errorf("%+v", a)
	}
}

// acquire makes records as well: it stands under the same quota.
func TestAnAcquireOverTheQuotaIsRefusedAndMakesNoRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	b.limit("a", protocol.Quotas{Owners: 1})
	beats := make(chan *nats.Msg, 64)
	if _, err := b.conn.NC.ChanSubscribe("bf.crd.*", beats); err != nil {
		t.Fatal(err)
	}
	b.coordinate("c-1", b.conn)
	b.open(one)
	b.assignment(w)
	b.eventually("the leader to say so", func() bool {
		select {
		case m := <-beats:
			var beat protocol.CoordinatorBeat
			err := json.Unmarshal(m.Data, &beat)
			return err == nil && len(beat.Leads) == 1 && len(beat.Leads[0].Tenants) == 1 && beat.Leads[0].Tenants[0].Owners == 1
		default:
			return false
		}
	})
	m, err := b.agent.Request(protocol.AgentServiceSubject(protocol.ServiceAcquire, two.Owner), []byte(`{"v":1}`), patience)
	if err != nil {
		t.Fatal(err)
	}
	var reply protocol.AcquireReply
	if err := json.Unmarshal(m.Data, &reply); err != nil || reply.Error == nil || reply.Error.Code != protocol.CodeQuotaExceeded {
		t.Errorf("%s, %v", m.Data, err)
	}
	if rec := b.record(two); rec != nil {
		t.Errorf("it has a record: %+v", rec)
	}
}

func TestATenantWithTooManyQueuedBytesIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.limit("a", protocol.Quotas{QueueBytes: 400})
	b.coordinate("c-1", b.conn) // and nobody who could take an owner
	b.led()
	waits, _ := b.open(one)
	b.eventually("one to wait", func() bool { return b.explain(one).Position == 1 })
	big, _ := b.store(two, protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/" + strings.Repeat("x", 400)})
	b.expect(two, big, protocol.StatusError, protocol.CodeQuotaExceeded)
	if n := len(b.queued(one)); n != 1 {
		t.Errorf("%s was refused as well (%d queued)", waits, n)
	}
}

// Before its deadline is over, an owner is refused for want of capacity only
// where too many wait already: that is an error, not an expiry.
func TestTooManyWaitingOwnersAreAnsweredNoCapacityAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.coordinate("c-1", b.conn, func(c *coordinator.Config) { c.MaxWaiting = 2 })
	b.led() // what is stored before is found in no order
	b.open(key(0))
	b.open(key(1))
	b.eventually("two to wait", func() bool { return b.explain(key(1)).Position == 2 })
	id, _ := b.open(key(2))
	b.expect(key(2), id, protocol.StatusError, protocol.CodeNoCapacity)
	if e := b.result(key(2), id).Error; e.Position != 3 || e.RetryAfterMS == 0 {
		t.Errorf("%+v", e)
	}
	late, _ := b.open(key(1), expires)
	_ = late // behind one that may still wait
	expired, _ := b.store(key(0), protocol.KindPing, nil)
	b.expect(key(0), expired, protocol.StatusOK, "")
}

func TestAnExpiredOwnerIsToldItsPlaceInTheLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.coordinate("c-1", b.conn)
	b.open(key(0))
	b.eventually("one to wait", func() bool { return b.explain(key(0)).Position == 1 })
	id, _ := b.open(key(1), expires)
	b.expect(key(1), id, protocol.StatusExpired, protocol.CodeNoCapacity)
	if e := b.result(key(1), id).Error; e.Position != 2 || e.RetryAfterMS == 0 {
		t.Errorf("%+v", e)
	}
}

// explain asks as an operator; an error is an empty answer.
func (b *bench) explain(k protocol.OwnerKey) protocol.ExplainReply {
	b.t.Helper()
	if b.operator == nil {
		b.operator = b.Operator(b.t)
	}
	data, err := json.Marshal(protocol.OwnerQuery{V: protocol.Version, Key: k})
	if err != nil {
		b.t.Fatal(err)
	}
	m, err := b.operator.NC.Request(protocol.OpsSubject(protocol.OpsExplain), data, 4*time.Second)
	var reply protocol.ExplainReply
	if err == nil {
		err = json.Unmarshal(m.Data, &reply)
	}
	if err != nil {
		b.t.Logf("explain %s: %v", k, err)
	}
	return reply
}

// led waits until somebody leads.
func (b *bench) led() {
	b.t.Helper()
	b.eventually("a leader", func() bool { return b.explain(one).Leader != "" })
}

// eventually waits for something to become so.
func (b *bench) eventually(what string, so func() bool) {
	b.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !so(); {
		if time.Now().After(deadline) {
			b.t.Fatalf("waited for %s in vain", what)
		}
		<-tick.C
	}
}
