package deploy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What the roles do, over every shard: a right that is missing for one shows
// only there.
func TestRolesCanDoTheirWork(t *testing.T) {
	t.Parallel()
	const shards = 3
	s := testkit.NATS(t, testkit.WithShards(shards))
	coordinator, worker, tenant := s.Fleet(t), s.Worker(t), s.As(t, deploy.TenantUser("a"))
	events := tap(t, tenant.NC, "events.>")
	done := tap(t, tenant.NC, "done.>")
	pushes := tap(t, worker.NC, "bf.push.>")
	seen := map[protocol.Shard]bool{}
	for i := 0; len(seen) < shards; i++ {
		o := protocol.Owner(fmt.Sprint("o", i))
		shard := protocol.ShardOf(o, shards)
		if seen[shard] {
			continue
		}
		seen[shard] = true
		k := protocol.OwnerKey{Tenant: "a", Owner: o}
		publish(t, tenant, protocol.AgentActSubject(o, protocol.LaneQueue), "{}")
		if got := next(t, pushes).Subject; got != protocol.PushSubject(shard, k, protocol.LaneQueue) {
			t.Errorf("push on %s", got)
		}
		liveOf(t, coordinator, worker, shard, k)
		if got := next(t, done).Subject; got != protocol.AgentDoneSubject(o, "R1") {
			t.Errorf("result on %s", got)
		}
		if got := next(t, events).Subject; got != protocol.AgentEventSubject(o) {
			t.Errorf("event on %s", got)
		}
	}
}

// liveOf goes through one owner's life: assigned, read, answered, trimmed.
func liveOf(t *testing.T, coordinator, worker *natsx.Conn, shard protocol.Shard, k protocol.OwnerKey) {
	t.Helper()
	ctx := within(t)
	act, own, res := protocol.ActSubject(shard, k, protocol.LaneQueue), protocol.OwnSubject(shard, k), protocol.ResSubject(shard, k, "R1")
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	seq, err := coordinator.CAS(ctx, own, []byte("1"), nil, 0)
	must("coordinator writes a record", err)
	_, err = worker.CAS(ctx, own, []byte("2"), nil, seq)
	must("worker writes a record", err)
	for name, c := range map[string]*natsx.Conn{"coordinator": coordinator, "worker": worker} {
		for stream, subject := range map[string]string{protocol.ActStream(shard): act, protocol.OwnStream(shard): own} {
			_, err = c.LeaderLast(ctx, stream, subject)
			must(name+" leader read of "+stream, err)
			_, err = c.DirectNext(ctx, stream, subject, 1)
			must(name+" direct read of "+stream, err)
			_, err = c.DirectLastMulti(ctx, stream, []string{subject})
			must(name+" direct reads of "+stream, err)
			_, err = c.StreamCreated(ctx, stream)
			must(name+" info of "+stream, err)
		}
	}
	_, err = worker.Create(ctx, res, []byte("{}"), nil)
	must("worker answers", err)
	_, err = coordinator.LeaderLast(ctx, protocol.ResStream(shard), res)
	must("coordinator reads the result", err)
	_, err = worker.LeaderLast(ctx, protocol.ResStream(shard), res)
	must("worker reads the result", err)
	_, err = worker.Publish(ctx, protocol.EventSubject(shard, k), []byte("{}"), nil)
	must("worker stores an event", err)
	_, err = coordinator.DirectNext(ctx, protocol.EvStream(shard), protocol.EventSubject(shard, k), 1)
	must("coordinator reads it", err)
	counts, err := coordinator.SubjectCounts(ctx, protocol.ActStream(shard), "bf.act."+shard.String()+".>")
	must("coordinator counts", err)
	if counts[act] != 1 {
		t.Errorf("counts %v", counts)
	}
	must("coordinator trims", coordinator.PurgeTo(ctx, protocol.ActStream(shard), act, 1000))
}

func TestControlHeartbeatsTrimsAndServices(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	coordinator, worker, operator := s.Fleet(t).NC, s.Worker(t), s.Operator(t).NC
	beats, trims := tap(t, coordinator, "bf.hb.*"), tap(t, coordinator, "bf.trim.>")
	if err := worker.NC.Publish(protocol.HeartbeatSubject("w1-x"), nil); err != nil {
		t.Fatal(err)
	}
	if err := worker.NC.Publish(protocol.TrimSubject(0, protocol.OwnerKey{Tenant: "a", Owner: "one"}), nil); err != nil {
		t.Fatal(err)
	}
	next(t, beats)
	next(t, trims)
	if _, err := worker.Publish(within(t), protocol.WorkerSubject("w1-x"), []byte("{}"), nil); err != nil {
		t.Error(err)
	}
	serve(t, worker.NC, "bf.ctl.w1-x.*")
	if _, err := coordinator.Request(protocol.ControlSubject("w1-x", protocol.VerbPing), nil, patience); err != nil {
		t.Errorf("control: %v", err)
	}
	serve(t, coordinator, "bf.ops.*")
	if _, err := operator.Request(protocol.OpsSubject(protocol.OpsOwners), nil, patience); err != nil {
		t.Errorf("operators' service: %v", err)
	}
	seen := serve(t, coordinator, "bf.svc.>")
	agent := s.Agent(t, "a", "one")
	for subject, want := range map[string]string{
		protocol.AgentServiceSubject(protocol.ServiceResult, "one"): "bf.svc.a.result.one",
		protocol.AgentServiceSubject(protocol.ServiceList, ""):      "bf.svc.a.list",
	} {
		if _, err := agent.Request(subject, nil, patience); err != nil {
			t.Errorf("%s: %v", subject, err)
		}
		if got := <-seen; got != want {
			t.Errorf("%s was served as %s, want %s", subject, got, want)
		}
	}
}

