package natsx_test

import (
	"context"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/testkit"
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

// subscribe listens before anything is published: the server has confirmed it.
// It is a channel because NextMsg swallows a message with an empty body and a
// forged "Status: 503".
func subscribe(t *testing.T, c *natsx.Conn, subject string) chan *nats.Msg {
	t.Helper()
	ch := make(chan *nats.Msg, 256)
	if _, err := c.NC.ChanSubscribe(subject, ch); err != nil {
		t.Fatal(err)
	}
	if err := c.NC.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	return ch
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

func publish(t *testing.T, c *natsx.Conn, subject, body string, h nats.Header) uint64 {
	t.Helper()
	seq, err := c.Publish(within(t), subject, []byte(body), h)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(seq)
}

// owner is a fleet with tenant a and its agent one.
func owner(t *testing.T) (s *testkit.Server, agent *natsx.Conn) {
	t.Helper()
	s = testkit.NATS(t)
	return s, s.As(t, "agent.a.one")
}
