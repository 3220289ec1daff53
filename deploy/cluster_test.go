package deploy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// freeAddress is one that nobody takes until it is used: it is of a loopback
// host of its own, since every connection on this machine takes a port of
// 127.0.0.1 for its end.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", testkit.Loopback()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func start(t *testing.T, o deploy.Options) *server.Server {
	t.Helper()
	text, err := deploy.Config(o)
	if err != nil {
		t.Fatal(err)
	}
	opts := &server.Options{}
	if err := opts.ProcessConfigString(text); err != nil {
		t.Fatal(err)
	}
	opts.NoLog, opts.NoSigs = true, true
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return srv
}

func connectAs(t *testing.T, o deploy.Options, user string) *natsx.Conn {
	t.Helper()
	c, err := natsx.Connect(within(t), natsx.Options{URL: "nats://" + o.Listen, User: user, Password: o.Passwords[user], InboxPrefix: deploy.Inbox(user)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestThreeServersFormACluster(t *testing.T) {
	t.Parallel()
	nodes := make([]deploy.Options, 3)
	var routes []string
	var servers []*server.Server
	for range nodes {
		routes = append(routes, freeAddress(t))
	}
	base := options()
	base.Shards, base.MaxStore, base.Cluster = protocol.Shards(2), 1<<40, &deploy.Cluster{}
	base.Passwords = deploy.GeneratePasswords(base)
	for i := range nodes {
		nodes[i] = base
		nodes[i].Listen, nodes[i].StoreDir, nodes[i].ServerName = freeAddress(t), t.TempDir(), fmt.Sprint("n", i)
		nodes[i].Cluster = &deploy.Cluster{Name: "fleet", Listen: routes[i], Routes: routes}
		servers = append(servers, start(t, nodes[i]))
	}
	operator := connectAs(t, nodes[0], deploy.UserOperator)
	provisionWhenReady(t, operator)
	agent := connectAs(t, nodes[1], deploy.AgentUser("acme", "one"))
	worker := connectAs(t, nodes[2], deploy.UserWorker)
	if err := worker.Verify(within(t), protocol.Shards(2)); err != nil {
		t.Error(err)
	}
	done := tap(t, agent.NC, "done.one.>")
	pushes := tap(t, worker.NC, "bf.push.>")
	m, err := natsx.ReadPush(untilHeard(t, pushes, func(int) { publish(t, agent, "act.one.q", "{}") }))
	if err != nil {
		t.Fatal(err)
	}
	shard := m.Subject[len("bf.act."):][:1]
	if _, err := worker.LeaderLast(within(t), "BF_ACT_"+shard, m.Subject); err != nil {
		t.Error(err)
	}
	answer := untilHeard(t, done, func(i int) {
		if _, err := worker.Create(within(t), fmt.Sprintf("bf.res.%s.acme.one.R%d", shard, i), []byte("{}"), nil); err != nil {
			t.Error(err)
		}
	})
	if _, err := natsx.ReadPush(answer); err != nil {
		t.Error(err)
	}

	leader := leaderOf(t, operator, "BF_OWN_0")
	survivor := connectAs(t, nodes[(leader+1)%3], deploy.UserWorker)
	chainSurvives(t, survivor, servers[leader])
}

// untilHeard does something until it is heard. A new subscription is known at
// once to its own server, and a little later to the others; a push that comes
// in between is lost, which is why a push is a hint.
func untilHeard(t *testing.T, ch chan *nats.Msg, do func(i int)) *nats.Msg {
	t.Helper()
	for i := range 60 {
		do(i)
		select {
		case m := <-ch:
			return m
		case <-time.After(patience / 120):
		}
	}
	t.Fatal("nothing was heard")
	return nil
}

// leaderOf is the number of the server that leads a stream.
func leaderOf(t *testing.T, c *natsx.Conn, stream string) int {
	t.Helper()
	st, err := c.JS.Stream(within(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	return int(st.CachedInfo().Cluster.Leader[1] - '0')
}

// chainSurvives writes a chain of compare-and-sets while its leader goes. Every write that was acknowledged is in the
// chain, and every one that got no answer is found by its nonce or is not there.
func chainSurvives(t *testing.T, c *natsx.Conn, leader *server.Server) {
	t.Helper()
	const subject = "bf.own.0.acme.one"
	var last protocol.Seq
	written := 0
	for written < 60 {
		if written == 20 {
			leader.Shutdown() // two of three remain
		}
		nonce := fmt.Appendf(nil, "n%d", written)
		seq, err := c.CAS(within(t), subject, nonce, nil, last)
		switch {
		case err == nil:
		case errors.Is(err, natsx.ErrUncertain), errors.Is(err, natsx.ErrUnavailable):
			t.Logf("write %d: %v", written, err)
			continue // the same write again
		case errors.Is(err, natsx.ErrConflict):
			m, readErr := c.LeaderLast(within(t), "BF_OWN_0", subject)
			if readErr != nil || string(m.Data) != string(nonce) {
				t.Fatalf("write %d: %v, and %q stands there (%v)", written, err, m.Data, readErr)
			}
			seq = m.Seq
		default:
			t.Fatalf("write %d: %v", written, err)
		}
		if seq <= last {
			t.Fatalf("sequence %d after %d", seq, last)
		}
		last = seq
		written++
	}
}

// provisionWhenReady tries until the cluster has elected a leader and knows of
// three servers.
func provisionWhenReady(t *testing.T, c *natsx.Conn) {
	t.Helper()
	deadline := time.Now().Add(2 * patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), patience/4)
		err := c.Provision(ctx, protocol.Shards(2), 3)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestClientsSpeakTLS(t *testing.T) {
	t.Parallel()
	o := options()
	o.Listen = freeAddress(t)
	o.StoreDir, o.TLS = t.TempDir(), selfSigned(t, o.Listen)
	srv := start(t, o)
	if !srv.ReadyForConnections(patience) {
		t.Fatal("not ready")
	}
	user := natsx.Options{URL: "tls://" + o.Listen, User: deploy.UserOperator, Password: o.Passwords[deploy.UserOperator]}
	stranger, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if c, err := natsx.Connect(stranger, user); err == nil {
		c.Close()
		t.Error("connected without knowing the authority")
	}
	user.CAFile = o.TLS.CertFile
	c, err := natsx.Connect(within(t), user)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func selfSigned(t *testing.T, listen string) *deploy.TLS {
	t.Helper()
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := &deploy.TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	for file, block := range map[string]*pem.Block{
		out.CertFile: {Type: "CERTIFICATE", Bytes: der}, out.KeyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
