package deploy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come: it ends a hang, and is
// never over because a machine is slow.
const patience = 2 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// tap collects what reaches a connection on a subject.
func tap(t *testing.T, nc *nats.Conn, subject string) chan *nats.Msg {
	t.Helper()
	ch := make(chan *nats.Msg, 4096)
	if _, err := nc.ChanSubscribe(subject, ch); err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
	return ch
}

func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, ch chan *nats.Msg) *nats.Msg {
	t.Helper()
	select {
	case m := <-ch:
		return m
	case <-time.After(patience):
		t.Fatal("no message came")
		return nil
	}
}

func publish(t *testing.T, c *natsx.Conn, subject, body string) {
	t.Helper()
	if _, err := c.Publish(within(t), subject, []byte(body), nil); err != nil {
		t.Fatal(err)
	}
}

func serve(t *testing.T, nc *nats.Conn, subject string) chan string {
	t.Helper()
	seen := make(chan string, 64)
	_, err := nc.Subscribe(subject, func(m *nats.Msg) {
		seen <- m.Subject
		_ = m.Respond([]byte("answer"))
	})
	if err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
	return seen
}

func isDenied(said string) bool { return strings.Contains(said, "Permissions Violation") }
