package cdptest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/gorilla/websocket"
)

// Pair makes the two ends of a connection. Who gets an end closes it.
type Pair func(*testing.T) (client, browser cdp.Carrier)

// Pipe is what a browser that we launch is connected by.
func Pipe(t *testing.T) (client, browser cdp.Carrier) {
	t.Helper()
	clientIn, browserOut, err1 := os.Pipe()
	browserIn, clientOut, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return cdp.NewPipe(clientIn, clientOut), cdp.NewPipe(browserIn, browserOut)
}

// WebSocket is what a foreign endpoint is connected by.
func WebSocket(t *testing.T) (client, browser cdp.Carrier) {
	t.Helper()
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(upgrade(t, accepted))
	t.Cleanup(server.Close)
	client, err := cdp.DialWebSocket(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/devtools/browser/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	return client, cdp.NewWebSocket(<-accepted)
}

// BubbleSocket is a WebSocket without the kernel: nothing is buffered between its
// ends, and its deadlines are the bubble's.
func BubbleSocket(t *testing.T) (client, browser cdp.Carrier) {
	t.Helper()
	near, far := net.Pipe()
	accepted := make(chan *websocket.Conn, 1)
	server := &http.Server{Handler: upgrade(t, accepted), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(&oneConn{conn: far, closed: make(chan struct{})}) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	conn, response, err := dialer.DialContext(t.Context(), "ws://browser/devtools/browser/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return cdp.NewWebSocket(conn), cdp.NewWebSocket(<-accepted)
}

func upgrade(t *testing.T, accepted chan<- *websocket.Conn) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- conn
	})
}

// oneConn is a listener of one connection.
type oneConn struct {
	mu     sync.Mutex // protects conn
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	conn := l.conn
	l.conn = nil
	l.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "bubble", Net: "unix"} }

// Connect starts a connection and a browser behind it, both ended with the test.
// A call without a deadline has a minute: a suite asks what happens, not how fast.
func Connect(t *testing.T, pair Pair, script Script, handle func(cdp.Event), o cdp.Options) (*cdp.Conn, *Browser) {
	t.Helper()
	if o.CallTimeout == 0 {
		o.CallTimeout = time.Minute
	}
	client, far := pair(t)
	browser := Start(far, script)
	conn := cdp.Start(client, handle, o)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		browser.Close()
	})
	return conn, browser
}

// Sent sends a command that the script does not answer, and returns when the
// browser has read it. The script has to answer Echo.barrier.
func Sent(t *testing.T, conn *cdp.Conn, session cdp.SessionID, method string) *cdp.Pending {
	t.Helper()
	pending, err := conn.Session(session).Send(method, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Session("barrier").Call(within(t), "Echo.barrier", nil, nil); err != nil {
		t.Fatal(err)
	}
	return pending
}

// within is a context that only a hanging test meets the end of.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
