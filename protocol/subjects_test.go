package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

var (
	tokens = rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`)
	lanes  = rapid.SampledFrom([]protocol.Lane{protocol.LaneQueue, protocol.LaneControl})
)

func drawKey(t *rapid.T) protocol.OwnerKey {
	return protocol.OwnerKey{
		Tenant: protocol.Tenant(tokens.Draw(t, "tenant")),
		Owner:  protocol.Owner(tokens.Draw(t, "owner")),
	}
}

func TestSubjectsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := protocol.ActAddress{
			Shard: protocol.Shard(rapid.IntRange(0, 4096).Draw(t, "shard")),
			Key:   drawKey(t), Lane: lanes.Draw(t, "lane"),
		}
		for _, subject := range []string{
			protocol.ActSubject(want.Shard, want.Key, want.Lane),
			protocol.PushSubject(want.Shard, want.Key, want.Lane),
		} {
			got, err := protocol.ParseActSubject(subject)
			if err != nil || got != want {
				t.Fatalf("%s: got %+v, %v", subject, got, err)
			}
		}
		for _, subject := range []string{
			protocol.OwnSubject(want.Shard, want.Key),
			protocol.TrimSubject(want.Shard, want.Key),
		} {
			shard, key, err := protocol.ParseOwnSubject(subject)
			if err != nil || shard != want.Shard || key != want.Key {
				t.Fatalf("%s: got %d %v, %v", subject, shard, key, err)
			}
		}
	})
}

func TestServiceSubjectsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, owner := range []protocol.Owner{"", "agent-7"} {
		subject := protocol.ServiceSubject("acme", protocol.ServiceResult, owner)
		tenant, verb, got, err := protocol.ParseServiceSubject(subject)
		if err != nil || tenant != "acme" || verb != protocol.ServiceResult || got != owner {
			t.Errorf("%s: got %q %q %q, %v", subject, tenant, verb, got, err)
		}
	}
}

func TestParseActSubjectRefuses(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{
		"",
		"bf.act.0.acme.agent",               // no lane
		"bf.act.0.acme.agent.q.more",        // too long
		"bf.act.0.acme.agent.x",             // no such lane
		"bf.act.0.acme.agent.Q",             // lanes are lower case
		"bf.act.0.acme.*.q",                 // the literal token, by raw publish
		"bf.act.0.*.agent.q",                //
		"bf.act.0.acme.>.q",                 //
		"bf.act.*.acme.agent.q",             //
		"bf.act.0.acme.{{wildcard(1)}}.q",   // would be a template in a mapping
		"bf.act.0.acme.a{b.q",               //
		"bf.act.0.acme.agent.7.q",           // an owner with a dot
		"bf.act.0.acme..q",                  //
		"bf.act.00.acme.agent.q",            // one shard, one spelling
		"bf.act.-1.acme.agent.q",            //
		"bf.act.+1.acme.agent.q",            //
		"bf.act.1e3.acme.agent.q",           //
		"bf.act.99999999999999999999.a.b.q", //
		"bf.res.0.acme.agent.q",             // another stream
		"act.agent.q",                       // a tenant's own spelling
		"bf.act.0.acme." + strings.Repeat("a", 65) + ".q",
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			if got, err := protocol.ParseActSubject(subject); err == nil {
				t.Errorf("accepted as %+v", got)
			}
		})
	}
}

func TestParseOwnAndServiceSubjectRefuse(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"bf.own.0.acme", "bf.own.0.acme.*", "bf.own.x.acme.a", "bf.ev.0.acme.a", "bf.own.0.acme.a.b"} {
		if _, _, err := protocol.ParseOwnSubject(subject); err == nil {
			t.Errorf("%s is accepted", subject)
		}
	}
	for _, subject := range []string{"bf.svc.acme", "bf.svc.*.list", "bf.svc.acme.result.*", "bf.svc.acme.result.a.b", "bf.ops.acme.list"} {
		if _, _, _, err := protocol.ParseServiceSubject(subject); err == nil {
			t.Errorf("%s is accepted", subject)
		}
	}
}

// TestEverySubjectIsInItsStream: a subject that no stream takes loses messages
// silently.
func TestEverySubjectIsInItsStream(t *testing.T) {
	t.Parallel()
	key := protocol.OwnerKey{Tenant: "acme", Owner: "agent-7"}
	const shard = 3
	subjects := map[string][]string{
		protocol.ActStream(shard): {
			protocol.ActSubject(shard, key, protocol.LaneQueue), protocol.ActSubject(shard, key, protocol.LaneControl),
		},
		protocol.OwnStream(shard): {protocol.OwnSubject(shard, key)},
		protocol.ResStream(shard): {protocol.ResSubject(shard, key, "s1-2")},
		protocol.EvStream(shard):  {protocol.EventSubject(shard, key)},
		protocol.WorkerStream:     {protocol.WorkerSubject("w1-abc")},
	}
	streams := append(protocol.ShardStreams(shard), protocol.FleetStreams()...)
	for _, stream := range streams {
		if len(subjects[stream.Name]) == 0 {
			t.Errorf("%s has no subject here", stream.Name)
		}
		for _, subject := range subjects[stream.Name] {
			if n := takers(streams, subject); len(n) != 1 || n[0] != stream.Name {
				t.Errorf("%s is taken by %v, want %s alone", subject, n, stream.Name)
			}
		}
	}
	for _, subject := range []string{
		protocol.PushSubject(shard, key, "q"), protocol.TrimSubject(shard, key), protocol.DoneSubject(key, "r"),
		protocol.HeartbeatSubject("w"), protocol.ControlSubject("w", "ping"), protocol.ServiceSubject("acme", "list", ""), protocol.OpsSubject("owners"),
	} {
		if n := takers(streams, subject); n != nil {
			t.Errorf("%s is stored by %v", subject, n)
		}
	}
}

func takers(streams []protocol.Stream, subject string) (names []string) {
	for _, s := range streams {
		for _, filter := range s.Subjects {
			if server.SubjectsCollide(filter, subject) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// TestRepublishMatchesTheSubjects runs nats-server's own transforms over ours.
func TestRepublishMatchesTheSubjects(t *testing.T) {
	t.Parallel()
	key := protocol.OwnerKey{Tenant: "acme", Owner: "agent-7"}
	const shard = 3
	want := map[string][2]string{
		protocol.ActStream(shard): {protocol.ActSubject(shard, key, "c"), protocol.PushSubject(shard, key, "c")},
		protocol.ResStream(shard): {protocol.ResSubject(shard, key, "s1-2"), protocol.DoneSubject(key, "s1-2")},
		protocol.EvStream(shard):  {protocol.EventSubject(shard, key), "bf.events.acme.agent-7"},
	}
	got := map[string][2]string{}
	for _, stream := range protocol.ShardStreams(shard) {
		if stream.RepublishFrom == "" {
			continue
		}
		transform, err := server.NewSubjectTransform(stream.RepublishFrom, stream.RepublishTo)
		if err != nil {
			t.Fatalf("%s: %v", stream.Name, err)
		}
		from := want[stream.Name][0]
		to, err := transform.Match(from)
		if err != nil {
			t.Fatalf("%s: %v", stream.Name, err)
		}
		got[stream.Name] = [2]string{from, to}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestShardOfIsTheServersPartition: were they different, services would look
// for an owner where none of its messages are.
func TestShardOfIsTheServersPartition(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 2, 4, 7, 64} {
		transform, err := server.NewSubjectTransform("bf.in.acme.*.q",
			fmt.Sprintf("bf.act.{{partition(%d,1)}}.acme.{{wildcard(1)}}.q", shards))
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			owner := protocol.Owner(tokens.Draw(t, "owner"))
			got, err := transform.Match("bf.in.acme." + string(owner) + ".q")
			if err != nil {
				t.Fatal(err)
			}
			key := protocol.OwnerKey{Tenant: "acme", Owner: owner}
			if want := protocol.ActSubject(protocol.ShardOf(owner, shards), key, "q"); got != want {
				t.Fatalf("nats-server maps to %s, ShardOf says %s", got, want)
			}
		})
	}
}

func FuzzActSubject(f *testing.F) {
	for _, seed := range []string{
		"bf.act.0.acme.agent.q", "bf.push.12.a.b.c", "bf.act.0.acme.*.q", "bf.act.00.a.b.q",
		"bf.act.0.a.{{wildcard(1)}}.q", "......", "bf.act.-0.a.b.q", "bf.act.0.\xff.b.q",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		got, err := protocol.ParseActSubject(subject)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			return
		}
		act, push := protocol.ActSubject(got.Shard, got.Key, got.Lane), protocol.PushSubject(got.Shard, got.Key, got.Lane)
		if subject != act && subject != push {
			t.Errorf("%q was read as %q", subject, act)
		}
	})
}
