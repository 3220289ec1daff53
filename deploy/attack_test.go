package deploy_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// lawless takes every permission away from tenant a's users: then the account
// alone is the boundary, as it must be.
func lawless(opts *server.Options) {
	for _, u := range opts.Users {
		if strings.HasSuffix(u.Username, ".a") || strings.Contains(u.Username, ".a.") {
			u.Permissions = nil
		}
	}
}

// fleet is a server with something of everybody in every stream.
type fleet struct {
	*testkit.Server
	operator *natsx.Conn
	// neighbours hears everything in tenant b, two everything that agent two of
	// tenant a may hear.
	neighbours, two chan *nats.Msg
	before          map[string]uint64
}

func newFleet(t *testing.T, opts ...testkit.NATSOption) *fleet {
	t.Helper()
	f := &fleet{Server: testkit.NATS(t, opts...)}
	f.operator = f.Operator(t)
	coordinator := f.Fleet(t)
	for _, subject := range []string{"bf.own.0.a.one", "bf.own.0.a.two", "bf.own.0.b.one", "bf.ev.0.b.one", "bf.res.0.a.one.R1", "bf.res.0.b.one.R1"} {
		publish(t, coordinator, subject, "{}")
	}
	publish(t, f.As(t, deploy.AgentUser("a", "one")), "act.one.q", "mine")
	publish(t, f.As(t, deploy.AgentUser("a", "two")), "act.two.q", "my neighbour's")
	publish(t, f.As(t, deploy.AgentUser("b", "one")), "act.one.q", "another tenant's")
	serve(t, coordinator.NC, "bf.svc.>")

	f.two = tapAgent(t, f.Agent(t, "a", "two"))
	f.neighbours = tapAgent(t, f.Agent(t, "b", "one"))
	b := f.Tenant(t, "b")
	for _, subject := range []string{"done.>", "events.>", "_INBOX.>"} {
		if _, err := b.ChanSubscribe(subject, f.neighbours); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, b)
	f.before = f.stored(t)
	return f
}

// tapAgent hears all that an agent may hear.
func tapAgent(t *testing.T, nc *nats.Conn) chan *nats.Msg {
	t.Helper()
	owner := strings.TrimPrefix(nc.Opts.InboxPrefix, "_INBOX_")
	ch := tap(t, nc, "done."+owner+".>")
	for _, subject := range []string{"events." + owner, "_INBOX_" + owner + ".>"} {
		if _, err := nc.ChanSubscribe(subject, ch); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, nc)
	return ch
}

// stored counts every subject of every stream. A stream that is gone fails.
func (f *fleet) stored(t *testing.T) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, stream := range []string{"BF_ACT_0", "BF_OWN_0", "BF_RES_0", "BF_EV_0", "BF_WRK"} {
		counts, err := f.operator.SubjectCounts(within(t), stream, ">")
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, counts)
	}
	return all
}

// targets are what an attacker names as reply, so that the server's answer goes
// there with the server's rights. In one shared account each of these worked:
// an empty answer emptied BF_ACT and deleted BF_RES.
var targets = []string{
	"$JS.API.STREAM.PURGE.BF_ACT_0", "$JS.API.STREAM.DELETE.BF_RES_0", "$JS.API.STREAM.DELETE.BF_OWN_0",
	"bf.act.0.b.one.q", "bf.act.0.a.two.q", "bf.own.0.b.one", "bf.own.0.a.two", "bf.res.0.b.one.R9", "bf.ev.0.b.one", "bf.wrk.w",
	"bf.done.b.one.R1", "bf.events.b.one", "bf.push.0.b.one.q", "bf.in.b.one.q", "bf.in.a.two.q", "bf.svc.b.result.one",
	"act.two.q", "fleet.result.two", "$KV.bf_leader.shard.0", "$KV.bf_policy.b", "bf.hb.w", "bf.ctl.w.drain", "bf.ops.drain",
	"$SYS.REQ.SERVER.PING", "_INBOX_coordinator.x", "_INBOX_worker.x", "_INBOX_operator.x", "_INBOX.b.x",
}

