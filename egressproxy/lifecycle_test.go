package egressproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

func TestSetPolicyClosesWhatItNoLongerAllows(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	f.network.server = echo(t)
	good, other := connect(t, f.proxy), connect(t, f.proxy)
	good.tunnel("good.test:443")
	other.tunnel("other.test:443")
	f.proxy.SetPolicy(mustCompile(t, Policy{DenyHosts: []string{"other.test"}}))
	other.expectEnd()
	good.send("still here")
	good.expect("still here")
	s := connect(t, f.proxy)
	s.denied(s.tunnel("other.test:443"), 403, ReasonDenyHost)
	f.proxy.SetPolicy(nil)
	good.expectEnd()
}

func TestSuspendStopsTunnelsAndResumeGoesOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	f.network.server = echo(t)
	s := connect(t, f.proxy)
	s.tunnel("good.test:443")
	s.send("one")
	s.expect("one")
	before := f.proxy.Stats()
	f.proxy.Suspend()
	s.send("two")
	refused := connect(t, f.proxy)
	refused.denied(refused.tunnel("good.test:443"), 503, ReasonSuspended)
	if after := f.proxy.Stats(); after.BytesUp != before.BytesUp || after.BytesDown != before.BytesDown {
		t.Errorf("octets passed while suspended: %+v, then %+v", before, after)
	}
	f.proxy.Resume()
	s.expect("two")
	if n := len(f.network.targets()); n != 1 {
		t.Errorf("%d connections were dialled", n)
	}
}

// Nobody shuts the gate here: each write asks.
func TestATunnelForwardsNothingWithoutContact(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	f.network.server = echo(t)
	var live atomic.Bool
	live.Store(true)
	f.proxy.SetLive(live.Load)
	s := connect(t, f.proxy)
	s.tunnel("good.test:443")
	s.send("one")
	s.expect("one")
	before := f.proxy.Stats()
	live.Store(false)
	s.send("two")
	refused := connect(t, f.proxy)
	refused.denied(refused.tunnel("good.test:443"), 503, ReasonSuspended)
	if after := f.proxy.Stats(); after.BytesUp != before.BytesUp || after.BytesDown != before.BytesDown {
		t.Errorf("octets passed without contact: %+v, then %+v", before, after)
	}
	f.proxy.Suspend() // the worker has noticed, too
	live.Store(true)
	f.proxy.Resume()
	s.expect("two")
}

func TestCloseTunnelsWhileSuspended(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	f.network.server = echo(t)
	s := connect(t, f.proxy)
	s.tunnel("good.test:443")
	f.proxy.Suspend()
	s.send("held back")
	f.proxy.CloseTunnels()
	s.expectEnd()
	f.proxy.Resume()
	if response, _ := connect(t, f.proxy).get("http://good.test/", "x"); response == nil {
		t.Error("the proxy is gone")
	}
}

// pendingResolver holds its answer back until it is released.
type pendingResolver struct {
	asked, release chan struct{}
	cancelled      chan struct{}
}

func newPendingResolver() *pendingResolver {
	return &pendingResolver{asked: make(chan struct{}), release: make(chan struct{}), cancelled: make(chan struct{})}
}

// LookupNetIP answers even though it was cancelled: the late answer is the test.
func (r *pendingResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	close(r.asked)
	<-ctx.Done()
	close(r.cancelled)
	<-r.release
	return addrsOf("8.8.8.8"), nil
}

func TestAnswerAfterCloseOpensNothing(t *testing.T) {
	t.Parallel()
	resolver := newPendingResolver()
	f := &fixture{T: t, network: &network{server: echo(t)}}
	proxy := f.listen(Options{Policy: mustCompile(t, Policy{}), Resolver: resolver, Dialer: f.network.dial})
	s := connect(t, proxy)
	s.send("CONNECT good.test:443 HTTP/1.1\r\nHost: x\r\n%s\r\n", s.auth)
	wait(t, "the question", resolver.asked)
	closed := make(chan struct{})
	go func() { defer close(closed); _ = proxy.Close() }()
	wait(t, "the cancellation", resolver.cancelled)
	close(resolver.release)
	wait(t, "Close", closed)
	f.noneDialed()
}

