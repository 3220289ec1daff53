package cdptest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
)

type number struct {
	N int `json:"n"`
}

func repliesReachCallers(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, Echo, nil, cdp.Options{})
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			var got number
			session := conn.Session(cdp.SessionID(fmt.Sprintf("S%d", i%7)))
			if err := session.Call(t.Context(), "Echo.it", number{i}, &got); err != nil || got.N != i {
				t.Errorf("call %d: %+v, %v", i, got, err)
			}
		})
	}
	group.Wait()
	if s := conn.Stats(); s.Pending != 0 {
		t.Errorf("%+v", s)
	}
}

func largeMessages(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, Echo, nil, cdp.Options{})
	want := map[string]string{"text": strings.Repeat("0123456789abcdef", 1<<14)} // 256 KiB
	var got map[string]string
	if err := conn.Session("").Call(t.Context(), "Echo.it", want, &got); err != nil || got["text"] != want["text"] {
		t.Errorf("%d bytes, %v", len(got["text"]), err)
	}
}

func orderOfSends(t *testing.T, pair Pair) {
	conn, browser := Connect(t, pair, Echo, nil, cdp.Options{})
	var last *cdp.Pending
	for i := range 300 {
		pending, err := conn.Session("S").Send(fmt.Sprintf("Echo.m%d", i), nil)
		if err != nil {
			t.Fatal(err)
		}
		last = pending
	}
	if err := last.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	seen := browser.Seen()
	if len(seen) != 300 {
		t.Fatalf("the browser saw %d commands", len(seen))
	}
	for i, c := range seen {
		if c.Method != fmt.Sprintf("Echo.m%d", i) || c.Session != "S" {
			t.Fatalf("command %d is %s of session %q", i, c.Method, c.Session)
		}
	}
}

func errorReply(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, Echo, nil, cdp.Options{})
	err := conn.Session("").Call(t.Context(), "Fail.it", nil, nil)
	got := (*cdp.Error)(nil)
	if want := (cdp.Error{Method: "Fail.it", Code: -32000, Message: "no luck"}); !errors.As(err, &got) || *got != want || !cdp.MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
	err = conn.Session("S").Call(t.Context(), "Gone.it", nil, nil)
	if !errors.Is(err, cdp.ErrDetached) || cdp.MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
}

func peerFailsCalls(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, func(b *Browser, _ Command) { b.Die() }, nil, cdp.Options{})
	err := conn.Session("").Call(t.Context(), "Never.answered", nil, nil)
	if !errors.Is(err, cdp.ErrClosed) || !cdp.MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
	<-conn.Done()
	err = conn.Session("").Call(t.Context(), "Never.sent", nil, nil)
	if !errors.Is(err, cdp.ErrClosed) || cdp.MayHaveExecuted(err) || !errors.Is(conn.Err(), cdp.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func closeFailsCalls(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, Echo, nil, cdp.Options{})
	pending := Sent(t, conn, "S", "Never.answered")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pending.Wait(t.Context(), nil); !errors.Is(err, cdp.ErrClosed) || !cdp.MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
}

func sessionFailsAlone(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, Echo, nil, cdp.Options{})
	lost, kept := Sent(t, conn, "S1", "Never.a"), Sent(t, conn, "S2", "Never.b")
	conn.FailSession("S1", cdp.ErrCrashed)
	if err := lost.Wait(t.Context(), nil); !errors.Is(err, cdp.ErrCrashed) || !cdp.MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
	select {
	case <-kept.Done():
		t.Error("the other session's call is gone too")
	default:
	}
	if err := conn.Session("S1").Call(t.Context(), "Echo.it", nil, nil); err != nil {
		t.Errorf("a later call on the revived session: %v", err)
	}
}

func callerLeaves(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, Echo, nil, cdp.Options{CallTimeout: time.Millisecond})
	cause := errors.New("the owner moved")
	ctx, cancel := context.WithCancelCause(t.Context())
	pending := Sent(t, conn, "", "Never.a")
	cancel(cause)
	if err := pending.Wait(ctx, nil); !errors.Is(err, cause) || !cdp.MayHaveExecuted(err) {
		t.Errorf("cancelled: %v", err)
	}
	if err := conn.Session("").Call(ctx, "Never.b", nil, nil); !errors.Is(err, cause) || cdp.MayHaveExecuted(err) {
		t.Errorf("cancelled before: %v", err)
	}
	err := conn.Session("").Call(t.Context(), "Never.c", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no deadline given: %v", err)
	}
	Sent(t, conn, "", "Never.d").Forget()
	if s := conn.Stats(); s.Pending != 0 {
		t.Errorf("the table keeps %d calls", s.Pending)
	}
}

func peerDoesNotRead(t *testing.T, pair Pair) {
	stop := make(chan struct{})
	conn, _ := Connect(t, pair, func(*Browser, Command) { <-stop }, nil, cdp.Options{MaxUnwritten: 3})
	t.Cleanup(func() { close(stop) })
	// Small, so that sending a few takes less than a WebSocket waits for its peer.
	some := map[string]string{"text": strings.Repeat("x", 64<<10)}
	var waiting []*cdp.Pending
	var err error
	for err == nil { // the writer may take some away meanwhile, but not for ever
		var pending *cdp.Pending
		if pending, err = conn.Session("").Send("Never.a", some); err == nil {
			waiting = append(waiting, pending)
		}
	}
	if !errors.Is(err, cdp.ErrBusy) || cdp.MayHaveExecuted(err) {
		t.Errorf("a browser that does not read: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := waiting[len(waiting)-1].Wait(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that waits to be written: %v", err)
	}
	if _, err := conn.Session("").Send("Never.b", nil); err != nil {
		t.Errorf("room that a caller left is not used: %v", err)
	}
}

func garbage(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, func(b *Browser, c Command) {
		b.WriteRaw([]byte("no json"))
		b.WriteRaw([]byte("{}"))
		b.WriteRaw([]byte(`{"id":99999,"result":{}}`)) // nobody's reply
		// Two keys that are one to a reader, and text that is not UTF-8.
		b.WriteRaw(fmt.Appendf(nil, "{\"id\":%d,\"result\":{\"n\":1,\"x\":{\"\\ud800\":1,\"\\ud801\":2},\"s\":\"\xff\"}}", c.ID))
	}, nil, cdp.Options{})
	var raw jsonv2.Value
	if err := conn.Session("").Call(t.Context(), "Any.thing", nil, &raw); err != nil || len(raw) == 0 {
		t.Errorf("%s %v", raw, err)
	}
	if s := conn.Stats(); s.Malformed != 2 {
		t.Errorf("%+v", s)
	}
}
