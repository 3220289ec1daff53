package figures

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/loadtest"
)

// Options shape a run.
type Options struct {
	// Only are the figures to measure; none is all.
	Only []string
	// Repeats replaces each figure's own number of repeats, where it is not 0.
	Repeats int
	// Owners and Active are of the figure "many"; 0 is its own.
	Owners, Active int
	// Window is how long each repeat of added, rate and many measures; 0 is its own.
	Window time.Duration
	// Keep leaves the fleets' folders.
	Keep bool
	// Say tells a person how it goes.
	Say func(format string, args ...any)
}

// figure is one thing to measure.
type figure struct {
	name    string
	repeats int
	limit   time.Duration // bounds it, whatever happens
	measure func(context.Context, *bench) ([]Row, error)
}

// figures in the order of a run.
var all = []figure{
	{"lost", 20, 4 * time.Minute, lost},
	{"lost-chrome", 10, 4 * time.Minute, lostChrome},
	{"move", 10, 3 * time.Minute, move},
	{"added", 5, 3 * time.Minute, added},
	{"rate", 5, 3 * time.Minute, rate},
	{"many", 3, 5 * time.Minute, many},
	{"burst", 5, 3 * time.Minute, burst},
	{"dialog", 20, 2 * time.Minute, dialog},
	{"late", 20, 3 * time.Minute, late},
	{"died", 20, 3 * time.Minute, died},
	{"wedged", 10, 3 * time.Minute, wedged},
}

// Names are the figures.
func Names() []string {
	var out []string
	for _, f := range all {
		out = append(out, f.name)
	}
	return out
}

// Known refuses names that no figure has.
func Known(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no figure %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

// Run measures. A figure that fails does not keep the others from being measured.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := Known(o.Only); err != nil {
		return nil, err
	}
	r := &Report{Machine: loadtest.ThisMachine(), LoadAtStart: loadAverage()}
	for _, f := range all {
		if len(o.Only) > 0 && !slices.Contains(o.Only, f.name) {
			continue
		}
		rows, err := f.run(ctx, o)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.Rows = append(r.Rows, rows...)
		if err != nil {
			r.Failures = append(r.Failures, fmt.Sprintf("%s: %v", f.name, err))
		}
	}
	return r, nil
}

func (f figure) run(ctx context.Context, o Options) ([]Row, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.limit, errors.New("it took too long"))
	defer cancel()
	b := &bench{o: o, name: f.name, repeats: f.repeats}
	if o.Repeats > 0 {
		b.repeats = o.Repeats
	}
	begun := time.Now()
	b.say("begins")
	rows, err := f.measure(ctx, b)
	b.say("took %s", time.Since(begun).Round(time.Second))
	for i := range rows {
		rows[i].Figure = f.name
	}
	return rows, err
}

// bench is one figure's run.
type bench struct {
	o       Options
	name    string
	repeats int
}

func (b *bench) say(format string, args ...any) { b.o.Say(b.name+": "+format, args...) }

// window is how long a repeat measures.
func (b *bench) window(own time.Duration) time.Duration {
	if b.o.Window > 0 {
		return b.o.Window
	}
	return own
}

// loadAverage over a minute; 0 where the system does not tell.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	v, _ := strconv.ParseFloat(first, 64)
	return v
}
