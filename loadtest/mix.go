package loadtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Step is one thing that an owner does: a kind of action, or one of the steps
// that take several requests.
type Step string

// The steps.
const (
	StepOpen       Step = "open"
	StepObserve    Step = "observe"
	StepFill       Step = "fill"
	StepPress      Step = "press"
	StepClick      Step = "click"
	StepScroll     Step = "scroll"
	StepScreenshot Step = "screenshot"
	StepLinks      Step = "extract_links"
	StepPing       Step = "ping"
	StepPipelined  Step = "pipelined"
	StepResend     Step = "resend"
	StepMalformed  Step = "malformed"
	StepCancel     Step = "cancel"
)

// Mix is how often each step is taken, by weight.
type Mix map[Step]int

// DefaultMix is what an agent does on a shop, with some of everything that goes
// wrong in practice.
func DefaultMix() Mix {
	return Mix{
		StepOpen: 8, StepObserve: 20, StepFill: 16, StepPress: 10, StepClick: 18, StepScroll: 4,
		StepScreenshot: 2, StepLinks: 4, StepPing: 6, StepPipelined: 4, StepResend: 4, StepMalformed: 2, StepCancel: 2,
	}
}

// ParseMix reads "observe=10,click=5".
func ParseMix(s string) (Mix, error) {
	m := Mix{}
	for part := range strings.SplitSeq(s, ",") {
		step, weight, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(weight)
		if err != nil {
			return nil, fmt.Errorf("mix %q: want step=weight, separated by commas", s)
		}
		m[Step(step)] = n
	}
	return m, m.check()
}

func (m Mix) check() error {
	total := 0
	for step, weight := range m {
		if _, known := steps[step]; !known {
			return fmt.Errorf("mix: step %q is unknown; want one of %v", step, slices.Sorted(maps.Keys(steps)))
		}
		if weight < 0 {
			return fmt.Errorf("mix: weight of %s is negative", step)
		}
		total += weight
	}
	if total == 0 {
		return fmt.Errorf("mix: no step has a weight")
	}
	return nil
}

// deck is a mix to draw from: steps in a fixed order, so that a seed gives the
// same steps again.
type deck struct {
	steps []Step
	upto  []int
	total int
}

func newDeck(m Mix) *deck {
	d := &deck{}
	for _, step := range slices.Sorted(maps.Keys(m)) {
		d.total += m[step]
		d.steps, d.upto = append(d.steps, step), append(d.upto, d.total)
	}
	return d
}

func (d *deck) draw(r *rand.Rand) Step {
	n := r.IntN(d.total)
	for i, upto := range d.upto {
		if n < upto {
			return d.steps[i]
		}
	}
	return d.steps[len(d.steps)-1]
}
