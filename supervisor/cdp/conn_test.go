package cdp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/google/go-cmp/cmp"
)

var _ protocol.Session = (*Session)(nil)

type number struct {
	N int `json:"n"`
}

// TestCarriers is the suite that every carrier has to pass.
func TestCarriers(t *testing.T) {
	t.Parallel()
	suite := map[string]func(*testing.T, func(*testing.T) (Carrier, Carrier)){
		"replies reach their callers":         repliesReachTheirCallers,
		"large messages both ways":            largeMessages,
		"order of sends is kept":              orderOfSends,
		"events come in order":                eventsInOrder,
		"an error reply is typed":             errorReply,
		"the end of the peer fails calls":     peerEnds,
		"close fails calls":                   closeFails,
		"a session fails alone":               sessionFails,
		"a caller that leaves leaves nothing": callerLeaves,
		"garbage is counted":                  garbage,
		"a peer that does not read":           peerDoesNotRead,
		"subscriptions":                       subscriptions,
		"an ordered result keeps its place":   orderedResult,
	}
	for carrier, pair := range carriers {
		for name, test := range suite {
			t.Run(carrier+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, pair)
			})
		}
	}
}

func repliesReachTheirCallers(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, echo, nil, Options{})
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			var got number
			session := conn.Session(SessionID(fmt.Sprintf("S%d", i%7)))
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

func largeMessages(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, echo, nil, Options{})
	want := map[string]string{"text": strings.Repeat("0123456789abcdef", 1<<16)} // 1 MiB
	var got map[string]string
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := conn.Session("").Call(ctx, "Echo.it", want, &got); err != nil || got["text"] != want["text"] {
		t.Errorf("%d bytes, %v", len(got["text"]), err)
	}
}

func orderOfSends(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, fake := connect(t, pair, echo, nil, Options{})
	var want []string
	var last *Pending
	for i := range 300 {
		method := fmt.Sprintf("Echo.m%d", i)
		pending, err := conn.Session("S").Send(method, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, last = append(want, method), pending
	}
	if err := last.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, fake.methods()); diff != "" {
		t.Error(diff)
	}
}

func eventsInOrder(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	var got []int
	done := make(chan struct{})
	script := func(f *fakeBrowser, c fakeCommand) {
		for i := range 500 {
			f.event(c.SessionID, "Count.up", number{i})
		}
		f.reply(c, nil)
	}
	conn, _ := connect(t, pair, script, func(e Event) {
		var v number
		if err := e.Decode(&v); err != nil || e.Session != "S" {
			t.Errorf("%+v: %v", e, err)
		}
		if got = append(got, v.N); v.N == 499 {
			close(done)
		}
	}, Options{})
	if err := conn.Session("S").Call(t.Context(), "Go.on", nil, nil); err != nil {
		t.Fatal(err)
	}
	<-done
	for i, n := range got {
		if i != n {
			t.Fatalf("event %d is %d", i, n)
		}
	}
}

// A result that was asked for in order comes between the events that were written
// before and after it.
func orderedResult(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	var got []int
	done := make(chan struct{})
	conn, _ := connect(t, pair, func(f *fakeBrowser, c fakeCommand) {
		for i := range 100 {
			f.event(c.SessionID, "Count.up", number{i})
		}
		f.reply(c, number{100})
		f.event(c.SessionID, "Count.up", number{101})
	}, func(e Event) {
		var v number
		if err := e.Decode(&v); err != nil || e.Session != "S" || (e.Method == "Count.now") != (v.N == 100) {
			t.Errorf("%+v: %v", e, err)
		}
		if got = append(got, v.N); v.N == 101 {
			close(done)
		}
	}, Options{})
	if err := conn.Session("S").SendOrdered("Count.now", nil); err != nil {
		t.Fatal(err)
	}
	<-done
	for i, n := range got {
		if i != n {
			t.Fatalf("%d comes in place %d", n, i)
		}
	}
}

func errorReply(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, echo, nil, Options{})
	err := conn.Session("").Call(t.Context(), "Fail.it", nil, nil)
	want := &Error{Method: "Fail.it", Code: -32000, Message: "no luck"}
	got := (*Error)(nil)
	if !errors.As(err, &got) || cmp.Diff(want, got) != "" || !MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
	err = conn.Session("S").Call(t.Context(), "Gone.it", nil, nil)
	if !errors.Is(err, ErrDetached) || MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
}

