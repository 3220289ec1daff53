package cdptest

import (
	"errors"
	"slices"
	"testing"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
)

// counted is a handler that collects the numbers of Count.* events of session S
// until the last one.
func counted(t *testing.T, last int) (handle func(cdp.Event), numbers func() []int) {
	t.Helper()
	var got []int
	done := make(chan struct{})
	handle = func(e cdp.Event) {
		var v number
		if err := e.Decode(&v); err != nil || e.Session != "S" {
			t.Errorf("%+v: %v", e, err)
		}
		if got = append(got, v.N); v.N == last {
			close(done)
		}
	}
	return handle, func() []int {
		<-done
		return got
	}
}

// upTo are the numbers from 0 to n.
func upTo(n int) []int {
	numbers := make([]int, n+1)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

func eventsInOrder(t *testing.T, pair Pair) {
	handle, numbers := counted(t, 499)
	conn, _ := Connect(t, pair, func(b *Browser, c Command) {
		for i := range 500 {
			b.Event(c.Session, "Count.up", number{i})
		}
		b.Reply(c, nil)
	}, handle, cdp.Options{})
	if err := conn.Session("S").Call(t.Context(), "Go.on", nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := numbers(); !slices.Equal(got, upTo(499)) {
		t.Errorf("%v", got)
	}
}

// A result that was asked for in order comes between the events that were written
// before and after it.
func orderedResult(t *testing.T, pair Pair) {
	handle, numbers := counted(t, 101)
	conn, _ := Connect(t, pair, func(b *Browser, c Command) {
		for i := range 100 {
			b.Event(c.Session, "Count.up", number{i})
		}
		b.Reply(c, number{100})
		b.Event(c.Session, "Count.up", number{101})
	}, func(e cdp.Event) {
		var v number
		if err := e.Decode(&v); err != nil || (e.Method == "Count.now") != (v.N == 100) {
			t.Errorf("%+v: %v", e, err)
		}
		handle(e)
	}, cdp.Options{})
	if err := conn.Session("S").SendOrdered("Count.now", nil); err != nil {
		t.Fatal(err)
	}
	if got := numbers(); !slices.Equal(got, upTo(101)) {
		t.Errorf("%v", got)
	}
}

func eventsBeforeEnd(t *testing.T, pair Pair) {
	handle, numbers := counted(t, 49)
	conn, _ := Connect(t, pair, func(b *Browser, c Command) {
		for i := range 50 {
			b.Event(c.Session, "Count.up", number{i})
		}
		b.Die()
	}, handle, cdp.Options{})
	if err := conn.Session("S").Call(t.Context(), "Never.answered", nil, nil); !errors.Is(err, cdp.ErrClosed) {
		t.Errorf("%v", err)
	}
	if got := numbers(); !slices.Equal(got, upTo(49)) {
		t.Errorf("%v", got)
	}
}

func handlerBlocks(t *testing.T, pair Pair) {
	release := make(chan struct{})
	conn, _ := Connect(t, pair, func(b *Browser, c Command) {
		b.Event("", "Some.event", nil)
		b.Reply(c, nil)
	}, func(cdp.Event) { <-release }, cdp.Options{})
	defer close(release)
	for range 10 {
		if err := conn.Session("").Call(t.Context(), "Any.thing", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s := conn.Stats(); s.Queued == 0 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
}

func floodDrops(t *testing.T, pair Pair) {
	release := make(chan struct{})
	var kept []string
	done := make(chan struct{})
	conn, _ := Connect(t, pair, func(b *Browser, c Command) {
		for range 100 {
			b.Event("", "Console.noise", nil)
		}
		b.Event("", "Page.important", nil)
		b.Reply(c, nil)
	}, func(e cdp.Event) {
		<-release
		if kept = append(kept, e.Method); e.Method == "Page.important" {
			close(done)
		}
	}, cdp.Options{MaxEvents: 20, Droppable: func(method string) bool { return method == "Console.noise" }})
	err := conn.Session("").Call(t.Context(), "Any.thing", nil, nil)
	close(release)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	s := conn.Stats()
	if s.Dropped == 0 || int(s.Dropped)+len(kept) != 101 {
		t.Errorf("%d kept, %+v", len(kept), s)
	}
}

func floodEnds(t *testing.T, pair Pair) {
	release := make(chan struct{})
	conn, _ := Connect(t, pair, func(b *Browser, _ Command) {
		for range 100 {
			b.Event("", "Page.important", nil)
		}
	}, func(cdp.Event) { <-release }, cdp.Options{MaxEvents: 20})
	defer close(release)
	err := conn.Session("").Call(t.Context(), "Never.answered", nil, nil)
	if !errors.Is(err, cdp.ErrOverflow) || !errors.Is(err, cdp.ErrClosed) || !cdp.MayHaveExecuted(err) {
		t.Errorf("%v", err)
	}
	if s := conn.Stats(); s.Dropped == 0 {
		t.Errorf("%+v", s)
	}
}

func subscriptions(t *testing.T, pair Pair) {
	conn, _ := Connect(t, pair, func(b *Browser, c Command) {
		for i := range 3 {
			b.Event("S", "Count.up", number{i})
			b.Event("S", "Other.event", number{i})
			b.Event("T", "Count.up", number{i})
		}
		b.Reply(c, nil)
	}, nil, cdp.Options{})
	events := protocol.Events(t.Context(), conn.Session("S"), protocol.Event[number]{Method: "Count.up"})
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
	if !slices.Equal(got, upTo(2)) {
		t.Errorf("%v", got)
	}
	open, cancel := conn.Session("S").Subscribe("Count.up")
	defer cancel()
	conn.FailSession("S", cdp.ErrDetached)
	if _, ok := <-open; ok {
		t.Error("a subscription outlives its session")
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	late, _ := conn.Session("S").Subscribe("Count.up")
	if _, ok := <-late; ok {
		t.Error("a subscription of a closed connection delivers")
	}
}
