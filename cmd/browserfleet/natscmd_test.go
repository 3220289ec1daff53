package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// natsServer is `browserfleet nats serve` from what `nats config` wrote.
type natsServer struct {
	t        testing.TB
	dir, url string
	secrets  string
}

func newNATSServer(t testing.TB) *natsServer {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return &natsServer{t: t, dir: dir, url: "nats://" + l.Addr().String(), secrets: filepath.Join(dir, "secrets")}
}

// serve writes the configuration and runs the server until the returned function
// is called.
func (s *natsServer) serve(store string, args ...string) (stop func()) {
	s.t.Helper()
	conf := filepath.Join(s.dir, "nats.conf")
	config := append([]string{
		"nats", "config", "--listen", strings.TrimPrefix(s.url, "nats://"), "--store-dir", filepath.Join(s.dir, store),
		"--passwords", s.secrets, "-f", conf,
	}, args...)
	if r := program(s.t, nil, config...); r.code != 0 {
		s.t.Fatalf("%v: %s", config, r.err)
	}
	cmd := command(s.t.Context(), s.t, []string{"BROWSERFLEET_NATS_CONFIG_FILE=" + conf}, "nats", "serve")
	out := newLines()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop = func() { _ = cmd.Process.Signal(os.Interrupt); <-ended }
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return stop
}

func (s *natsServer) provision(shards string) ran {
	s.t.Helper()
	return program(s.t, nil, "nats", "provision", "--nats", s.url, "--shards", shards, "--password-file", passwordFile(s.secrets, "operator"))
}

// coordinate runs a coordinator until it says something.
func (s *natsServer) coordinate(shards, says string) {
	s.t.Helper()
	cmd := command(s.t.Context(), s.t, []string{
		"BROWSERFLEET_NATS_URL=" + s.url, "BROWSERFLEET_SHARDS=" + shards,
		"BROWSERFLEET_NATS_PASSWORD_FILE=" + passwordFile(s.secrets, "coordinator"),
	}, "coordinator")
	out := newLines()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	out.await(s.t, says)
}

// TestAnotherNumberOfShardsIsRefusedAndThereIsAWay runs the commands of
// docs/operations.md.
func TestAnotherNumberOfShardsIsRefusedAndThereIsAWay(t *testing.T) {
	t.Parallel()
	s := newNATSServer(t)
	stop := s.serve("two", "--tenants", "a", "--tenants", "b", "--shards", "2")
	s.must("2")
	s.coordinate("2", "coordinator is up")

	// Another number.
	for _, shards := range []string{"1", "3", "2,b=1"} {
		r := s.provision(shards)
		if r.code != exitFailed || !strings.Contains(r.err, "fixed at birth") || !strings.Contains(r.err, "docs/operations.md") {
			t.Errorf("provision %s: exit %d: %s", shards, r.code, r.err)
		}
	}
	s.coordinate("3", "number of shards is 2, want 3")
	if r := s.provision("2,b=2"); r.code != exitUsage {
		t.Errorf("a map that is none: exit %d: %s", r.code, r.err)
	}

	// A shard for a new tenant.
	s.must("3,c=2")
	s.coordinate("3,c=2", "waiting for the streams") // the server does not map c yet
	stop()
	stop = s.serve("two", "--tenants", "a", "--tenants", "b", "--tenants", "c", "--shards", "3,c=2")
	s.coordinate("3,c=2", "coordinator is up")
	s.coordinate("2", "number of shards is 3,c=2, want 2")
	stop()

	// Another number of shared shards, in another folder.
	s.serve("four", "--tenants", "a", "--tenants", "b", "--shards", "4")
	s.must("4")
	s.coordinate("4", "coordinator is up")
}

// must provisions; the server may still be starting.
func (s *natsServer) must(shards string) {
	s.t.Helper()
	var r ran
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); {
		if r = s.provision(shards); r.code == 0 {
			return
		}
	}
	s.t.Fatalf("provision %s: exit %d: %s", shards, r.code, r.err)
}
