package relay

import (
	"io"
	"net"
	"testing"
	"time"
)

// wait bounds every wait of a test.
const wait = 2 * time.Minute

// echo answers every connection with what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func TestARelayThatStandsStillLosesNothing(t *testing.T) {
	t.Parallel()
	r, err := Start("127.0.0.1:0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	said, got := []byte("hello"), make([]byte, 5)
	pass := func(deadline time.Duration) error {
		if err := c.SetReadDeadline(time.Now().Add(deadline)); err != nil {
			t.Fatal(err)
		}
		_, err := io.ReadFull(c, got)
		return err
	}
	for range 2 { // two faults at the same time: both must be mended
		r.Hold(true)
	}
	if _, err := c.Write(said); err != nil {
		t.Fatal(err)
	}
	r.Hold(false)
	if err := pass(50 * time.Millisecond); err == nil {
		t.Fatal("something passed while the relay stood still")
	}
	r.Hold(false)
	if err := pass(wait); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
}