// The coordinator's view of the owner records, with either kind of consumer.
func TestACoordinatorKeepsAnOrderedConsumerOfTheRecords(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t, testkit.WithShards(2))
	c, worker := s.Fleet(t), s.Worker(t)
	if _, err := worker.CAS(within(t), "bf.own.1.a.one", []byte("1"), nil, 0); err != nil {
		t.Fatal(err)
	}
	js, err := c.NC.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	pushed := make(chan string, 10)
	sub, err := js.Subscribe("bf.own.1.*.*", func(m *nats.Msg) { pushed <- string(m.Data) }, nats.OrderedConsumer(), nats.BindStream("BF_OWN_1"))
	if err != nil {
		t.Fatal(err)
	}
	pull, err := c.JS.OrderedConsumer(within(t), "BF_OWN_1", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "2"} {
		if i == 1 {
			if _, err := worker.CAS(within(t), "bf.own.1.a.one", []byte(want), nil, 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := <-pushed; got != want {
			t.Errorf("pushed %q, want %q", got, want)
		}
		m, err := pull.Next(jetstream.FetchMaxWait(patience))
		if err != nil || string(m.Data()) != want {
			t.Errorf("pulled %v, %v", m, err)
		}
	}
	if err := sub.Unsubscribe(); err != nil { // deletes the consumer
		t.Error(err)
	}
}

func TestPoliciesAreReadByServicesAndWrittenByOperators(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	write, err := s.Operator(t).JS.KeyValue(within(t), protocol.PolicyBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := write.PutString(within(t), "a.default", "{}"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*natsx.Conn{"coordinator": s.Fleet(t), "worker": s.Worker(t)} {
		kv, err := c.JS.KeyValue(within(t), protocol.PolicyBucket)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := kv.Get(within(t), "a.default"); err != nil {
			t.Errorf("%s gets: %v", name, err)
		}
		w, err := kv.WatchAll(within(t))
		if err != nil {
			t.Errorf("%s watches: %v", name, err)
			continue
		}
		if e := <-w.Updates(); e == nil || e.Key() != "a.default" {
			t.Errorf("%s watches and sees %v", name, e)
		}
		_ = w.Stop()
		ctx, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
		if _, err := kv.PutString(ctx, "a.default", "mine"); err == nil {
			t.Errorf("%s wrote a policy", name)
		}
		cancel()
	}
}

func TestRolesCanDoNoMore(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	publish(t, s.As(t, deploy.AgentUser("a", "one")), "act.one.q", "keep me")
	common := []string{
		"bf.act.0.a.one.q", "bf.in.a.one.q", "bf.push.0.a.one.q", "bf.svc.a.result.one", "bf.events.a.one",
		"$JS.API.STREAM.DELETE.BF_ACT_0", "$JS.API.STREAM.PURGE.BF_OWN_0", "$JS.API.STREAM.PURGE.BF_RES_0",
		"$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.BF_ACT_0", "$JS.API.STREAM.MSG.DELETE.BF_ACT_0",
		"$JS.API.CONSUMER.CREATE.BF_ACT_0.x", "$JS.API.STREAM.INFO.BF_ACT_*", "$KV.bf_policy.a", "_INBOX_operator.x", "$SYS.REQ.SERVER.PING",
	}
	more := map[string][]string{
		deploy.UserCoordinator: {"bf.hb.w", "bf.wrk.w", "bf.trim.0.a.one", "bf.ops.owners", "_INBOX_worker.x"},
		deploy.UserWorker:      {"$JS.API.STREAM.PURGE.BF_ACT_0", "bf.ctl.w.drain", "bf.ops.owners", "$KV.bf_leader.0", "_INBOX_coordinator.x", "$JS.API.CONSUMER.CREATE.BF_OWN_0.x"},
	}
	subscribe := map[string][]string{
		deploy.UserCoordinator: {">", "bf.>", "bf.in.>", "$SYS.>", "_INBOX_worker.>", "_INBOX.>", "$JS.API.>"},
		deploy.UserWorker:      {">", "bf.>", "bf.in.>", "bf.svc.>", "$SYS.>", "_INBOX_coordinator.>", "_INBOX.>", "bf.ops.>"},
	}
	for user, own := range more {
		for _, subject := range append(own, common...) {
			if said := s.RawPublish(t, user, subject, "", "", "x"); !isDenied(said) {
				t.Errorf("%s published %s: %q", user, subject, said)
			}
		}
		for _, subject := range subscribe[user] {
			if said := s.RawSubscribe(t, user, subject); !isDenied(said) {
				t.Errorf("%s subscribed %s: %q", user, subject, said)
			}
		}
	}
	counts, err := s.Fleet(t).SubjectCounts(within(t), "BF_ACT_0", "bf.act.>")
	if err != nil || counts["bf.act.0.a.one.q"] != 1 {
		t.Errorf("stored: %v, %v", counts, err)
	}
}
