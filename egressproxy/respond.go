package egressproxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// DeniedHeader is set on every answer that comes from the proxy instead of a
// server, with the Reason as value. It is removed from servers' answers.
const DeniedHeader = "X-Browserfleet-Denied"

// refusal is an answer of the proxy's own.
type refusal struct {
	status int
	reason Reason
}

// refuse answers without a word about the destination: the body may be shown as
// a page under the name of the host that was refused.
func refuse(client io.Writer, answer refusal, keepAlive bool) {
	body := "browserfleet: egress denied: " + string(answer.reason) + "\n"
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\n", answer.status, http.StatusText(answer.status))
	if answer.status == http.StatusProxyAuthRequired {
		head += "Proxy-Authenticate: Basic realm=\"browserfleet\"\r\n"
	}
	if !keepAlive {
		head += "Connection: close\r\n"
	}
	head += fmt.Sprintf("%s: %s\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n"+
		"Cache-Control: no-store\r\nContent-Length: %d\r\n\r\n", DeniedHeader, answer.reason, len(body))
	_, _ = io.WriteString(client, head+body)
}

// refusalTime is how long a refusal may take to write; it fits any socket buffer.
const refusalTime = 5 * time.Second

// lingerTime and lingerBytes bound how long a refused client is still read.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// linger lets the answer arrive: closing a socket with unread input resets the
// connection and may destroy what was written before.
func linger(client net.Conn) {
	if half, ok := client.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = client.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, client, lingerBytes)
}