func TestAnswerAfterClientAbortOpensNothing(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"tunnel":    "CONNECT good.test:443 HTTP/1.1\r\nHost: x\r\n%s\r\nearly data",
		"request":   "GET http://good.test/ HTTP/1.1\r\nHost: x\r\n%s\r\n",
		"with body": "POST http://good.test/ HTTP/1.1\r\nHost: x\r\n%sContent-Length: 3\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resolver := newPendingResolver()
			f := &fixture{T: t, network: &network{server: echo(t)}}
			proxy := f.listen(Options{Policy: mustCompile(t, Policy{}), Resolver: resolver, Dialer: f.network.dial})
			s := connect(t, proxy)
			s.send(request, s.auth)
			wait(t, "the question", resolver.asked)
			_ = s.Close()
			wait(t, "the cancellation", resolver.cancelled)
			close(resolver.release)
			_ = proxy.Close() // waits for the request
			f.noneDialed()
		})
	}
}

func TestCloseEndsEverything(t *testing.T) {
	leakCheck(t)
	listener := echo(t)
	f := &fixture{T: t, network: &network{server: listener}}
	proxy := f.listen(Options{Policy: mustCompile(t, Policy{Mode: ModeUnrestricted}), Dialer: f.network.dial})
	idle, tunnel, held := connect(t, proxy), connect(t, proxy), connect(t, proxy)
	tunnel.tunnel("127.0.0.1:443")
	held.tunnel("127.0.0.1:443")
	proxy.Suspend()
	held.send("never arrives")
	if err := proxy.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*session{idle, tunnel, held} {
		s.expectEnd()
	}
	if _, err := net.Dial("tcp", proxy.Addr()); err == nil {
		t.Error("the port still accepts")
	}
	if stats := proxy.Stats(); stats.Connections != 0 || stats.Tunnels != 0 {
		t.Errorf("left over: %+v", stats)
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	f := &fixture{T: t}
	proxy := f.listen(Options{Policy: mustCompile(t, Policy{}), Limits: Limits{Connections: 1}})
	first := connect(t, proxy)
	first.get(PrimeURL, "x")
	second := connect(t, proxy)
	response, _ := second.response(http.MethodGet)
	second.denied(response, 503, ReasonBusy)
}

func TestDialRacesFamiliesAndFallsBack(t *testing.T) {
	t.Parallel()
	server := echo(t)
	f := &fixture{T: t}
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	dialer := func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
		switch {
		case target.Addr().Is6(): // a black hole
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-stuck:
				return nil, io.EOF
			}
		case target.Addr() == netip.MustParseAddr("8.8.8.8"):
			return nil, io.ErrUnexpectedEOF
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server)
	}
	resolver := &names{answers: map[string][][]netip.Addr{
		"multi.test.": {addrsOf("2606:4700::1", "2606:4700::2", "8.8.8.8", "9.9.9.9")},
		"dead.test.":  {addrsOf("8.8.8.8")},
	}}
	proxy := f.listen(Options{Policy: mustCompile(t, Policy{}), Resolver: resolver, Dialer: dialer})
	s := connect(t, proxy)
	if response := s.tunnel("multi.test:443"); response.StatusCode != 200 {
		t.Fatal(response.Status)
	}
	s.send("through")
	s.expect("through")
	s = connect(t, proxy)
	s.denied(s.tunnel("dead.test:443"), 502, ReasonDialFailed)
}

func TestNewPolicyMeetsARequestThatIsStillDialing(t *testing.T) {
	t.Parallel()
	dialing, release := make(chan struct{}), make(chan struct{})
	f := &fixture{T: t, network: &network{server: echo(t)}}
	dialer := func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
		close(dialing)
		<-release
		return f.network.dial(ctx, target)
	}
	proxy := f.listen(Options{Policy: mustCompile(t, Policy{}), Dialer: dialer})
	s := connect(t, proxy)
	s.send("CONNECT 8.8.8.8:443 HTTP/1.1\r\nHost: x\r\n%s\r\n", s.auth)
	wait(t, "the dial", dialing)
	proxy.SetPolicy(mustCompile(t, Policy{DenyCIDRs: []string{"8.8.8.0/24"}}))
	close(release)
	response, _ := s.response(http.MethodConnect)
	s.denied(response, 403, ReasonDenyCIDR)
	s.expectEnd()
}

// hookResolver runs a function before it answers.
type hookResolver func(ctx context.Context) error

