package egressproxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// hopByHop are the fields that end at a proxy (RFC 9110 section 7.6.1) or that
// it writes itself.
var hopByHop = map[string]bool{
	"connection": true, "keep-alive": true, "proxy-connection": true, "proxy-authorization": true,
	"proxy-authenticate": true, "proxy-authentication-info": true, "te": true, "trailer": true,
	"transfer-encoding": true, "upgrade": true, "content-length": true, "host": true, "expect": true,
	"http2-settings": true, strings.ToLower(DeniedHeader): true,
}

// serveForward handles an absolute-form request: one server connection for one
// request, so that nothing of one host can reach another over a kept connection.
func (p *Proxy) serveForward(ctx context.Context, cancel context.CancelCauseFunc, client net.Conn, reader *bufio.Reader, head *requestHead, target destination) bool {
	keep := head.keepsAlive()
	if target.host.Name() == primeHost {
		return p.answerPrime(client, head, target, keep)
	}
	if len(head.values("Expect")) > 0 {
		refuse(client, refusal{status: 417, reason: ReasonBadRequest}, false)
		linger(client)
		return false
	}
	stop := p.runWatch(client, reader, cancel)
	t, answer := p.open(ctx, client, target)
	stop()
	_ = client.SetWriteDeadline(time.Now().Add(p.limits.IdleTimeout))
	if answer != nil {
		keep = keep && !head.hasBody()
		refuse(client, *answer, keep)
		if !keep {
			linger(client)
		}
		return keep
	}
	defer t.end()
	return t.exchange(reader, head) && keep
}

func (p *Proxy) answerPrime(client net.Conn, head *requestHead, target destination, keep bool) bool {
	if target.authority()+target.path != strings.TrimPrefix(PrimeURL, "http://") || head.hasBody() {
		p.deny(target.host, target.port, ReasonBadURL)
		refuse(client, refusal{status: 404, reason: ReasonBadURL}, false)
		linger(client)
		return false
	}
	_, err := io.WriteString(client, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n")
	return err == nil && keep
}

// keepsAlive: after a chunked body the connection is closed, so that no trailer
// is ever read as the start of the next request.
func (h *requestHead) keepsAlive() bool {
	for _, name := range []string{"Connection", "Proxy-Connection"} {
		for _, value := range h.values(name) {
			if hasListItem(value, "close") {
				return false
			}
		}
	}
	return !h.chunked
}

// exchange forwards one request and its answer; true when both were complete.
func (t *tunnel) exchange(reader *bufio.Reader, head *requestHead) bool {
	if !t.write(t.server, head.forServer(t.target), &t.proxy.counters.up) {
		t.refuse(errClosed)
		return false
	}
	t.extendRead()
	stop := t.runRequestBody(reader, head)
	complete := t.relayResponse(head)
	if !complete {
		t.end() // a body that waits at the gate goes on to its end
	}
	sent := stop()
	if !complete {
		linger(t.client)
	}
	return complete && sent
}

// refuse tells the client that no answer came. The write deadline of the request
// has passed when the server's silence was the failure, so it gets a new one.
func (t *tunnel) refuse(err error) {
	_ = t.client.SetWriteDeadline(time.Now().Add(refusalTime))
	refuse(t.client, *t.proxy.failed(t.target, ReasonUpstream, err), false)
}

// forServer is the head as the server gets it: origin form, the Host of the
// target whatever the client wrote, framing as it was understood here.
func (h *requestHead) forServer(target destination) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", h.method, target.path, target.authority())
	named := connectionNames(h.values("Connection"))
	for _, field := range h.fields {
		name := strings.ToLower(field.name)
		if !hopByHop[name] && !named[name] {
			fmt.Fprintf(&out, "%s: %s\r\n", field.name, field.value)
		}
	}
	switch {
	case h.chunked:
		out.WriteString("Transfer-Encoding: chunked\r\n")
	case len(h.values("Content-Length")) == 1:
		fmt.Fprintf(&out, "Content-Length: %d\r\n", h.length)
	}
	out.WriteString("Connection: close\r\n\r\n")
	return []byte(out.String())
}

