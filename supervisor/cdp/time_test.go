package cdp_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/cdp/cdptest"
)

// inBubble runs a test where time passes only while every goroutine waits, over
// both kinds of carriers. So a test says to the nanosecond when a call ends, and
// that nothing happened before.
func inBubble(t *testing.T, test func(t *testing.T, pair cdptest.Pair)) {
	t.Helper()
	for name, pair := range map[string]cdptest.Pair{"memory": cdptest.Memory, "websocket": cdptest.BubbleSocket} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, pair) })
		})
	}
}

// ended says how a call that was made at start ended.
func ended(t *testing.T, what string, err error, cause error, executed bool, start time.Time, after time.Duration) {
	t.Helper()
	lost := (*cdp.LostError)(nil)
	if !errors.As(err, &lost) || !errors.Is(err, cause) || lost.MayHaveExecuted != executed || cdp.MayHaveExecuted(err) != executed {
		t.Errorf("%s: %v; may have executed: %v", what, err, cdp.MayHaveExecuted(err))
	}
	if took := time.Since(start); took != after {
		t.Errorf("%s: ended after %v, not %v", what, took, after)
	}
}

func TestACallEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pair cdptest.Pair) {
		conn, _ := cdptest.Connect(t, pair, cdptest.Echo, nil, cdp.Options{CallTimeout: 10 * time.Second})
		session, start := conn.Session("S"), time.Now()

		err := session.Call(t.Context(), "Never.a", nil, nil)
		ended(t, "without a deadline of its own", err, context.DeadlineExceeded, true, start, 10*time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start = time.Now()
		err = session.Call(ctx, "Never.b", nil, nil)
		ended(t, "with a longer one", err, context.DeadlineExceeded, true, start, time.Hour)

		start = time.Now()
		err = session.Call(ctx, "Never.c", nil, nil)
		ended(t, "with one that is over", err, context.DeadlineExceeded, false, start, 0)

		// The wait counts, not the sending: who sends early loses nothing.
		pending, err := session.Send("Never.d", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		start = time.Now()
		ended(t, "sent before", pending.Wait(t.Context(), nil), context.DeadlineExceeded, true, start, 10*time.Second)
		if s := conn.Stats(); s.Pending != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAReplyAfterTheDeadlineIsNobodys(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pair cdptest.Pair) {
		conn, _ := cdptest.Connect(t, pair, func(b *cdptest.Browser, c cdptest.Command) {
			if c.Method == "Slow.one" {
				time.Sleep(11 * time.Second)
			}
			b.Reply(c, map[string]string{"of": c.Method})
		}, nil, cdp.Options{CallTimeout: 10 * time.Second})
		start := time.Now()
		err := conn.Session("").Call(t.Context(), "Slow.one", nil, nil)
		ended(t, "slow", err, context.DeadlineExceeded, true, start, 10*time.Second)
		var got struct {
			Of string `json:"of"`
		}
		if err := conn.Session("").Call(t.Context(), "Next.one", nil, &got); err != nil || got.Of != "Next.one" {
			t.Errorf("the next call: %+v, %v", got, err)
		}
		if s := conn.Stats(); s.Pending != 0 || s.Malformed != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A browser that takes nothing from its pipe holds the writer, and no caller.
func TestACommandThatIsNotWrittenByItsDeadlineNeverIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		conn, browser := cdptest.Connect(t, cdptest.Memory, func(*cdptest.Browser, cdptest.Command) { <-release }, nil, cdp.Options{})
		start, ctx := time.Now(), t.Context()
		var calls []*cdp.Pending
		for _, method := range []string{"Read.one", "Written.one", "Waits.one"} {
			pending, err := conn.Session("").Send(method, nil)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, pending)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		for i, executed := range []bool{true, true, false} {
			ended(t, calls[i].Method(), calls[i].Wait(ctx, nil), context.DeadlineExceeded, executed, start, 3*time.Second)
		}
		close(release)
		synctest.Wait()
		var methods []string
		for _, c := range browser.Seen() {
			methods = append(methods, c.Method)
		}
		if !slices.Equal(methods, []string{"Read.one", "Written.one"}) {
			t.Errorf("the browser saw %v", methods)
		}
	})
}

// What the browser will never answer fails in the same instant, not at its
// deadline: of an action it says that it may have been executed.
func TestCallsInFlightFailAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(*cdp.Conn, *cdptest.Browser)
		cause error
	}{
		"close":          {func(c *cdp.Conn, _ *cdptest.Browser) { _ = c.Close() }, cdp.ErrClosed},
		"the browser":    {func(_ *cdp.Conn, b *cdptest.Browser) { b.Die() }, cdp.ErrClosed},
		"a crash":        {func(c *cdp.Conn, _ *cdptest.Browser) { c.FailSession("S", cdp.ErrCrashed) }, cdp.ErrCrashed},
		"a detach":       {func(c *cdp.Conn, _ *cdptest.Browser) { c.FailSession("S", cdp.ErrDetached) }, cdp.ErrDetached},
		"a lost event":   {func(_ *cdp.Conn, b *cdptest.Browser) { flood(b) }, cdp.ErrOverflow},
		"garbage writes": {func(_ *cdp.Conn, b *cdptest.Browser) { b.WriteRaw([]byte("{")); b.Die() }, cdp.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, pair cdptest.Pair) {
				slow := make(chan struct{})
				conn, browser := cdptest.Connect(t, pair, cdptest.Echo, func(cdp.Event) { <-slow }, cdp.Options{MaxEvents: 5})
				start := time.Now()
				calls := make(chan error, 3)
				for range cap(calls) {
					pending := cdptest.Sent(t, conn, "S", "Never.answered")
					go func() { calls <- pending.Wait(t.Context(), nil) }()
				}
				synctest.Wait()
				go func() { c.end(conn, browser); close(slow) }()
				for range cap(calls) {
					ended(t, name, <-calls, c.cause, true, start, 0)
				}
				synctest.Wait()
				if s := conn.Stats(); s.Pending != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func flood(b *cdptest.Browser) {
	for range 10 {
		b.Event("S", "Page.important", nil)
	}
}

// An hour in a handler is an hour's delay of events, none of a reply, and no event
// changes places.
func TestTheReaderNeverWaitsForTheHandler(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pair cdptest.Pair) {
		var order []string
		conn, _ := cdptest.Connect(t, pair, func(b *cdptest.Browser, c cdptest.Command) {
			b.Event("", "Before."+c.Method, nil)
			b.Reply(c, nil)
		}, func(e cdp.Event) {
			time.Sleep(time.Hour)
			order = append(order, e.Method)
		}, cdp.Options{})
		start := time.Now()
		for _, method := range []string{"A.a", "B.b", "C.c"} {
			if err := conn.Session("").Call(t.Context(), method, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("three replies took %v", took)
		}
		time.Sleep(3*time.Hour + time.Second)
		synctest.Wait()
		if want := []string{"Before.A.a", "Before.B.b", "Before.C.c"}; !slices.Equal(order, want) {
			t.Errorf("%v", order)
		}
	})
}

// A call that nobody waits for and nobody forgot leaves the table by itself.
func TestAbandonedCallsLeaveTheTable(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pair cdptest.Pair) {
		conn, _ := cdptest.Connect(t, pair, cdptest.Echo, nil, cdp.Options{})
		pending := cdptest.Sent(t, conn, "", "Never.a")
		time.Sleep(6 * time.Minute)
		if err := conn.Session("").Call(t.Context(), "Echo.it", nil, nil); err != nil {
			t.Fatal(err)
		}
		if s := conn.Stats(); s.Pending != 0 {
			t.Errorf("%+v", s)
		}
		if err := pending.Wait(t.Context(), nil); err == nil || !cdp.MayHaveExecuted(err) || !strings.Contains(err.Error(), "abandoned") {
			t.Errorf("%v", err)
		}
	})
}

