package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
)

func (a *Agent) evidence(q protocol.EvidenceQuery) protocol.EvidenceReply {
	a.t.Helper()
	body, err := json.Marshal(q)
	if err != nil {
		a.t.Fatal(err)
	}
	var reply protocol.EvidenceReply
	if err := json.Unmarshal(a.service(protocol.ServiceEvidence, body).Data, &reply); err != nil {
		a.t.Fatal(err)
	}
	return reply
}

func TestEvidenceOfActionsIsKeptAndReadInParts(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	ids := []protocol.RequestID{a.Send(protocol.KindOpen, open(page))}
	for range 6 {
		ids = append(ids, a.Send(protocol.KindFill, fill("e1")))
	}
	for _, id := range ids {
		expect(t, a.Await(id), protocol.StatusOK, "")
	}
	// An event is stored behind its result.
	deadline := time.Now().Add(wait)
	var newest protocol.EvidenceReply
	for len(newest.Events) == 0 || newest.Events[len(newest.Events)-1].Event.Request != ids[6] {
		if time.Now().After(deadline) {
			t.Fatalf("the last action's event is missing: %+v", newest)
		}
		newest = a.evidence(protocol.EvidenceQuery{Limit: 3})
	}
	if len(newest.Events) != 3 || newest.More || newest.Events[0].Event.Request != ids[4] {
		t.Errorf("the newest three: %+v", newest)
	}
	var got []protocol.RequestID
	after := a.evidence(protocol.EvidenceQuery{Limit: 50}).Events[0].Seq
	for {
		part := a.evidence(protocol.EvidenceQuery{After: after, Limit: 2})
		for _, e := range part.Events {
			got, after = append(got, e.Event.Request), e.Seq
			if tr := e.Event.Transition; e.Event.Kind != protocol.KindFill || tr == nil || tr.Before == nil || tr.After == nil || tr.Before.Digest == tr.After.Digest {
				t.Errorf("a fill's evidence: %+v", e.Event)
			}
		}
		if !part.More {
			break
		}
	}
	if len(got) != 6 || got[0] != ids[1] || got[5] != ids[6] {
		t.Errorf("in parts: %v, want %v", got, ids[1:])
	}
	if reply := a.evidence(protocol.EvidenceQuery{Limit: 51}); reply.Error == nil || reply.Error.Code != protocol.CodeInvalidArgument {
		t.Errorf("a limit of 51: %+v", reply)
	}
	if reply := f.Agent(t, "b", "one").evidence(protocol.EvidenceQuery{}); reply.Error != nil || len(reply.Events) != 0 {
		t.Errorf("another tenant's owner of the same name reads %+v", reply)
	}
}

func TestAWatcherIsToldEveryEventInOrder(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory()})
	a := f.Agent(t, "a", "one")
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	o := f.NATS.Options(deploy.TenantUser("a"))
	c, err := client.Connect(ctx, client.Options{URL: o.URL, User: o.User, Password: client.Secret(o.Password), InboxPrefix: o.InboxPrefix, Name: "watcher"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var ids, got []protocol.RequestID
	for range 5 {
		ids = append(ids, a.Send(protocol.KindFill, fill("e1")))
	}
	enough := errors.New("enough")
	err = c.Owner("one").Watch(ctx, 1, func(e protocol.EvidenceEntry) error {
		if e.Event.Kind != protocol.KindFill {
			return nil
		}
		if got = append(got, e.Event.Request); len(got) < 10 {
			if len(got) <= 5 { // more comes while it is watched
				ids = append(ids, a.Send(protocol.KindFill, fill("e1")))
			}
			return nil
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	for i := range ids {
		if got[i] != ids[i] {
			t.Errorf("event %d is of %s, want %s", i, got[i], ids[i])
		}
	}
}

// TestALostBrowserAndASleepAreToldOnTheOwnersSubject: as they happen, to whoever listens,
// and to nobody of another owner.
func TestALostBrowserAndASleepAreToldOnTheOwnersSubject(t *testing.T) {
	t.Parallel()
	f := Start(t, Options{Workers: 1, Objects: objectstore.NewMemory(), IdleTimeout: 200 * time.Millisecond})
	a := f.Agent(t, "a", "one")
	told, others := make(chan *nats.Msg, 256), make(chan *nats.Msg, 256)
	for owner, ch := range map[protocol.Owner]chan *nats.Msg{"one": told, "two": others} {
		if _, err := a.nc.ChanSubscribe(protocol.AgentEventSubject(owner), ch); err != nil {
			t.Fatal(err)
		}
	}
	a.settled()
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	expect(t, a.Do(protocol.KindOpen, open(page+"crash")), protocol.StatusOutcomeUnknown, protocol.CodeBrowserLost)
	expect(t, a.Do(protocol.KindOpen, open(page)), protocol.StatusOK, "")
	missing := map[string]protocol.Generation{protocol.EventGenerationChanged: 2, protocol.EventHibernated: 2}
	deadline := time.After(wait)
	for len(missing) > 0 {
		select {
		case m := <-told:
			var ev protocol.Event
			if err := json.Unmarshal(m.Data, &ev); err != nil {
				t.Fatal(err)
			}
			if g, awaited := missing[ev.Type]; awaited && ev.Generation >= g {
				delete(missing, ev.Type)
			}
			if ev.Owner != "one" || ev.Tenant != "a" {
				t.Errorf("an event of %s/%s", ev.Tenant, ev.Owner)
			}
		case <-deadline:
			t.Fatalf("not told: %v", missing)
		}
	}
	if len(others) > 0 {
		t.Error("another owner was told")
	}
}
