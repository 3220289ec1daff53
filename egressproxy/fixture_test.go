package egressproxy

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds every wait of a test; none asserts on how long it took.
const patience = 10 * time.Second

// names is a resolver whose answers a test writes down. Each call consumes one
// answer of its name; the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   map[string]int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	n.asked[host]++
	list := n.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		n.answers[host] = list[1:]
	}
	return list[0], nil
}

func (n *names) count(host string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[host]
}

// network sends every checked address to one local server and notes what was
// dialled, so that tests can use public addresses without an internet.
type network struct {
	mu     sync.Mutex
	dialed []netip.AddrPort
	server string
}

func (n *network) dial(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, target)
	n.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", n.server)
}

func (n *network) targets() []netip.AddrPort {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]netip.AddrPort(nil), n.dialed...)
}

// fixture is a proxy, a server behind it and the names that lead there.
type fixture struct {
	*testing.T
	proxy   *Proxy
	names   *names
	network *network
	hits    atomic.Int64
}

// newFixture answers good.test and friends with public addresses; handler nil
// answers "hello".
func newFixture(t *testing.T, policy Policy, handler http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{T: t}
	if handler == nil {
		handler = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.hits.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	f.names = &names{answers: map[string][][]netip.Addr{
		"good.test.":    {addrsOf("8.8.8.8")},
		"other.test.":   {addrsOf("9.9.9.9")},
		"private.test.": {addrsOf("10.0.0.1")},
		"mixed.test.":   {addrsOf("8.8.8.8", "10.0.0.1")},
		"rebind.test.":  {addrsOf("8.8.8.8"), addrsOf("127.0.0.1")},
	}}
	f.network = &network{server: server.Listener.Addr().String()}
	f.proxy = f.listen(Options{Policy: mustCompile(t, policy), Resolver: f.names, Dialer: f.network.dial})
	return f
}

func (f *fixture) listen(options Options) *Proxy {
	f.Helper()
	proxy, err := Listen(f.Context(), options)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			f.Error(err)
		}
	})
	return proxy
}

// session is one raw connection to a proxy.
type session struct {
	*testing.T
	net.Conn
	reader *bufio.Reader
	auth   string
}

func connect(t *testing.T, p *Proxy) *session {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	user, password := p.Credentials()
	auth := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	return &session{T: t, Conn: conn, reader: bufio.NewReader(conn), auth: auth}
}

func (s *session) send(format string, args ...any) {
	s.Helper()
	if _, err := fmt.Fprintf(s.Conn, format, args...); err != nil {
		s.Fatal(err)
	}
}

// response reads one answer with its body.
func (s *session) response(method string) (*http.Response, string) {
	s.Helper()
	response, err := http.ReadResponse(s.reader, &http.Request{Method: method})
	if err != nil {
		s.Fatalf("response: %v", err)
	}
	if method == http.MethodConnect && response.StatusCode == http.StatusOK {
		return response, ""
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("body: %v", err)
	}
	return response, string(body)
}

func (s *session) get(url, host string) (*http.Response, string) {
	s.Helper()
	s.send("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", url, host, s.auth)
	return s.response(http.MethodGet)
}

func (s *session) tunnel(authority string) *http.Response {
	s.Helper()
	s.send("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority, authority, s.auth)
	response, _ := s.response(http.MethodConnect)
	return response
}

// denied asserts on status and reason of an answer of the proxy.
func (s *session) denied(response *http.Response, status int, reason Reason) {
	s.Helper()
	if response.StatusCode != status || response.Header.Get(DeniedHeader) != string(reason) {
		s.Errorf("got %s, reason %q; want %d %s", response.Status, response.Header.Get(DeniedHeader), status, reason)
	}
}

// noneDialed asserts that no connection was made.
func (f *fixture) noneDialed() {
	f.Helper()
	if targets := f.network.targets(); len(targets) != 0 || f.hits.Load() != 0 {
		f.Errorf("dialled %v, %d requests reached the server", targets, f.hits.Load())
	}
}

// echo is a TCP server that returns what it gets; it ends with the test.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(patience))
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func (s *session) expect(want string) {
	s.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s.reader, got); err != nil || string(got) != want {
		s.Fatalf("got %q (%v), want %q", got, err, want)
	}
}

// expectEnd reads until the other side ends the connection.
func (s *session) expectEnd() {
	s.Helper()
	_, err := io.Copy(io.Discard, s.reader)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		s.Fatal("the connection is still open")
	}
}

func wait(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("timed out: %s", what)
	}
}

// leakCheck fails when goroutines of the proxy outlive Close.
func leakCheck(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}