// runRequestBody sends the body while the answer is already awaited, and then
// watches for the client going away, which ends the exchange. stop ends it,
// waits, and says whether the body was sent to its end.
func (t *tunnel) runRequestBody(reader *bufio.Reader, head *requestHead) (stop func() bool) {
	done, sent := make(chan struct{}), false
	_ = t.client.SetReadDeadline(time.Time{}) // stop ends it, and so does the tunnel's end
	t.proxy.goroutines.Go(func() {
		defer close(done)
		if sent = t.sendBody(reader, head); sent {
			watch(reader, func(error) { t.close() })
		}
	})
	return func() bool {
		_ = t.client.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = t.client.SetReadDeadline(time.Time{})
		return sent
	}
}

func (t *tunnel) sendBody(reader *bufio.Reader, head *requestHead) bool {
	if !head.hasBody() {
		return true
	}
	if !head.chunked {
		body := &io.LimitedReader{R: reader, N: head.length}
		return t.relay(t.server, body, nil, &t.proxy.counters.up) == nil && body.N == 0
	}
	if t.relay(t.server, httputil.NewChunkedReader(reader), chunkFrame, &t.proxy.counters.up) != nil {
		return false
	}
	return t.write(t.server, []byte("0\r\n\r\n"), &t.proxy.counters.up)
}

// maxInterim is how many 1xx answers a server may send before the real one.
const maxInterim = 8

// relayResponse reads the answer and passes it on; true when it was complete.
func (t *tunnel) relayResponse(head *requestHead) bool {
	limited := &io.LimitedReader{R: t.server, N: int64(t.proxy.limits.HeaderBytes)}
	reader := bufio.NewReaderSize(limited, 4<<10)
	response, err := readFinalResponse(reader, head.method)
	if err != nil {
		t.refuse(err)
		return false
	}
	defer func() { _ = response.Body.Close() }()
	limited.N = 1<<63 - 1
	bodyless := head.method == http.MethodHead || neverHasBody(response.StatusCode)
	chunked := !bodyless && response.ContentLength < 0
	if !t.write(t.client, responseHead(response, chunked, head.keepsAlive()), &t.proxy.counters.down) {
		return false
	}
	if bodyless {
		return true
	}
	return t.relayBody(response, chunked)
}

func (t *tunnel) relayBody(response *http.Response, chunked bool) bool {
	if !chunked {
		body := &countingReader{r: response.Body}
		return t.relay(t.client, body, nil, &t.proxy.counters.down) == nil && body.n == response.ContentLength
	}
	if t.relay(t.client, response.Body, chunkFrame, &t.proxy.counters.down) != nil {
		return false // without the last chunk the client knows that it is cut off
	}
	return t.write(t.client, []byte("0\r\n\r\n"), &t.proxy.counters.down)
}

func readFinalResponse(reader *bufio.Reader, method string) (*http.Response, error) {
	for range maxInterim {
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			return nil, fmt.Errorf("response: %w", err)
		}
		switch {
		case response.StatusCode == http.StatusSwitchingProtocols:
			return nil, fmt.Errorf("response: %w: unasked protocol switch", errMalformed)
		case response.StatusCode == http.StatusProxyAuthRequired:
			// Passed on, it would make the browser send this proxy's credentials again.
			return nil, fmt.Errorf("response: %w: a server demands proxy credentials", errMalformed)
		case response.StatusCode >= 200:
			return response, nil
		}
	}
	return nil, fmt.Errorf("response: %w: too many interim answers", errMalformed)
}

// responseHead is written anew from what was understood, so that the client
// cannot read it in another way.
func responseHead(response *http.Response, chunked, keepAlive bool) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "HTTP/1.1 %03d %s\r\n", response.StatusCode, http.StatusText(response.StatusCode))
	named := connectionNames(response.Header.Values("Connection"))
	for name := range response.Header {
		if lower := strings.ToLower(name); hopByHop[lower] || named[lower] {
			response.Header.Del(name)
		}
	}
	_ = response.Header.Write(&out) // strings.Builder does not fail
	switch {
	case chunked:
		out.WriteString("Transfer-Encoding: chunked\r\n")
	case response.ContentLength >= 0 && !neverHasBody(response.StatusCode):
		fmt.Fprintf(&out, "Content-Length: %d\r\n", response.ContentLength)
	}
	if !keepAlive {
		out.WriteString("Connection: close\r\n")
	}
	out.WriteString("\r\n")
	return []byte(out.String())
}

func neverHasBody(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// connectionNames are the fields that a Connection field declares hop-by-hop.
func connectionNames(values []string) map[string]bool {
	names := map[string]bool{}
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			names[strings.ToLower(strings.TrimSpace(item))] = true
		}
	}
	return names
}

func hasListItem(value, item string) bool {
	return connectionNames([]string{value})[item]
}