func peerEnds(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, func(f *fakeBrowser, _ fakeCommand) { _ = f.carrier.Close() }, nil, Options{})
	err := conn.Session("").Call(t.Context(), "Never.answered", nil, nil)
	if !errors.Is(err, ErrClosed) || !MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
	<-conn.Done()
	err = conn.Session("").Call(t.Context(), "Never.sent", nil, nil)
	if !errors.Is(err, ErrClosed) || MayHaveExecuted(err) || !errors.Is(conn.Err(), ErrClosed) {
		t.Errorf("%v", err)
	}
}

func closeFails(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, echo, nil, Options{})
	pending := sendSeen(t, conn, "S", "Never.answered")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pending.Wait(t.Context(), nil); !errors.Is(err, ErrClosed) || !MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
}

func sessionFails(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, echo, nil, Options{})
	lost, kept := sendSeen(t, conn, "S1", "Never.a"), sendSeen(t, conn, "S2", "Never.b")
	conn.FailSession("S1", ErrCrashed)
	if err := lost.Wait(t.Context(), nil); !errors.Is(err, ErrCrashed) || !MayHaveExecuted(err) {
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

func callerLeaves(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, echo, nil, Options{CallTimeout: time.Millisecond})
	cause := errors.New("the owner moved")
	ctx, cancel := context.WithCancelCause(t.Context())
	pending := sendSeen(t, conn, "", "Never.a")
	cancel(cause)
	if err := pending.Wait(ctx, nil); !errors.Is(err, cause) || !MayHaveExecuted(err) {
		t.Errorf("cancelled: %v", err)
	}
	if err := conn.Session("").Call(ctx, "Never.b", nil, nil); !errors.Is(err, cause) || MayHaveExecuted(err) {
		t.Errorf("cancelled before: %v", err)
	}
	err := conn.Session("").Call(t.Context(), "Never.c", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no deadline given: %v", err)
	}
	forgotten := sendSeen(t, conn, "", "Never.d")
	forgotten.Forget()
	if s := conn.Stats(); s.Pending != 0 {
		t.Errorf("the table keeps %d calls", s.Pending)
	}
}

func garbage(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, func(f *fakeBrowser, c fakeCommand) {
		f.write([]byte("no json"))
		f.write([]byte("{}"))
		f.write([]byte(`{"id":99999,"result":{}}`)) // nobody's reply
		// Two keys that are one to a reader, and text that is not UTF-8.
		f.write([]byte(fmt.Sprintf("{\"id\":%d,\"result\":{\"n\":1,\"x\":{\"\\ud800\":1,\"\\ud801\":2},\"s\":\"\xff\"}}", c.ID)))
	}, nil, Options{})
	var raw jsonv2.Value
	if err := conn.Session("").Call(t.Context(), "Any.thing", nil, &raw); err != nil || len(raw) == 0 {
		t.Errorf("%s %v", raw, err)
	}
	if s := conn.Stats(); s.Malformed != 2 {
		t.Errorf("%+v", s)
	}
}

func peerDoesNotRead(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	stop := make(chan struct{})
	conn, _ := connect(t, pair, func(*fakeBrowser, fakeCommand) { <-stop }, nil, Options{MaxUnwritten: 3})
	t.Cleanup(func() { close(stop) })
	big := map[string]string{"text": strings.Repeat("x", 4<<20)}
	var waiting []*Pending
	var err error
	for err == nil { // the writer may take some away meanwhile, but not for ever
		var pending *Pending
		if pending, err = conn.Session("").Send("Never.a", big); err == nil {
			waiting = append(waiting, pending)
		}
	}
	if !errors.Is(err, ErrBusy) || MayHaveExecuted(err) {
		t.Errorf("a browser that does not read: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	last := waiting[len(waiting)-1].Wait(ctx, nil)
	if !errors.Is(last, context.DeadlineExceeded) || MayHaveExecuted(last) {
		t.Errorf("a command that was never written: %v", last)
	}
	if _, err := conn.Session("").Send("Never.b", nil); err != nil {
		t.Errorf("room that a caller left is not used: %v", err)
	}
}

func subscriptions(t *testing.T, pair func(*testing.T) (Carrier, Carrier)) {
	conn, _ := connect(t, pair, func(f *fakeBrowser, c fakeCommand) {
		for i := range 3 {
			f.event("S", "Count.up", number{i})
			f.event("S", "Other.event", number{i})
			f.event("T", "Count.up", number{i})
		}
		f.reply(c, nil)
	}, nil, Options{})
	count := protocol.Event[number]{Method: "Count.up"}
	events := protocol.Events(t.Context(), conn.Session("S"), count)
	if err := conn.Session("").Call(t.Context(), "Go.on", nil, nil); err != nil {
		t.Fatal(err)
	}
	var got []int
	for v, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, v.N); len(got) == 3 {
			break
		}
	}
	if diff := cmp.Diff([]int{0, 1, 2}, got); diff != "" {
		t.Error(diff)
	}
	open, cancel := conn.Session("S").Subscribe("Count.up")
	conn.FailSession("S", ErrDetached)
	if _, ok := <-open; ok {
		t.Error("a subscription outlives its session")
	}
	cancel()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if late, _ := conn.Session("S").Subscribe("Count.up"); late != nil {
		if _, ok := <-late; ok {
			t.Error("a subscription of a closed connection delivers")
		}
	}
}

