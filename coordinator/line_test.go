package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

func owner(tenant string, n int) protocol.OwnerKey {
	return protocol.OwnerKey{Tenant: protocol.Tenant(tenant), Owner: protocol.Owner(fmt.Sprintf("o%d", n))}
}

func TestTheLineServesTenantsInTurn(t *testing.T) {
	t.Parallel()
	l := newLine()
	for i := range 100 {
		l.join(ticket{key: owner("flood", i)})
	}
	l.join(ticket{key: owner("quiet", 0)})
	l.join(ticket{key: owner("quiet", 1)})
	l.join(ticket{key: owner("quiet", 1)}) // waits already
	if got := l.position(owner("quiet", 1)); got != 4 {
		t.Errorf("position %d", got)
	}
	var got []protocol.OwnerKey
	for range 5 {
		next, _ := l.call()
		got = append(got, next.key)
	}
	want := []protocol.OwnerKey{owner("flood", 0), owner("quiet", 0), owner("flood", 1), owner("quiet", 1), owner("flood", 2)}
	if !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

func TestWhoNobodyCouldTakeKeepsItsPlace(t *testing.T) {
	t.Parallel()
	l := newLine()
	l.join(ticket{key: owner("a", 0), reason: "new"})
	l.join(ticket{key: owner("a", 1)})
	first, _ := l.call()
	if l.position(first.key) != 0 || l.len() != 1 || l.called != 1 {
		t.Fatalf("who was called waits: %+v", l)
	}
	l.unfit(first.key)
	if got := l.position(first.key); got != 1 || l.len() != 2 || l.called != 0 {
		t.Fatalf("position %d of %d", got, l.len())
	}
	if second, _ := l.call(); second.key != owner("a", 1) {
		t.Fatalf("who is parked is called at once: %v", second)
	}
	if _, ok := l.call(); ok {
		t.Fatal("who is parked is called before anything has changed")
	}
	l.join(ticket{key: owner("a", 2)})
	l.retry()
	if again, ok := l.call(); !ok || again.key != first.key || again.reason != "new" {
		t.Fatalf("got %v", again)
	}
	for i := range 4 { // one of them is a stranger
		l.leave(owner("a", i), false)
		l.leave(owner("a", i), false)
	}
	if l.len() != 0 || l.called != 0 || len(l.tickets) != 0 || len(l.tenants) != 0 {
		t.Fatalf("%+v", l)
	}
}

// An owner that is called while its requests are answered, which need no worker
// any more: its tenant has lost nothing.
func TestATurnOfWhichNothingCameIsGivenBack(t *testing.T) {
	t.Parallel()
	l := newLine()
	for i := range 4 {
		l.join(ticket{key: owner("a", i)})
		l.join(ticket{key: owner("b", i)})
	}
	first, _ := l.call()
	second, _ := l.call()
	l.leave(first.key, false)
	l.leave(second.key, true)
	var got []protocol.Tenant
	for range 4 {
		next, _ := l.call()
		got = append(got, next.key.Tenant)
	}
	if want := []protocol.Tenant{"b", "a", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("called %v, want %v", got, want)
	}
}

// Heartbeats count an owner twice for a moment, so one that was called finds no
// room: it is the next of all as soon as there is some.
func TestWhoFindsNoRoomIsCalledAgainBeforeTheOthers(t *testing.T) {
	t.Parallel()
	l := newLine()
	for i := range 4 {
		l.join(ticket{key: owner("a", i)})
	}
	l.join(ticket{key: owner("b", 0)})
	_, _ = l.call()
	quiet, _ := l.call()
	_, _ = l.call()
	l.back(quiet.key)
	if got := l.position(quiet.key); got != 1 {
		t.Errorf("position %d", got)
	}
	if next, _ := l.call(); next.key != quiet.key {
		t.Errorf("called %v", next.key)
	}
}

// Meanwhile the other tenant was called many times.
func TestWhoFindsNoRoomLateHasNoTurnsSavedUp(t *testing.T) {
	t.Parallel()
	l := newLine()
	l.join(ticket{key: owner("b", 0)})
	late, _ := l.call()
	for i := range 4 {
		l.join(ticket{key: owner("a", i)})
		_, _ = l.call()
	}
	l.join(ticket{key: owner("a", 4)})
	l.join(ticket{key: owner("a", 5)})
	l.back(late.key)
	l.join(ticket{key: owner("b", 1)})
	l.join(ticket{key: owner("b", 2)})
	var got []protocol.Tenant
	for range 4 {
		next, _ := l.call()
		got = append(got, next.key.Tenant)
	}
	if want := []protocol.Tenant{"b", "a", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("called %v, want %v", got, want)
	}
}

// schedule does anything that may happen to a line, in any order: owners come,
// are answered, have their turn while there is capacity, are placed, refused, or
// found to need nothing, and workers get room again.
type schedule struct {
	line *line
	// credit are turns that were given back, by tenant; who has nobody ready loses
	// them.
	credit map[protocol.Tenant]int
	last   protocol.Tenant
	// both: two tenants had somebody ready at every moment since the last call.
	both bool
}

func (s *schedule) step(t *rapid.T) {
	tenant := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant")
	key := owner(tenant, rapid.IntRange(0, 9).Draw(t, "owner"))
	what := rapid.SampledFrom([]string{"join", "join", "call", "call", "placed", "needless", "back", "untried", "unfit", "retry", "answered"}).Draw(t, "what")
	switch what {
	case "join":
		s.line.join(ticket{key: key})
	case "call":
		if s.line.called < 4 {
			s.call(t)
		}
	case "placed":
		s.settle(t, func(k protocol.OwnerKey) { s.line.leave(k, false) })
	case "needless":
		s.settle(t, func(k protocol.OwnerKey) {
			s.given(k.Tenant)
			s.line.leave(k, true)
		})
	case "back", "untried":
		how := map[string]func(protocol.OwnerKey){"back": s.line.back, "untried": s.line.untried}[what]
		s.settle(t, func(k protocol.OwnerKey) {
			s.given(k.Tenant)
			how(k)
		})
	case "unfit":
		s.settle(t, s.line.unfit)
	case "retry":
		s.line.retry()
	case "answered":
		if s.line.has(key) {
			s.line.leave(key, true)
		}
	}
	for _, tenant := range []protocol.Tenant{"a", "b"} {
		if !s.ready(tenant) {
			s.both, s.credit[tenant] = false, 0
		}
	}
}

// given: the tenant is about to be given a turn back.
func (s *schedule) given(tenant protocol.Tenant) {
	if s.ready(tenant) {
		s.credit[tenant]++
	}
}

func (s *schedule) ready(t protocol.Tenant) bool {
	w := s.line.tenants[t]
	return w != nil && len(w.ready) > 0
}

func (s *schedule) settle(t *rapid.T, how func(protocol.OwnerKey)) {
	var called []protocol.OwnerKey
	for _, tenant := range []protocol.Tenant{"a", "b"} {
		called = slices.AppendSeq(called, maps.Keys(s.line.underWay(tenant)))
	}
	if len(called) == 0 {
		return
	}
	slices.SortFunc(called, func(a, b protocol.OwnerKey) int { return s.line.tickets[a].number - s.line.tickets[b].number })
	how(called[rapid.IntRange(0, len(called)-1).Draw(t, "which")])
}

// call takes a turn, and checks that it is the right one's.
func (s *schedule) call(t *rapid.T) {
	waited := s.ready("a") && s.ready("b")
	next, ok := s.line.call()
	if !ok {
		if s.ready("a") || s.ready("b") {
			t.Fatal("nobody is called, and somebody waits")
		}
		return
	}
	mine := next.key.Tenant
	if waited && s.both && mine == s.last {
		if s.credit[mine]--; s.credit[mine] < 0 {
			t.Fatalf("%s has two turns in a row, and the other one waits", mine)
		}
	}
	for _, other := range s.line.tenants[mine].ready {
		if other.number < next.number {
			t.Fatalf("%v is called before %v, which came first", next.key, other.key)
		}
	}
	s.last, s.both = mine, waited
}

// Whatever happens: while two tenants have somebody who waits, their turns
// alternate, but for one more for each turn that was given back; what a tenant
// did not use while it had nobody to call is lost, so that it cannot come back
// and be called many times before the others. Within a tenant, who came first is
// called first.
func TestTurnsAlternateUnderAnySchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &schedule{line: newLine(), credit: map[protocol.Tenant]int{}}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			s.step(t)
			s.consistent(t)
		}
	})
}

