package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind of a fault.
type Kind string

// The kinds; the package's documentation explains them.
const (
	Kill  Kind = "kill"
	Pause Kind = "pause"
	Cut   Kind = "cut"
	Part  Kind = "part"
	Slow  Kind = "slow"
)

// Fault is one thing that goes wrong, and is mended.
type Fault struct {
	At   time.Duration // since the agents began
	Kind Kind
	// Target is a process (kill, pause) or a host (cut, part, slow). leaderOf and
	// a stream stand for the server that leads it when the fault begins, everyServer
	// for all three at once.
	Target string
	Other  string // the other host of a part
	For    time.Duration
}

const (
	leaderOf    = "leader of "
	everyServer = "every server"
)

func (f Fault) String() string {
	what := string(f.Kind) + " " + f.Target
	if f.Other != "" {
		what += " from " + f.Other
	}
	return fmt.Sprintf("%s, for %s", what, f.For)
}

// end is when it is mended.
func (f Fault) end() time.Duration { return f.At + f.For }

const (
	// calm is the part of the time at the beginning and at the end in which
	// nothing begins.
	calm = 10 // one tenth
	// recovery is how long a part of the fleet is left alone after a fault.
	recovery = time.Second
	// atOnce is how many faults there are at a time.
	atOnce = 3
	// minGap and maxGap are between the beginnings of two faults.
	minGap, maxGap = 300 * time.Millisecond, 3500 * time.Millisecond
)

// lengths of faults. A worker has contact for 2 to 12 s after a cut, a leader's
// lease ends within seconds: the ranges are shorter, about as long, and longer.
var lengths = [][2]time.Duration{
	{200 * time.Millisecond, 2 * time.Second},
	{2 * time.Second, 6 * time.Second},
	{12 * time.Second, 20 * time.Second},
}

// choice is a kind of fault with its weight among all.
type choice struct {
	weight  int
	kind    Kind
	targets []string
}

// streams whose leaders are aimed at.
var streams = []string{"BF_ACT_0", "BF_OWN_0", "BF_RES_0", "KV_bf_leader"}

var choices = []choice{
	{5, Kill, workers},
	{5, Pause, workers},
	{2, Kill, coordinators},
	{2, Pause, coordinators},
	{2, Kill, leaders()},
	{1, Kill, []string{everyServer}},
	{2, Pause, leaders()},
	{4, Cut, []string{"w3", "w4"}},
	{3, Cut, []string{"n1", "n2", "n3"}},
	{1, Cut, []string{"c1", "c2"}},
	{3, Part, hostNames()},
	{3, Slow, hostNames()},
}

func leaders() (out []string) {
	for _, s := range streams {
		out = append(out, leaderOf+s)
	}
	return out
}

// Plan is the schedule of a seed, in the order of time.
func Plan(seed uint64, length time.Duration) []Fault {
	p := planner{rng: rand.New(rand.NewPCG(seed, 0)), length: length, busy: map[string]time.Duration{}}
	last := length - length/calm
	for at := length / calm; at < last; at += p.between(minGap, maxGap) {
		if f, ok := p.fault(at, last); ok {
			p.plan = append(p.plan, f)
		}
	}
	return p.plan
}

type planner struct {
	rng    *rand.Rand
	length time.Duration
	busy   map[string]time.Duration // until when a part of the fleet has a fault
	plan   []Fault
}

// fault is one that begins at this time, if a part of the fleet is free for it.
func (p *planner) fault(at, last time.Duration) (Fault, bool) {
	running := 0
	for _, f := range p.plan {
		if f.end() > at {
			running++
		}
	}
	f := p.draw(at)
	f.For = min(p.holds(), last-at).Round(time.Millisecond)
	if running >= atOnce || f.For <= 0 {
		return f, false
	}
	parts := parts(f)
	for _, part := range parts {
		if p.busy[part] > at {
			return f, false
		}
	}
	for _, part := range parts {
		p.busy[part] = f.end() + recovery
	}
	return f, true
}

func (p *planner) draw(at time.Duration) Fault {
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	n := p.rng.IntN(total)
	for _, c := range choices {
		if n -= c.weight; n >= 0 {
			continue
		}
		f := Fault{At: at.Round(time.Millisecond), Kind: c.kind, Target: p.one(c.targets)}
		if f.Kind == Part {
			f.Other = p.one(slices.DeleteFunc(slices.Clone(c.targets), func(h string) bool { return h == f.Target }))
		}
		return f
	}
	panic("unreachable: n is below the total")
}

func (p *planner) one(of []string) string { return of[p.rng.IntN(len(of))] }

func (p *planner) between(from, to time.Duration) time.Duration {
	return from + time.Duration(p.rng.Int64N(int64(to-from)))
}

// holds is how long a fault lasts: at most a quarter of a short run.
func (p *planner) holds() time.Duration {
	r := lengths[p.rng.IntN(len(lengths))]
	return min(p.between(r[0], r[1]), p.length/4)
}

// parts of the fleet that a fault takes.
func parts(f Fault) (out []string) {
	for _, target := range []string{f.Target, f.Other} {
		switch {
		case target == "":
		case strings.HasPrefix(target, leaderOf), target == everyServer:
			out = append(out, "servers")
		default:
			out = append(out, partsOf(target)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// partsOf a process is itself; of a host all that runs there.
func partsOf(target string) (out []string) {
	for _, m := range members {
		if m.name != target && m.host != target {
			continue
		}
		if m.role == roleServer {
			out = append(out, "servers")
			continue
		}
		out = append(out, m.name)
	}
	return out
}

// event is the beginning or the end of a fault.
type event struct {
	at    time.Duration
	fault int // in the plan
	mend  bool
}

// events of a plan in the order of time.
func events(plan []Fault) []event {
	var out []event
	for n, f := range plan {
		out = append(out, event{f.At, n, false}, event{f.end(), n, true})
	}
	slices.SortStableFunc(out, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return out
}
