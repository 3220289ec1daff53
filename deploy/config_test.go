package deploy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats-server/v2/server"
)

func options() deploy.Options {
	o := deploy.Options{
		Tenants:  []deploy.Tenant{{Name: "acme", Agents: []protocol.Owner{"one", "two_2"}, MaxConnections: 50}, {Name: "b-2"}},
		Shards:   protocol.Shards(4),
		Listen:   "127.0.0.1:4222",
		StoreDir: "/var/lib/browserfleet/nats",
	}
	o.Passwords = deploy.GeneratePasswords(o)
	return o
}

func TestTheServerAcceptsTheConfiguration(t *testing.T) {
	t.Parallel()
	full := options()
	full.ServerName, full.Monitor, full.SyncAlways, full.MaxStore = "n1", "127.0.0.1:8222", true, 1<<34
	full.Cluster = &deploy.Cluster{Name: "fleet", Listen: "10.0.0.1:6222", Routes: []string{"10.0.0.2:6222", "10.0.0.3:6222"}}
	full.Passwords = deploy.GeneratePasswords(full)
	hashed := options()
	hashed.Passwords[deploy.UserWorker] = "$2a$11$W2zko751KUvVy59mUTWmpOdWjpEm5qhcCZRd05GjI/sSOT.xtiHyG"
	none := options()
	none.Tenants = nil
	for name, o := range map[string]deploy.Options{"plain": options(), "full": full, "bcrypt": hashed, "no tenants": none} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := deploy.Config(o)
			if err != nil {
				t.Fatal(err)
			}
			var opts server.Options
			if err := opts.ProcessConfigString(text); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if opts.MaxPayload != 1<<20 || opts.PingInterval.Seconds() != 1 || opts.MaxPingsOut != 2 || opts.SystemAccount != "SYS" {
				t.Errorf("payload %d, ping %v x %d, system %q", opts.MaxPayload, opts.PingInterval, opts.MaxPingsOut, opts.SystemAccount)
			}
			if len(opts.Users) != len(o.Users())-min(1, len(opts.Routes)) {
				t.Errorf("%d users, want %v", len(opts.Users), o.Users())
			}
			for _, u := range opts.Users {
				if u.Password != string(o.Passwords[u.Username]) {
					t.Errorf("user %s has another password", u.Username)
				}
			}
		})
	}
}

func TestWhatWouldBreakOutOfTheFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*deploy.Options){
		"a tenant's shard among the shared": func(o *deploy.Options) {
			o.Shards.Dedicated = map[protocol.Tenant]protocol.Shard{"acme": 0}
		},
		"a shard of a tenant that is not served": func(o *deploy.Options) {
			o.Shards.Dedicated = map[protocol.Tenant]protocol.Shard{"nobody": 3}
		},
		"a tenant with the services' name": func(o *deploy.Options) { o.Tenants[0].Name = protocol.ProbeTenant },
		"no shards":                        func(o *deploy.Options) { o.Shards = protocol.Shards(0) },
		"too many shards":                  func(o *deploy.Options) { o.Shards = protocol.Shards(protocol.MaxShards + 1) },
		"no address":                       func(o *deploy.Options) { o.Listen = "" },
		"no store":                         func(o *deploy.Options) { o.StoreDir = "" },
		"a quote":                          func(o *deploy.Options) { o.StoreDir = `x" users: "` },
		"a line break":                     func(o *deploy.Options) { o.Listen = "x\ny" },
		"a tenant with a dot":              func(o *deploy.Options) { o.Tenants[0].Name = "a.b" },
		"a tenant that is all":             func(o *deploy.Options) { o.Tenants[0].Name = "*" },
		"a tenant twice":                   func(o *deploy.Options) { o.Tenants[1].Name = o.Tenants[0].Name },
		"an agent that is all":             func(o *deploy.Options) { o.Tenants[0].Agents[0] = ">" },
		"an agent twice":                   func(o *deploy.Options) { o.Tenants[0].Agents[0] = o.Tenants[0].Agents[1] },
		"no password":                      func(o *deploy.Options) { delete(o.Passwords, deploy.UserWorker) },
		"a short password":                 func(o *deploy.Options) { o.Passwords[deploy.UserWorker] = "topsecr" },
		"a password with quotes":           func(o *deploy.Options) { o.Passwords[deploy.UserWorker] = `topsecret" x: "` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			change(&o)
			o2 := deploy.GeneratePasswords(o)
			for u, p := range o2 {
				if _, ok := o.Passwords[u]; !ok && u != deploy.UserWorker {
					o.Passwords[u] = p
				}
			}
			text, err := deploy.Config(o)
			if err == nil {
				t.Fatalf("accepted:\n%s", text)
			}
			if strings.Contains(err.Error(), "topsecr") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

func TestPasswordsDifferAndDoNotPrint(t *testing.T) {
	t.Parallel()
	o := options()
	seen := map[natsx.Secret]bool{}
	for _, p := range o.Passwords {
		if seen[p] || len(p) < 32 {
			t.Errorf("a password of %d characters, seen before: %v", len(p), seen[p])
		}
		seen[p] = true
		if strings.Contains(fmt.Sprintf("%v %+v %#v", o, o, o), string(p)) {
			t.Error("Options print a password")
		}
	}
}

// nats-server tries the mappings of an account in random order.
func TestMappingsNeverOverlap(t *testing.T) {
	t.Parallel()
	for _, shards := range []string{"4", "3,acme=2", "4,acme=3,b-2=2"} {
		t.Run(shards, func(t *testing.T) { t.Parallel(); checkMappings(t, shards) })
	}
}

func checkMappings(t *testing.T, shards string) {
	t.Helper()
	o := options()
	o.Shards = shardMap(t, shards)
	text, err := deploy.Config(o)
	if err != nil {
		t.Fatal(err)
	}
	var opts server.Options
	if err := opts.ProcessConfigString(text); err != nil {
		t.Fatal(err)
	}
	var from []string
	for line := range strings.Lines(text) {
		if s, ok := strings.CutPrefix(strings.TrimSpace(line), `"bf.in.`); ok && strings.Contains(s, ": ") {
			from = append(from, "bf.in."+s[:strings.Index(s, `"`)])
		}
	}
	if len(from) != 2*2+1 { // two tenants' two lanes, and the line that services ask
		t.Fatalf("mappings %v", from)
	}
	for i, a := range from {
		for _, b := range from[i+1:] {
			if server.SubjectsCollide(a, b) {
				t.Errorf("%s and %s overlap", a, b)
			}
		}
	}
}

func shardMap(t *testing.T, text string) protocol.ShardMap {
	t.Helper()
	m, err := protocol.ParseShards(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// restarts of the server: it tries the mappings of an account in random order, so
// overlapping ones would differ between two of them.
const restarts = 20

func TestEveryOwnerIsInTheSameShardAfterTwentyRestarts(t *testing.T) {
	t.Parallel()
	for _, shards := range []string{"5", "3,b=2", "4,b=2,a=3"} {
		t.Run(shards, func(t *testing.T) {
			t.Parallel()
			m := shardMap(t, shards)
			s := testkit.NATS(t, testkit.WithShardMap(m))
			var owners []protocol.Owner
			for i := range 12 {
				owners = append(owners, protocol.Owner(fmt.Sprintf("owner_%d-%x", i, i*i*7919)))
			}
			for round := 1; round <= restarts; round++ {
				for _, tenant := range []protocol.Tenant{"a", "b"} {
					c := connect(t, s, deploy.TenantUser(tenant))
					for _, o := range owners {
						publish(t, c, protocol.AgentActSubject(o, protocol.LaneQueue), "x")
						publish(t, c, protocol.AgentActSubject(o, protocol.LaneControl), "x")
					}
					c.Close()
				}
				c := connect(t, s, deploy.UserCoordinator)
				if err := c.VerifyMapping(within(t), m); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				c.Close()
				s.Restart(t)
			}
			checkShards(t, s, owners, restarts)
		})
	}
}

// connect is a connection that the test closes before it restarts the server.
func connect(t *testing.T, s *testkit.Server, user string) *natsx.Conn {
	t.Helper()
	c, err := natsx.Connect(within(t), s.Options(user))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheServersShardIsShardOf(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 2, 5, 16} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			t.Parallel()
			s := testkit.NATS(t, testkit.WithShards(shards))
			var owners []protocol.Owner
			for i := range 40 {
				owners = append(owners, protocol.Owner(fmt.Sprintf("owner_%d-%x", i, i*i*7919)))
			}
			for round := 1; round <= 2; round++ { // the second after a restart
				for _, tenant := range []protocol.Tenant{"a", "b"} {
					c := s.As(t, deploy.TenantUser(tenant))
					for _, o := range owners {
						publish(t, c, protocol.AgentActSubject(o, protocol.LaneQueue), "x")
						publish(t, c, protocol.AgentActSubject(o, protocol.LaneControl), "x")
					}
				}
				checkShards(t, s, owners, uint64(round))
				s.Restart(t)
			}
		})
	}
}

func checkShards(t *testing.T, s *testkit.Server, owners []protocol.Owner, each uint64) {
	t.Helper()
	c := s.Fleet(t)
	got := map[string]uint64{}
	for shard := range s.Shards {
		counts, err := c.SubjectCounts(within(t), protocol.ActStream(protocol.Shard(shard)), "bf.act.>")
		if err != nil {
			t.Fatal(err)
		}
		for subject, n := range counts {
			got[subject] = n
		}
	}
	if len(got) != 4*len(owners) {
		t.Errorf("%d subjects hold messages, want %d", len(got), 4*len(owners))
	}
	for _, o := range owners {
		for _, tenant := range []protocol.Tenant{"a", "b"} {
			subject := protocol.ActSubject(s.Map.Of(protocol.OwnerKey{Tenant: tenant, Owner: o}), protocol.OwnerKey{Tenant: tenant, Owner: o}, protocol.LaneQueue)
			if got[subject] != each {
				t.Errorf("%s holds %d, want %d", subject, got[subject], each)
			}
		}
	}
}
