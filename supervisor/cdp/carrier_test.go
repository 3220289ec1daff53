package cdp

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

func TestAMessageBeyondTheBoundEndsAPipe(t *testing.T) {
	t.Parallel()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	carrier := NewPipe(in, out).(*pipe)
	carrier.max = 100
	defer func() { _ = carrier.Close() }()
	for _, message := range []string{strings.Repeat("x", 99), strings.Repeat("x", 200)} {
		if err := carrier.WriteMessage([]byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	if message, err := carrier.ReadMessage(); err != nil || len(message) != 99 {
		t.Errorf("%d bytes, %v", len(message), err)
	}
	if _, err := carrier.ReadMessage(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// A browser that is killed in the middle of a message has not sent it.
func TestAMessageThatIsCutIsNoMessage(t *testing.T) {
	t.Parallel()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	carrier := NewPipe(in, out)
	defer func() { _ = carrier.Close() }()
	if _, err := out.WriteString(`{"method":`); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if message, err := carrier.ReadMessage(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", message, err)
	}
}

func TestAMessageBeyondTheBoundEndsAWebSocket(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		// A binary message is none of the protocol's and is passed over.
		_ = conn.WriteMessage(websocket.BinaryMessage, []byte("x"))
		_ = conn.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("x", 99)))
		_ = conn.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("x", 200)))
		_, _, _ = conn.ReadMessage() // until the client has closed
	}))
	defer server.Close()
	carrier, err := DialWebSocket(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = carrier.Close() }()
	carrier.(*socket).conn.SetReadLimit(100)
	if message, err := carrier.ReadMessage(); err != nil || len(message) != 99 {
		t.Errorf("%d bytes, %v", len(message), err)
	}
	if _, err := carrier.ReadMessage(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestDialRefusesWhatIsNoEndpointAndKeepsTokensOut(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"", "http://127.0.0.1:1/x", "ws://", "file:///etc/passwd", "ws://%zz"} {
		if _, err := DialWebSocket(t.Context(), endpoint, nil); !errors.Is(err, ErrNotWebSocket) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	_, err := DialWebSocket(t.Context(), "ws://127.0.0.1:1/devtools?token=hush", nil)
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("%v", err)
	}
}
