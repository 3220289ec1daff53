package fleetmodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// seen counts what schedules brought about: a model that never meets a case
// proves nothing about it.
type seen struct {
	mu    sync.Mutex
	count map[string]int
}

func (s *seen) add(w *world) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == nil {
		s.count = map[string]int{}
	}
	p := w.promises
	s.count["schedules"]++
	s.count["holds"] += p.ranks
	s.count["streams made anew"] += p.life
	for _, h := range p.holds {
		if h.fenced {
			s.count["environments fenced"]++
		}
	}
	for _, d := range p.dispatches {
		s.count["dispatches of a "+string(d.entry.Effect)]++
		if d.superseded {
			s.count["dispatches after the owner was lost"]++
		}
		if d.entry.Attempt > 1 {
			s.count["reads run again"]++
		}
	}
	for _, a := range p.results {
		s.count["results "+string(a.res.Status)]++
		if c := code(a.res); c != "" {
			s.count["code "+string(c)]++
		}
		if a.by.p != nil && strings.HasPrefix(string(a.by.p.id), "c-") {
			s.count["results by a coordinator"]++
		}
		if a.res.Lane == protocol.LaneControl {
			s.count["control results"]++
		}
	}
	s.count["checkpoints"] += p.manifests
	s.count["hibernations"] += p.slept
	s.count["owners failed"] += p.failed
	for what, n := range w.count {
		s.count[what] += n
	}
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.count)) {
		fmt.Fprintf(&b, "\n%8d %s", s.count[name], name)
	}
	return b.String()
}

// required is how many schedules it takes for atLeast to hold.
const required = 2000

// atLeast is how often 2,000 schedules bring something about, at the least: about
// a fifth of what they do. Crashes at each step have a test of their own.
var atLeast = map[string]int{
	// What the network and the servers do.
	"requests lost": 150, "answers lost": 300, "copies": 200, "pushes lost": 500, "conflicts": 1000,
	"steps that arrived after their sender's death": 200,
	"direct reads that were behind":                 10,
	"reads of a leader that was behind: BF_ACT_0":   150,
	"reads of a leader that was behind: BF_OWN_0":   300,
	"reads of a leader that was behind: BF_RES_0":   40,
	"streams made anew":                             40,
	"forged headers":                                50,
	"checkpoints of who was overtaken":              8,
	// What happens to owners.
	"environments fenced": 400, "hibernations": 300, "owners failed": 50, "owners reset": 30, "owners erased": 15,
	"leases granted": 150, "leases given up": 80, "closed": 150, "control take": 100, "control give": 120,
	"refusals of an owner without a record": 120, "checkpoints": 1500, "dispatches after the owner was lost": 1,
	"reads run again": 10, "results by a coordinator": 600, "results outcome_unknown": 60,
	// What requests are told.
	"code cancelled": 120, "code expired": 100, "code invalid_request": 100, "code request_too_old": 40,
	"code generation_changed": 250, "code stale_control": 250, "code environment_failed": 150, "code environment_deleted": 30,
	"code quota_exceeded": 100, "code no_capacity": 40, "code checkpoint_store_unavailable": 100, "code outcome_unknown": 60,
}

// require fails where too little came about. Every move is made.
func (s *seen) require(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	played := s.count["schedules"]
	if played < required {
		return
	}
	for what, n := range atLeast {
		if got := s.count[what]; got < n*played/required {
			t.Errorf("too few %s: %d in %d schedules, want %d", what, got, played, n*played/required)
		}
	}
	for _, name := range opNames[opServe:] {
		if op(slices.Index(opNames[:], name)) == opLoseResults {
			continue // the log relies on results that live as long as they are to
		}
		if got, want := s.count["moves: "+name], 30*played/required; got < want {
			t.Errorf("too few moves: %s: %d in %d schedules, want %d", name, got, played, want)
		}
	}
}
