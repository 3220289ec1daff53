package testkit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// natsWait bounds every wait for the embedded server.
const natsWait = 2 * time.Minute

// Server is a NATS server in this process, on a loopback port and a temporary
// folder, with the configuration that package deploy generates and the fleet's
// streams.
type Server struct {
	URL    string
	Shards int // how many there are
	Map    protocol.ShardMap

	options deploy.Options
	change  func(*server.Options)
	running *server.Server // nil while stopped
}

// NATSOption changes what NATS starts.
type NATSOption func(*natsSetup)

type natsSetup struct {
	options    deploy.Options
	change     func(*server.Options)
	unprepared bool
}

// WithShards sets the number of shards; 1 without it.
func WithShards(n int) NATSOption {
	return func(s *natsSetup) { s.options.Shards = protocol.Shards(n) }
}

// WithShardMap sets which shards there are and whose.
func WithShardMap(m protocol.ShardMap) NATSOption {
	return func(s *natsSetup) { s.options.Shards = m }
}

// WithTenants sets the tenants; without it there are "a" and "b", each with
// agents for the owners "one" and "two".
func WithTenants(t ...deploy.Tenant) NATSOption {
	return func(s *natsSetup) { s.options.Tenants = t }
}

// WithoutStreams leaves provisioning to the test.
func WithoutStreams() NATSOption { return func(s *natsSetup) { s.unprepared = true } }

// WithServer changes what the server made of the configuration, for a test that
// needs less protection than the configuration gives.
func WithServer(change func(*server.Options)) NATSOption {
	return func(s *natsSetup) { s.change = change }
}

// NATS starts a server, which ends with the test.
func NATS(t testing.TB, opts ...NATSOption) *Server {
	t.Helper()
	agents := []protocol.Owner{"one", "two"}
	setup := natsSetup{options: deploy.Options{
		Tenants:  []deploy.Tenant{{Name: "a", Agents: agents}, {Name: "b", Agents: agents}},
		Shards:   protocol.Shards(1),
		Listen:   Loopback() + ":-1", // any free port
		StoreDir: t.TempDir(),
		MaxStore: 1 << 40, // BF_ACT reserves 4 GiB a shard, which a CI disk may not have
	}}
	for _, o := range opts {
		o(&setup)
	}
	setup.options.Passwords = deploy.GeneratePasswords(setup.options)
	s := &Server{Shards: setup.options.Shards.Total, Map: setup.options.Shards, options: setup.options, change: setup.change}
	s.start(t)
	t.Cleanup(func() { s.Stop(t) })
	// From now on the port is fixed, so that clients find a restarted server.
	s.options.Listen = s.running.Addr().(*net.TCPAddr).String()
	s.URL = "nats://" + s.options.Listen
	if !setup.unprepared {
		s.provision(t)
	}
	return s
}

// Loopback is a loopback host of this test's own. A server that is stopped and
// started again at its address finds it free there; a port of 127.0.0.1 may have
// been given to an outgoing connection meanwhile, of any process.
func Loopback() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), rand.N(250), 1+rand.N(250))
}

func (s *Server) start(t testing.TB) {
	t.Helper()
	text, err := deploy.Config(s.options)
	if err != nil {
		t.Fatal(err)
	}
	opts := &server.Options{}
	if err := opts.ProcessConfigString(text); err != nil {
		t.Fatalf("nats-server refuses the configuration: %v", err)
	}
	opts.NoLog, opts.NoSigs = true, true
	if s.change != nil {
		s.change(opts)
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatalf("nats-server: %v", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(natsWait) {
		srv.Shutdown()
		t.Fatal("nats-server is not ready")
	}
	s.running = srv
}

func (s *Server) provision(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), natsWait)
	defer cancel()
	c := s.connect(t, deploy.UserOperator)
	defer c.Close()
	if err := c.Provision(ctx, s.Map, 1); err != nil {
		t.Fatal(err)
	}
}

// Stop stops the server; what is stored stays. Stopping twice is harmless.
func (s *Server) Stop(testing.TB) {
	if s.running == nil {
		return
	}
	s.running.Shutdown()
	s.running.WaitForShutdown()
	s.running = nil
}

// Restart stops the server and starts it again on the same port and folder.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	s.start(t)
}

// Fleet connects as a coordinator.
func (s *Server) Fleet(t testing.TB) *natsx.Conn { t.Helper(); return s.As(t, deploy.UserCoordinator) }

// Worker connects as a worker.
func (s *Server) Worker(t testing.TB) *natsx.Conn { t.Helper(); return s.As(t, deploy.UserWorker) }

// Operator connects as the operator.
func (s *Server) Operator(t testing.TB) *natsx.Conn { t.Helper(); return s.As(t, deploy.UserOperator) }

// As connects as a user of the configuration; the connection ends with the test.
func (s *Server) As(t testing.TB, user string) *natsx.Conn {
	t.Helper()
	c := s.connect(t, user)
	t.Cleanup(c.Close)
	return c
}

// Tenant connects as the user that speaks for every owner of a tenant.
func (s *Server) Tenant(t testing.TB, tenant protocol.Tenant) *nats.Conn {
	t.Helper()
	return s.As(t, deploy.TenantUser(tenant)).NC
}

// Agent connects as the user that speaks for one owner.
func (s *Server) Agent(t testing.TB, tenant protocol.Tenant, owner protocol.Owner) *nats.Conn {
	t.Helper()
	return s.As(t, deploy.AgentUser(tenant, owner)).NC
}

// Options are what a service connects with as this user.
func (s *Server) Options(user string) natsx.Options {
	return natsx.Options{
		URL: s.URL, Name: user, User: user,
		Password: s.options.Passwords[user], InboxPrefix: deploy.Inbox(user),
	}
}

func (s *Server) connect(t testing.TB, user string) *natsx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), natsWait)
	defer cancel()
	c, err := natsx.Connect(ctx, s.Options(user))
	if err != nil {
		t.Fatalf("connect as %s: %v", user, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return c
}
