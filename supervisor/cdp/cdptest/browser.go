package cdptest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
)

// Command is what a client wrote.
type Command struct {
	ID      int64           `json:"id"`
	Session cdp.SessionID   `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// Script sees one command at a time and writes what it wants.
type Script func(*Browser, Command)

// Browser is the far end of a carrier.
type Browser struct {
	carrier cdp.Carrier
	script  Script
	workers sync.WaitGroup

	mu   sync.Mutex // protects seen
	seen []Command
}

// Start takes over the carrier.
func Start(carrier cdp.Carrier, script Script) *Browser {
	b := &Browser{carrier: carrier, script: script}
	b.workers.Add(1)
	go b.run()
	return b
}

func (b *Browser) run() {
	defer b.workers.Done()
	for {
		message, err := b.carrier.ReadMessage()
		if err != nil {
			return
		}
		var c Command
		if err := json.Unmarshal(message, &c); err != nil {
			panic("the client wrote no JSON: " + string(message))
		}
		b.mu.Lock()
		b.seen = append(b.seen, c)
		b.mu.Unlock()
		b.script(b, c)
	}
}

// Die is the end of the browser's process, seen from the wire. A script may call
// it.
func (b *Browser) Die() { _ = b.carrier.Close() }

// Close is Die, and waits for the script's last call.
func (b *Browser) Close() {
	b.Die()
	b.workers.Wait()
}

// Seen are the commands that came so far, in the order of the wire.
func (b *Browser) Seen() []Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

// Reply answers a command.
func (b *Browser) Reply(c Command, result any) {
	b.write(map[string]any{"id": c.ID, "sessionId": c.Session, "result": result})
}

// Fail answers a command with an error of the protocol.
func (b *Browser) Fail(c Command, code int, message string) {
	b.write(map[string]any{"id": c.ID, "sessionId": c.Session, "error": map[string]any{"code": code, "message": message}})
}

// Event tells the client of something.
func (b *Browser) Event(session cdp.SessionID, method string, params any) {
	b.write(map[string]any{"sessionId": session, "method": method, "params": params})
}

func (b *Browser) write(message any) {
	raw, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	b.WriteRaw(raw)
}

// WriteRaw writes one message as it is. Errors are ignored: tests close the other
// end on purpose.
func (b *Browser) WriteRaw(message []byte) { _ = b.carrier.WriteMessage(message) }

// Echo answers every command with its own parameters, except those of the domains
// Never (no reply), Fail (an error) and Gone (a session that does not exist).
func Echo(b *Browser, c Command) {
	switch domain, _, _ := strings.Cut(c.Method, "."); domain {
	case "Never":
	case "Fail":
		b.Fail(c, -32000, "no luck")
	case "Gone":
		b.Fail(c, -32001, "Session with given id not found.")
	default:
		if c.Params == nil {
			c.Params = json.RawMessage("{}")
		}
		b.Reply(c, c.Params)
	}
}