func TestASubscriberThatIsBehindLosesEventsAndItIsCounted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pair cdptest.Pair) {
		conn, browser := cdptest.Connect(t, pair, cdptest.Echo, nil, cdp.Options{})
		events, cancel := conn.Session("S").Subscribe("Count.up")
		for range 300 {
			browser.Event("S", "Count.up", nil)
		}
		synctest.Wait()
		cancel()
		got := 0
		for range events {
			got++
		}
		if s := conn.Stats(); got != 256 || s.Missed != 44 {
			t.Errorf("%d events, %+v", got, s)
		}
	})
}

// A WebSocket has a timer of its own: a peer that reads nothing for ten seconds is
// gone.
func TestAWebSocketThatTakesNothingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		conn, _ := cdptest.Connect(t, cdptest.BubbleSocket, func(*cdptest.Browser, cdptest.Command) { <-release }, nil, cdp.Options{})
		start := time.Now()
		for range 2 { // the first is read
			if _, err := conn.Session("").Send("Never.a", nil); err != nil {
				t.Fatal(err)
			}
		}
		<-conn.Done()
		if took := time.Since(start); took != 10*time.Second || !errors.Is(conn.Err(), cdp.ErrClosed) {
			t.Errorf("ended after %v: %v", took, conn.Err())
		}
	})
}
