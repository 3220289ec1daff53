package egressproxy

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutCredentialsNothingIsReached(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	stranger := newFixture(t, Policy{}, nil)
	for name, auth := range map[string]string{
		"none":         "",
		"wrong":        "Proxy-Authorization: Basic YTpi\r\n",
		"not base64":   "Proxy-Authorization: Basic ???\r\n",
		"other scheme": "Proxy-Authorization: Bearer x\r\n",
		"of another":   connect(t, stranger.proxy).auth,
	} {
		for _, target := range []string{"GET http://good.test/", "CONNECT good.test:443", "GET " + PrimeURL} {
			s := connect(t, f.proxy)
			s.send("%s HTTP/1.1\r\nHost: good.test\r\n%s\r\n", target, auth)
			response, _ := s.response(http.MethodGet)
			if response.StatusCode != 407 || !strings.HasPrefix(response.Header.Get("Proxy-Authenticate"), "Basic realm=") {
				t.Errorf("%s, %s: %s", name, target, response.Status)
			}
		}
	}
	f.noneDialed()
}

func TestForwarding(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	var body string
	f := newFixture(t, Policy{}, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen, body = r, string(b)
		w.Header().Set("Set-Cookie", "a=1")
		w.Header().Set("Keep-Alive", "timeout=1")
		w.Header().Set(DeniedHeader, "loopback")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, "made")
	})
	s := connect(t, f.proxy)
	s.send("POST http://GOOD.test:80/p?q HTTP/1.1\r\nHost: internal.test\r\n%sContent-Length: 4\r\n"+
		"Connection: X-Drop\r\nX-Drop: 1\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Keep: 1\r\n\r\nbody", s.auth)
	response, got := s.response(http.MethodPost)
	if response.StatusCode != 201 || got != "made" || response.Header.Get("Set-Cookie") != "a=1" {
		t.Errorf("got %s %q %v", response.Status, got, response.Header)
	}
	for _, name := range []string{DeniedHeader, "Keep-Alive", "Connection"} {
		if value := response.Header.Get(name); value != "" {
			t.Errorf("the server's %s: %q came through", name, value)
		}
	}
	if seen.Host != "good.test" || seen.RequestURI != "/p?q" || body != "body" || seen.Header.Get("X-Keep") != "1" {
		t.Errorf("the server saw Host %q, %q, body %q, %v", seen.Host, seen.RequestURI, body, seen.Header)
	}
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Drop", "Te", "Upgrade"} {
		if value := seen.Header.Get(name); value != "" {
			t.Errorf("the server saw %s: %q", name, value)
		}
	}
	if want := []netip.AddrPort{netip.MustParseAddrPort("8.8.8.8:80")}; !cmp.Equal(want, f.network.targets(), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })) {
		t.Errorf("dialled %v", f.network.targets())
	}
}

func TestChunkedBodiesBothWays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "got %s", b)
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, " and more")
	})
	s := connect(t, f.proxy)
	s.send("POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n%sTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", s.auth)
	if response, body := s.response(http.MethodPost); body != "got abcde and more" || !response.Close {
		t.Errorf("got %s %q, close %v", response.Status, body, response.Close)
	}
}

func TestBodylessAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.WriteHeader(304)
		case "/hints":
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Set("Content-Length", "0")
	})
	s := connect(t, f.proxy)
	for path, status := range map[string]int{"/204": 204, "/304": 304, "/hints": 200, "/": 200} {
		if response, body := s.get("http://good.test"+path, "good.test"); response.StatusCode != status || body != "" {
			t.Errorf("%s: %s %q", path, response.Status, body)
		}
	}
	s.send("HEAD http://good.test/ HTTP/1.1\r\nHost: good.test\r\n%s\r\n", s.auth)
	if response, _ := s.response(http.MethodHead); response.StatusCode != 200 {
		t.Errorf("HEAD: %s", response.Status)
	}
}

func TestDeniedDestinationsAreNeverDialed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{DenyHosts: []string{"other.test"}}, nil)
	denied := map[string]Reason{
		"private.test:80": ReasonPrivate, "mixed.test:80": ReasonPrivate, "other.test:80": ReasonDenyHost,
		"localhost:80": ReasonLoopback, "a.b.localhost.:80": ReasonLoopback, "2130706433:80": ReasonLoopback,
		"0x7f.1:80": ReasonLoopback, "[::1]:80": ReasonLoopback, "[::ffff:7f00:1]:80": ReasonLoopback,
		"%31%32%37.0.0.1:80": ReasonLoopback, "0251.254.169.254:80": ReasonMetadata, "[fd00:ec2::254]:80": ReasonMetadata,
		"metadata.google.internal.:80": ReasonMetadata, "168.63.129.16:80": ReasonMetadata,
		"good.test:22": ReasonPort, "256.1.1.1:80": ReasonBadURL, "[fe80::1%25lo]:80": ReasonBadURL,
		"good.test%00.x:80": ReasonBadURL, "[64:ff9b::7f00:1]:80": ReasonNAT64, "[2002:7f00:1::]:80": Reason6to4,
	}
	for authority, reason := range denied {
		s := connect(t, f.proxy)
		s.denied(s.tunnel(authority), 403, reason)
		s = connect(t, f.proxy)
		response, body := s.get("http://"+authority+"/", "good.test")
		s.denied(response, 403, reason)
		if !strings.Contains(body, string(reason)) {
			t.Errorf("%s: body %q", authority, body)
		}
	}
	s := connect(t, f.proxy)
	s.denied(s.tunnel("absent.test:443"), 502, ReasonDNSFailed)
	f.noneDialed()
	if n := f.names.count("other.test."); n != 0 {
		t.Errorf("a name that is denied as such was resolved %d times", n)
	}
}