func (r hookResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	return addrsOf("8.8.8.8"), r(ctx)
}

func TestSuspendDuringResolutionDialsNothing(t *testing.T) {
	t.Parallel()
	f := &fixture{T: t, network: &network{server: echo(t)}}
	var proxy *Proxy
	resolver := hookResolver(func(context.Context) error { proxy.Suspend(); return nil })
	proxy = f.listen(Options{Policy: mustCompile(t, Policy{}), Resolver: resolver, Dialer: f.network.dial})
	s := connect(t, proxy)
	s.denied(s.tunnel("good.test:443"), 503, ReasonSuspended)
	f.noneDialed()
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	short := 50 * time.Millisecond
	f := newFixture(t, Policy{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices a lost client only after the body
		<-r.Context().Done()
	})
	options := func(l Limits) Options {
		return Options{Policy: mustCompile(t, Policy{}), Resolver: f.names, Dialer: f.network.dial, Limits: l}
	}
	t.Run("half a head", func(t *testing.T) {
		t.Parallel()
		s := connect(t, f.listen(options(Limits{HeadTimeout: short})))
		s.send("GET http://good.test/ HTTP/1.1\r\nHost:")
		s.expectEnd()
	})
	t.Run("nothing at all", func(t *testing.T) {
		t.Parallel()
		connect(t, f.listen(options(Limits{KeepAlive: short}))).expectEnd()
	})
	t.Run("idle tunnel", func(t *testing.T) {
		t.Parallel()
		s := connect(t, f.listen(options(Limits{IdleTimeout: short})))
		s.tunnel("good.test:443")
		s.expectEnd()
	})
	t.Run("server that never answers", func(t *testing.T) {
		t.Parallel()
		s := connect(t, f.listen(options(Limits{IdleTimeout: short})))
		response, _ := s.get("http://good.test/", "good.test")
		s.denied(response, 502, ReasonUpstream)
	})
	t.Run("client that stops sending", func(t *testing.T) {
		t.Parallel()
		s := connect(t, f.listen(options(Limits{IdleTimeout: short})))
		s.send("POST http://good.test/ HTTP/1.1\r\nHost: x\r\n%sContent-Length: 10\r\n\r\nhalf", s.auth)
		response, _ := s.response(http.MethodPost)
		s.denied(response, 502, ReasonUpstream)
	})
	t.Run("resolver", func(t *testing.T) {
		t.Parallel()
		o := options(Limits{DNSTimeout: short})
		o.Resolver = hookResolver(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		s := connect(t, f.listen(o))
		s.denied(s.tunnel("good.test:443"), 502, ReasonDNSFailed)
	})
	t.Run("dial", func(t *testing.T) {
		t.Parallel()
		o := options(Limits{DialTimeout: short})
		o.Dialer = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		s := connect(t, f.listen(o))
		s.denied(s.tunnel("good.test:443"), 502, ReasonDialFailed)
	})
}

func TestClientThatLeavesEndsTheServersRequest(t *testing.T) {
	t.Parallel()
	arrived, ended := make(chan struct{}), make(chan struct{})
	f := newFixture(t, Policy{}, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(ended)
	})
	s := connect(t, f.proxy)
	s.send("GET http://good.test/ HTTP/1.1\r\nHost: x\r\n%s\r\n", s.auth)
	wait(t, "the request", arrived)
	_ = s.Close()
	wait(t, "the end of the request", ended)
}

func TestEventStreamFlowsAndStopsWhileSuspended(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	f := newFixture(t, Policy{}, func(w http.ResponseWriter, r *http.Request) {
		for {
			select {
			case event := <-next:
				_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	s := connect(t, f.proxy)
	s.send("GET http://good.test/events HTTP/1.1\r\nHost: x\r\n%s\r\n", s.auth)
	next <- "one"
	response, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q (%v)", got, err)
		}
	}
	read("data: one\n\n")
	before := f.proxy.Stats().BytesDown
	f.proxy.Suspend()
	next <- "two"
	next <- "three" // the server took two back, so it has written two
	if now := f.proxy.Stats().BytesDown; now != before {
		t.Errorf("%d octets passed while suspended", now-before)
	}
	f.proxy.Resume()
	read("data: two\n\ndata: three\n\n")
}
