package egressproxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestSmugglingIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	const get = "GET http://good.test/ HTTP/1.1\r\n"
	for name, request := range map[string]string{
		"two hosts":                   get + "Host: good.test\r\nHost: good.test\r\nAUTH\r\n",
		"no host":                     get + "AUTH\r\n",
		"length and coding":           "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":                 "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
		"length list":                 "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHContent-Length: 3, 3\r\n\r\nabc",
		"signed length":               "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHContent-Length: +3\r\n\r\nabc",
		"huge length":                 "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHContent-Length: 99999999999999999999\r\n\r\nabc",
		"chunked twice":               "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
		"coding twice":                "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"xchunked":                    "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"coding with vertical tab":    "POST http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTHTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
		"bare LF in the request line": "GET http://good.test/ HTTP/1.1\nHost: a\r\nAUTH\r\n",
		"bare LF in a field":          get + "Host: a\nAUTH\r\n",
		"bare LF at the end":          get + "Host: a\r\nAUTH\n",
		"bare CR":                     get + "Host: a\r\nAUTHX: a\rb\r\n\r\n",
		"NUL":                         get + "Host: a\r\nAUTHX: a\x00b\r\n\r\n",
		"blank before colon":          get + "Host : a\r\nAUTH\r\n",
		"folded line":                 get + "Host: a\r\nAUTHX: a\r\n b\r\n\r\n",
		"folded first line":           get + " Host: a\r\nAUTH\r\n",
		"no colon":                    get + "Host: a\r\nAUTHjunk\r\n\r\n",
		"two credentials":             get + "Host: a\r\nAUTHAUTH\r\n",
		"origin form":                 "GET / HTTP/1.1\r\nHost: good.test\r\nAUTH\r\n",
		"asterisk form":               "OPTIONS * HTTP/1.1\r\nHost: good.test\r\nAUTH\r\n",
		"https absolute":              "GET https://good.test/ HTTP/1.1\r\nHost: good.test\r\nAUTH\r\n",
		"ws absolute":                 "GET ws://good.test/ HTTP/1.1\r\nHost: good.test\r\nAUTH\r\n",
		"file absolute":               "GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\nAUTH\r\n",
		"userinfo":                    "GET http://u@good.test/ HTTP/1.1\r\nHost: a\r\nAUTH\r\n",
		"fragment":                    "GET http://good.test/#x HTTP/1.1\r\nHost: a\r\nAUTH\r\n",
		"three slashes":               "GET http:///good.test/ HTTP/1.1\r\nHost: a\r\nAUTH\r\n",
		"HTTP/1.0":                    "GET http://good.test/ HTTP/1.0\r\nHost: a\r\nAUTH\r\n",
		"HTTP/2 preface":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"two blanks":                  "GET  http://good.test/ HTTP/1.1\r\nHost: a\r\nAUTH\r\n",
		"leading line end":            "\r\n" + get + "Host: a\r\nAUTH\r\n",
		"non-ASCII target":            "GET http://good.test/\xc3\xbc HTTP/1.1\r\nHost: a\r\nAUTH\r\n",
		"CONNECT without port":        "CONNECT good.test HTTP/1.1\r\nHost: a\r\nAUTH\r\n",
		"CONNECT with a body":         "CONNECT good.test:443 HTTP/1.1\r\nHost: a\r\nAUTHContent-Length: 3\r\n\r\nabc",
		"CONNECT with a coding":       "CONNECT good.test:443 HTTP/1.1\r\nHost: a\r\nAUTHTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, f.proxy)
			s.send("%s", strings.ReplaceAll(request, "AUTH", s.auth))
			response, _ := s.response(http.MethodGet)
			s.denied(response, 400, ReasonBadRequest)
			s.expectEnd()
		})
	}
	t.Cleanup(f.noneDialed)
}

func TestHeadTooLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	for name, filler := range map[string]string{
		"one long field": "X: " + strings.Repeat("a", 70<<10) + "\r\n",
		"many fields":    strings.Repeat("X: a\r\n", maxFields+1),
	} {
		s := connect(t, f.proxy)
		s.send("GET http://good.test/ HTTP/1.1\r\nHost: a\r\n%s%s\r\n", s.auth, filler)
		response, _ := s.response(http.MethodGet)
		if response.StatusCode != 431 {
			t.Errorf("%s: %s", name, response.Status)
		}
	}
	s := connect(t, f.proxy)
	s.send("GET http://good.test/?%s HTTP/1.1\r\nHost: a\r\n%s\r\n", strings.Repeat("a", 60<<10), s.auth)
	if response, _ := s.response(http.MethodGet); response.StatusCode != 200 {
		t.Errorf("a long but legal target: %s", response.Status)
	}
}

func TestPipelinedRequestIsJudgedOnItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Policy{}, nil)
	s := connect(t, f.proxy)
	one := "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n" + s.auth + "\r\n"
	s.send("%s%s%s", one, strings.ReplaceAll(one, "good.test", "private.test"), one)
	if response, _ := s.response(http.MethodGet); response.StatusCode != 200 {
		t.Errorf("first: %s", response.Status)
	}
	response, _ := s.response(http.MethodGet)
	s.denied(response, 403, ReasonPrivate)
	if response, _ := s.response(http.MethodGet); response.StatusCode != 200 {
		t.Errorf("third: %s", response.Status)
	}
	if n := len(f.network.targets()); n != 2 {
		t.Errorf("%d connections for two admitted requests", n)
	}
}

// rawServer answers the first connection with these octets and closes.
func rawServer(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, answer)
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		status int
	}{
		"nonsense":                {"SSH-2.0-x\r\n", 502},
		"nothing":                 {"", 502},
		"asks for proxy password": {"HTTP/1.1 407 Proxy\r\nProxy-Authenticate: Basic realm=\"browserfleet\"\r\nContent-Length: 0\r\n\r\n", 502},
		"switches protocol":       {"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 502},
		"endless interim answers": {strings.Repeat("HTTP/1.1 103 Hints\r\n\r\n", 20), 502},
		"endless head":            {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 100<<10), 502},
		"two lengths":             {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502},
		"length and coding":       {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", 200},
		"no length":               {"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200},
		"denied header":           {"HTTP/1.1 200 OK\r\nx-browserfleet-DENIED: loopback\r\nContent-Length: 0\r\n\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, Policy{}, nil)
			f.network.server = rawServer(t, c.answer)
			s := connect(t, f.proxy)
			response, _ := s.get("http://good.test/", "good.test")
			if response.StatusCode != c.status {
				t.Errorf("got %s, want %d", response.Status, c.status)
			}
			if c.status == 200 && response.Header.Get(DeniedHeader) != "" {
				t.Error("a server can speak as the proxy")
			}
			if len(response.Header.Values("Content-Length")) > 0 && len(response.TransferEncoding) > 0 {
				t.Error("the answer has two lengths")
			}
		})
	}
}

func TestCutOffAnswerIsNotCompleted(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"by length": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"chunked":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, Policy{}, nil)
			f.network.server = rawServer(t, answer)
			s := connect(t, f.proxy)
			s.send("GET http://good.test/ HTTP/1.1\r\nHost: x\r\n%s\r\n", s.auth)
			response, err := http.ReadResponse(s.reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if string(body) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %q, %v", body, err)
			}
		})
	}
}

// FuzzProxyRequest: whatever head is accepted, the server gets one that a second
// parser reads in the same way: the judged host, one framing, nothing hop-by-hop.
func FuzzProxyRequest(f *testing.F) {
	for _, seed := range []string{
		"GET http://good.test/ HTTP/1.1\r\nHost: internal.test\r\n\r\n",
		"GET http://0x7f.1:8080/p?q HTTP/1.1\r\nHost: x\r\nConnection: close, X-A\r\nX-A: 1\r\n\r\n",
		"POST http://[::1]/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"POST http://good.test HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"CONNECT good.test:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT [::ffff:127.0.0.1]:80 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://good.test\\@evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://good%2etest/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://good.test?x HTTP/1.1\r\nHost: x\r\nX:\r\n\r\n",
		"GET http://good.test/ HTTP/1.1\nHost: x\n\n",
		"GET http://good.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"POST http://good.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		head, err := readHead(bufio.NewReader(bytes.NewReader(raw)), 16<<10)
		if err != nil {
			return
		}
		target, err := head.destination()
		if err != nil || head.method == http.MethodConnect {
			return
		}
		sent := head.forServer(target)
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil {
			// net/http refuses some request targets that are legal octets; it must
			// not be because of framing or line ends.
			if _, again := readHead(bufio.NewReader(bytes.NewReader(sent)), 32<<10); again != nil {
				t.Fatalf("%q became %q: %v, %v", raw, sent, err, again)
			}
			return
		}
		if request.Host != target.authority() {
			t.Fatalf("%q: judged %q, sent Host %q", raw, target.authority(), request.Host)
		}
		if got := request.ContentLength; head.chunked != (got < 0) || !head.chunked && got != head.length {
			t.Fatalf("%q: length %d (chunked %v), sent as %d", raw, head.length, head.chunked, got)
		}
		if bytes.Count(sent, []byte("\r\n\r\n")) != 1 {
			t.Fatalf("%q became two heads: %q", raw, sent)
		}
	})
}