func TestTunnel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	f.network.server = echo(t)
	for _, authority := range []string{"good.test:443", "good.test:80"} { // wss, and ws as Chromium sends it
		s := connect(t, f.proxy)
		s.send("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\nearly", authority, authority, s.auth)
		if response, _ := s.response(http.MethodConnect); response.StatusCode != 200 {
			t.Fatalf("%s: %s", authority, response.Status)
		}
		s.expect("early")
		big := strings.Repeat("x", 3*copyBuffer)
		go func() { _, _ = io.WriteString(s.Conn, big) }()
		s.expect(big)
		if err := s.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		s.expectEnd()
	}
	stats := f.proxy.Stats()
	if stats.Allowed != 2 || stats.BytesUp < 6*copyBuffer || stats.BytesUp != stats.BytesDown {
		t.Errorf("stats %+v", stats)
	}
}

func TestOneResolutionARequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	s := connect(t, f.proxy)
	if response, _ := s.get("http://rebind.test/", "rebind.test"); response.StatusCode != 200 {
		t.Fatalf("first: %s", response.Status)
	}
	if n := f.names.count("rebind.test."); n != 1 {
		t.Errorf("resolved %d times for one request", n)
	}
	response, _ := s.get("http://rebind.test/", "rebind.test")
	s.denied(response, 403, ReasonLoopback)
	if got := f.network.targets(); !slices.Equal(got, []netip.AddrPort{netip.MustParseAddrPort("8.8.8.8:80")}) {
		t.Errorf("dialled %v", got)
	}
}

func TestLocalhostIsResolvedByTheProxy(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{Mode: ModeAllowlist, AllowHosts: []string{"*.localhost"}}, nil)
	s := connect(t, f.proxy)
	if response, body := s.get("http://alt.localhost/", "x"); response.StatusCode != 200 || body != "hello" {
		t.Errorf("%s %q", response.Status, body)
	}
	if n := f.names.count("alt.localhost."); n != 0 {
		t.Error("the resolver was asked for a localhost name")
	}
	response, _ := s.get("http://localhost/", "x")
	s.denied(response, 403, ReasonLoopback)
}

func TestNeverToItselfNorToANeighbour(t *testing.T) {
	t.Parallel()
	var alive Listeners
	f := &fixture{T: t}
	free := mustCompile(t, Policy{Mode: ModeUnrestricted})
	first := f.listen(Options{Policy: free, Listeners: &alive})
	second := f.listen(Options{Policy: free, Listeners: &alive})
	own := netip.MustParseAddrPort(first.Addr()).Port()
	for _, host := range []string{"127.0.0.1", "localhost", "x.localhost", "0.0.0.0", "0x7f000001", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"} {
		s := connect(t, first)
		s.denied(s.tunnel(fmt.Sprintf("%s:%d", host, own)), 403, ReasonSelf)
		s = connect(t, second)
		s.denied(s.tunnel(fmt.Sprintf("%s:%d", host, own)), 403, ReasonFleet)
	}
}

func TestPrimeURL(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	f.proxy.Suspend()
	s := connect(t, f.proxy)
	for range 2 {
		if response, body := s.get(PrimeURL, primeHost); response.StatusCode != 200 || body != "" {
			t.Errorf("%s %q", response.Status, body)
		}
	}
	if response, _ := s.get("http://"+primeHost+"/other", primeHost); response.StatusCode != 404 {
		t.Errorf("another path: %s", response.Status)
	}
	f.noneDialed()
}

func TestDenialsAreEvidence(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	f := &fixture{T: t}
	proxy := f.listen(Options{Policy: mustCompile(t, Policy{}), Resolver: &names{}, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	s := connect(t, proxy)
	s.get("http://127.0.0.1/before", "x")
	mark := proxy.DenialMark()
	for range 3 {
		s.get("http://127.0.0.1/secret-path", "x")
	}
	s.get("http://10.0.0.1/", "x")
	report := proxy.Denials(mark)
	var got []string
	for _, d := range report.Denials {
		got = append(got, fmt.Sprintf("%s:%d %s %d", d.Host, d.Port, d.Reason, d.Count))
	}
	if diff := cmp.Diff([]string{"127.0.0.1:80 loopback 3", "10.0.0.1:80 private 1"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if again := proxy.Denials(report.Next); len(again.Denials) != 0 {
		t.Errorf("reported twice: %+v", again)
	}
	if n := proxy.Stats().Denied[ReasonLoopback]; n != 4 {
		t.Errorf("total %d", n)
	}
	_ = proxy.Close()
	if strings.Contains(logged.String(), "secret-path") {
		t.Errorf("the log shows a path: %s", logged.String())
	}
	_, password := proxy.Credentials()
	shown := logged.String() + fmt.Sprintf("%+v %#v %v %s", proxy.credentials, proxy.credentials, &proxy.credentials, proxy.credentials.password)
	if strings.Contains(shown, password) {
		t.Errorf("the password was shown: %s", shown)
	}
}

func TestDenialRingIsBounded(t *testing.T) {
	t.Parallel()
	var log denialLog
	for i := range ringSize + 10 {
		log.add(fmt.Sprintf("h%d.test", i), 80, ReasonPort)
	}
	report := log.since(0)
	if len(report.Denials) != ringSize || report.Missed != 10 || report.Next != ringSize+10 || log.counts()[ReasonPort] != ringSize+10 {
		t.Errorf("kept %d, missed %d, next %d", len(report.Denials), report.Missed, report.Next)
	}
}