// requests are all that an agent may send and get an answer to.
var requests = []struct{ subject, header, body string }{
	{"act.one.q", "", ""},
	{"act.one.c", "", "x"},
	{"act.one.q", "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 999\r\n\r\n", ""}, // an error answer
	{"act.one.x", "", ""},        // a lane that nobody serves
	{"fleet.result.one", "", ""}, // answered by the coordinator
	{"fleet.nothing.one", "", ""},
}

func TestReflectedAnswersReachNobody(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]testkit.NATSOption{"agent": nil, "agent without permissions": {testkit.WithServer(lawless)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, opts...)
			if said := f.RawPublish(t, deploy.AgentUser("a", "one"), "nowhere", "", "", ""); isDenied(said) != (opts == nil) {
				t.Fatalf("the attacker is not who it should be: %q", said)
			}
			for _, target := range targets {
				for _, r := range requests {
					f.RawPublish(t, deploy.AgentUser("a", "one"), r.subject, target, r.header, r.body)
				}
			}
			f.unharmed(t)
			if len(f.two) != 0 {
				t.Errorf("agent two heard %q on %s", (<-f.two).Data, (<-f.two).Subject)
			}
		})
	}
}

// unharmed: nothing reached tenant b, and nothing but the attacker's own queue
// and what the server keeps about it changed.
func (f *fleet) unharmed(t *testing.T) {
	t.Helper()
	// One more request of b comes after everything that was sent before it.
	publish(t, f.As(t, deploy.AgentUser("b", "one")), "act.one.q", "still here")
	after := f.stored(t)
	f.before["bf.act.0.b.one.q"] = 2
	for _, own := range []string{"bf.act.0.a.one.q", "bf.act.0.a.one.c"} {
		delete(f.before, own)
		if after[own] == 0 && own == "bf.act.0.a.one.q" {
			t.Error("the attacker's own queue was emptied")
		}
		delete(after, own)
	}
	if d := cmp.Diff(f.before, after); d != "" {
		t.Errorf("stored (-before +after):\n%s", d)
	}
	for len(f.neighbours) > 0 {
		if m := <-f.neighbours; !strings.HasPrefix(m.Subject, "_INBOX") || !strings.Contains(string(m.Data), `"stream":"BF_ACT_0"`) {
			t.Errorf("tenant b heard %q on %s", m.Data, m.Subject)
		}
	}
}

// forbidden are subjects that an agent names directly.
var forbidden = append([]string{
	"act.two.q", "act.two.c", "act.one.x", "act.one", "act.one.q.x", "act.>", "fleet.result.two", "fleet.describe.two",
	"done.two.R1", "done.one.R1", "events.two", "events.one", "_INBOX_two.x",
	"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.INFO.BF_ACT_0", "$JS.API.STREAM.PURGE.BF_ACT_0",
	"$JS.API.STREAM.MSG.GET.BF_OWN_0", "$JS.API.DIRECT.GET.BF_RES_0", "$JS.API.CONSUMER.CREATE.BF_RES_0", "$SRV.PING", "$SYS.REQ.SERVER.PING",
}, "bf.act.0.a.one.q", "bf.act.0.b.one.q", "bf.in.a.one.q", "bf.in.b.one.q", "bf.own.0.a.one", "bf.own.0.b.one", "bf.res.0.a.one.R2",
	"bf.done.b.one.R1", "bf.svc.b.result.one", "bf.ops.drain", "bf.ctl.w.drain", "bf.hb.w", "$KV.bf_leader.shard.0")

func TestAnAgentReachesItsOwnerOnly(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	agent := deploy.AgentUser("a", "one")
	for _, subject := range forbidden {
		if said := f.RawPublish(t, agent, subject, "", "", "x"); !isDenied(said) {
			t.Errorf("published %s: %q", subject, said)
		}
	}
	for _, subject := range []string{
		">", "*", "*.>", "done.>", "done.*.R1", "done.two.>", "events.>", "events.*", "events.two", "_INBOX.>", "_INBOX_two.>", "_INBOX_>",
		"act.>", "act.one.q", "fleet.>", "bf.>", "bf.push.>", "bf.done.b.>", "$SYS.>", "$JS.>", "_R_.>",
	} {
		if said := f.RawSubscribe(t, agent, subject); !isDenied(said) {
			t.Errorf("subscribed %s: %q", subject, said)
		}
	}
	// A message trace may go nowhere that the agent may not publish to.
	trace := "NATS/1.0\r\nNats-Trace-Dest: done.two.R1\r\n\r\n"
	if said := f.RawPublish(t, agent, "act.one.q", "", trace, "x"); !isDenied(said) {
		t.Errorf("trace: %q", said)
	}
	f.unharmed(t)
	if len(f.two) != 0 {
		t.Errorf("agent two heard something on %s", (<-f.two).Subject)
	}
}