// consistent: everybody is in one place, which its ticket names.
func (s *schedule) consistent(t *rapid.T) {
	seen := map[protocol.OwnerKey]TicketState{}
	called := 0
	for _, w := range s.line.tenants {
		for _, tk := range w.ready {
			seen[tk.key] = TicketWaiting
		}
		for _, tk := range w.parked {
			seen[tk.key] = TicketParked
		}
		for key := range w.called {
			seen[key] = TicketCalled
			called++
		}
	}
	states := map[protocol.OwnerKey]TicketState{}
	for key, tk := range s.line.tickets {
		states[key] = tk.state
	}
	if diff := cmp.Diff(states, seen); diff != "" || called != s.line.called {
		t.Fatalf("%d of %d called; tickets (-), places (+):\n%s", called, s.line.called, diff)
	}
}

// Positions are what call does, after anything has happened.
func TestPositionsAreTheOrderOfTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &schedule{line: newLine(), credit: map[protocol.Tenant]int{}}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			s.step(t)
		}
		l := s.line
		l.retry()
		positions := map[protocol.OwnerKey]int{}
		for key := range l.tickets {
			positions[key] = l.position(key)
		}
		for n := 1; l.len() > 0; n++ {
			next, ok := l.call()
			if !ok || positions[next.key] != n {
				t.Fatalf("%v came as number %d, not %d", next.key, n, positions[next.key])
			}
		}
	})
}
