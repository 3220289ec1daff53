package cdp

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeBrowser is the other end of a carrier. Its script sees one command at a
// time and writes what it wants.
type fakeBrowser struct {
	carrier Carrier
	script  func(*fakeBrowser, fakeCommand)
	workers sync.WaitGroup

	mu   sync.Mutex // protects seen
	seen []fakeCommand
}

type fakeCommand struct {
	ID        int64           `json:"id"`
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
}

func startFake(carrier Carrier, script func(*fakeBrowser, fakeCommand)) *fakeBrowser {
	f := &fakeBrowser{carrier: carrier, script: script}
	f.workers.Add(1)
	go f.run()
	return f
}

func (f *fakeBrowser) run() {
	defer f.workers.Done()
	for {
		message, err := f.carrier.ReadMessage()
		if err != nil {
			return
		}
		var c fakeCommand
		if err := json.Unmarshal(message, &c); err != nil {
			panic("the client wrote no JSON: " + string(message))
		}
		f.mu.Lock()
		f.seen = append(f.seen, c)
		f.mu.Unlock()
		f.script(f, c)
	}
}

func (f *fakeBrowser) methods() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var methods []string
	for _, c := range f.seen {
		methods = append(methods, c.Method)
	}
	return methods
}

// write ignores errors: tests close the other end on purpose.
func (f *fakeBrowser) write(message any) {
	raw, ok := message.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(message); err != nil {
			panic(err)
		}
	}
	_ = f.carrier.WriteMessage(raw)
}

func (f *fakeBrowser) reply(c fakeCommand, result any) {
	f.write(map[string]any{"id": c.ID, "sessionId": c.SessionID, "result": result})
}

func (f *fakeBrowser) event(session, method string, params any) {
	f.write(map[string]any{"sessionId": session, "method": method, "params": params})
}

// echo answers every command with its own parameters, except those of the domain
// Never.
func echo(f *fakeBrowser, c fakeCommand) {
	switch {
	case strings.HasPrefix(c.Method, "Never."):
	case strings.HasPrefix(c.Method, "Fail."):
		f.write(map[string]any{"id": c.ID, "error": map[string]any{"code": -32000, "message": "no luck"}})
	case strings.HasPrefix(c.Method, "Gone."):
		f.write(map[string]any{"id": c.ID, "error": map[string]any{"code": -32001, "message": "Session with given id not found."}})
	default:
		if c.Params == nil {
			c.Params = json.RawMessage("{}")
		}
		f.reply(c, c.Params)
	}
}

// carriers are the two implementations, as pairs of ends.
var carriers = map[string]func(t *testing.T) (client, server Carrier){
	"pipe":      pipePair,
	"websocket": socketPair,
}

func pipePair(t *testing.T) (Carrier, Carrier) {
	t.Helper()
	clientIn, serverOut, err1 := os.Pipe()
	serverIn, clientOut, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return NewPipe(clientIn, clientOut), NewPipe(serverIn, serverOut)
}

func socketPair(t *testing.T) (Carrier, Carrier) {
	t.Helper()
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- conn
	}))
	t.Cleanup(server.Close)
	client, err := DialWebSocket(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/devtools/browser/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	return client, NewWebSocket(<-accepted)
}

// connect starts a connection and a fake behind it, both ended with the test.
func connect(t *testing.T, pair func(*testing.T) (Carrier, Carrier), script func(*fakeBrowser, fakeCommand), handle func(Event), o Options) (*Conn, *fakeBrowser) {
	t.Helper()
	client, server := pair(t)
	fake := startFake(server, script)
	conn := Start(client, handle, o)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		_ = server.Close()
		fake.workers.Wait()
	})
	return conn, fake
}