// sendSeen sends a command that is never answered and makes sure that it was
// written.
func sendSeen(t *testing.T, conn *Conn, session SessionID, method string) *Pending {
	t.Helper()
	pending, err := conn.Session(session).Send(method, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := conn.Session("barrier").Send("Echo.barrier", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := after.Wait(ctx, nil); err != nil {
		t.Fatal(err)
	}
	return pending
}

func TestAHandlerThatBlocksDelaysNoReply(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	conn, _ := connect(t, pipePair, func(f *fakeBrowser, c fakeCommand) {
		f.event("", "Some.event", nil)
		f.reply(c, nil)
	}, func(Event) { <-release }, Options{})
	for range 10 {
		if err := conn.Session("").Call(t.Context(), "Any.thing", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
}

func TestAFloodDropsWhatMayBeDroppedAndCountsIt(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var kept []string
	done := make(chan struct{})
	conn, _ := connect(t, pipePair, func(f *fakeBrowser, c fakeCommand) {
		for range 100 {
			f.event("", "Console.noise", nil)
		}
		f.event("", "Page.important", nil)
		f.reply(c, nil)
	}, func(e Event) {
		<-release
		if kept = append(kept, e.Method); e.Method == "Page.important" {
			close(done)
		}
	}, Options{MaxEvents: 20, Droppable: func(method string) bool { return method == "Console.noise" }})
	if err := conn.Session("").Call(t.Context(), "Any.thing", nil, nil); err != nil {
		t.Fatal(err)
	}
	close(release)
	<-done
	s := conn.Stats()
	if s.Dropped == 0 || int(s.Dropped)+len(kept) != 101 {
		t.Errorf("%d kept, %+v", len(kept), s)
	}
}

func TestAFloodOfWhatMayNotBeDroppedEndsTheConnection(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	conn, _ := connect(t, pipePair, func(f *fakeBrowser, _ fakeCommand) {
		for range 100 {
			f.event("", "Page.important", nil)
		}
	}, func(Event) { <-release }, Options{MaxEvents: 20})
	err := conn.Session("").Call(t.Context(), "Never.answered", nil, nil)
	if !errors.Is(err, ErrOverflow) || !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	close(release)
}

func TestEventsBeforeTheEndAreStillDelivered(t *testing.T) {
	t.Parallel()
	var got int
	conn, _ := connect(t, pipePair, func(f *fakeBrowser, _ fakeCommand) {
		for range 50 {
			f.event("", "Some.event", nil)
		}
		_ = f.carrier.Close()
	}, func(Event) { got++ }, Options{})
	_ = conn.Session("").Call(t.Context(), "Never.answered", nil, nil)
	conn.workers.Wait()
	if got != 50 {
		t.Errorf("%d of 50 events", got)
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

func TestMayHaveExecuted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nil":          {nil, false},
		"unknown":      {errors.New("x"), true},
		"not sent":     {fmt.Errorf("wrap: %w", &LostError{Cause: ErrBusy}), false},
		"sent":         {&LostError{Cause: ErrClosed, MayHaveExecuted: true}, true},
		"no such":      {&Error{Code: -32601}, false},
		"bad params":   {&Error{Code: -32602}, false},
		"server error": {&Error{Code: -32000}, true},
	} {
		if got := MayHaveExecuted(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzRoute(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{}}`))
	f.Add([]byte(`{"method":"A.b","params":{},"sessionId":"S"}`))
	f.Add([]byte(`{"id":1,"error":{"code":-1,"message":"x"}}`))
	f.Add([]byte("{\"id\":1e99}\x00"))
	f.Fuzz(func(t *testing.T, message []byte) {
		c := &Conn{events: newQueue(Options{}.withDefaults()), pending: map[int64]*Pending{}, done: make(chan struct{})}
		p := &Pending{conn: c, id: 1, done: make(chan struct{})}
		c.pending[1] = p
		c.route(message)
		if p.settled != (c.pending[1] == nil) {
			t.Error("table and call disagree")
		}
	})
}