// The same subjects, when permissions are no obstacle: the account is.
func TestATenantWithoutPermissionsStaysInItsAccount(t *testing.T) {
	t.Parallel()
	f := newFleet(t, testkit.WithServer(lawless))
	fleetTap := tap(t, f.operator.NC, "bf.>")
	user := deploy.TenantUser("a")
	own := map[string]bool{"act.two.q": true, "act.two.c": true, "fleet.result.two": true, "fleet.describe.two": true, "act.>": true}
	for _, subject := range forbidden {
		if own[subject] {
			continue // the tenant's own owner
		}
		trace := "NATS/1.0\r\nNats-Trace-Dest: bf.done.b.one.R1\r\n\r\n"
		f.RawPublish(t, user, subject, "bf.own.0.b.one", "", "x")
		f.RawPublish(t, user, subject, "", trace, "")
	}
	flush(t, f.operator.NC)
	for len(fleetTap) > 0 {
		// What the imports let in: requests of tenant a that nobody serves.
		if m := <-fleetTap; !strings.HasPrefix(m.Subject, "bf.in.a.") && !strings.HasPrefix(m.Subject, "bf.svc.a.") {
			t.Errorf("FLEET heard %q on %s", m.Data, m.Subject)
		}
	}
	f.unharmed(t)
	nc := f.Tenant(t, "a")
	for _, subject := range []string{"$JS.API.INFO", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.NAMES"} {
		m, err := nc.Request(subject, []byte(`{"name":"X","subjects":["x"]}`), patience)
		if err == nil && !strings.Contains(string(m.Data), `"err_code":10039`) { // not enabled for account
			t.Errorf("%s is answered with %s", subject, m.Data)
		}
	}
}

// Within a tenant an agent can push noise at another's done and events
// subjects. It stores nothing and does not pass for a result.
func TestNoiseWithinATenantDoesNotPassForAResult(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	agent := deploy.AgentUser("a", "one")
	f.RawPublish(t, agent, "act.one.q", "done.two.R9", "", "x")
	f.RawPublish(t, agent, "act.one.q", "events.two", "", "x")
	f.RawPublish(t, agent, "fleet.result.one", "done.two.R8", "", "x")
	for range 3 {
		m := next(t, f.two)
		if got, err := natsx.ReadPush(m); err == nil {
			t.Errorf("noise on %s is taken for %+v", m.Subject, got)
		}
	}
	f.unharmed(t)
}

// A lane that somebody makes up must not be a way around the depth of a queue.
func TestInventedLanesAreNotStored(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for _, subject := range []string{"act.one.x", "act.one.Q", "act.one", "act.one.q.q", "act.one.q.", "act..q", "act.one..q", "act"} {
		f.RawPublish(t, deploy.TenantUser("a"), subject, "", "", "x")
	}
	f.unharmed(t)
	if got := f.stored(t)["bf.act.0.a.one.q"]; got != 1 {
		t.Errorf("the queue holds %d messages", got)
	}
}

func TestWithoutAPasswordNobodyGetsIn(t *testing.T) {
	t.Parallel()
	s := testkit.NATS(t)
	for _, o := range [][]nats.Option{nil, {nats.UserInfo(deploy.UserOperator, "")}, {nats.UserInfo("tenant.a", "wrong-password")}, {nats.UserInfo("sys", "sys")}} {
		if nc, err := nats.Connect(s.URL, o...); err == nil {
			nc.Close()
			t.Errorf("let in with %d options", len(o))
		}
	}
}
