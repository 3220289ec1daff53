package chaos

import (
	"context"
	"errors"
	"strings"
	"time"
)

// conductor plays a plan on a fleet.
type conductor struct {
	fleet *fleet
	plan  []Fault
	say   func(format string, args ...any)
	// aimed is the target of each fault that has begun.
	aimed map[int]string
	// played counts the faults that were begun.
	played map[Kind]int
	fell   []string // processes that ended by themselves
	begun  time.Time
}

// play begins and mends every fault at its time. When ctx ends, it mends what it
// began and returns.
func (c *conductor) play(ctx context.Context) error {
	defer c.mendAll()
	c.begun = time.Now()
	for _, e := range events(c.plan) {
		if err := pause(ctx, time.Until(c.begun.Add(e.at))); err != nil {
			return err
		}
		c.raiseFallen()
		if e.mend {
			c.mend(e.fault)
		} else {
			c.begin(ctx, e.fault)
		}
	}
	return nil
}

func (c *conductor) note(format string, args ...any) {
	c.say("%6.1fs "+format, append([]any{time.Since(c.begun).Seconds()}, args...)...)
}

func (c *conductor) begin(ctx context.Context, n int) {
	f := c.plan[n]
	target := f.Target
	if stream, ok := strings.CutPrefix(target, leaderOf); ok {
		server, err := c.fleet.leader(ctx, stream)
		if c.fleet.process(server) == nil {
			c.note("%s: left out: %v", f, err)
			return
		}
		target = server
		c.note("%s (%s)", f, target)
	} else {
		c.note("%s", f)
	}
	c.aimed[n] = target
	c.played[f.Kind]++
	if err := c.apply(f, target, true); err != nil {
		c.note("%s: %v", f, err)
	}
}

func (c *conductor) mend(n int) {
	target, ok := c.aimed[n]
	if !ok {
		return
	}
	delete(c.aimed, n)
	f := c.plan[n]
	if err := c.apply(f, target, false); err != nil {
		c.note("mend %s: %v", f, err)
		c.fell = append(c.fell, err.Error())
	}
}

func (c *conductor) mendAll() {
	for n := range c.plan {
		c.mend(n)
	}
}

func (c *conductor) apply(f Fault, target string, on bool) error {
	net := c.fleet.network
	switch f.Kind {
	case Kill:
		return c.kill(target, on)
	case Pause:
		return c.fleet.process(target).pause(on)
	case Cut:
		return net.cut(target, on)
	case Part:
		return net.part(target, f.Other, on)
	default:
		return net.slow(target, on)
	}
}

// kill ends the target, or starts it again.
func (c *conductor) kill(target string, on bool) error {
	targets := []string{target}
	if target == everyServer {
		targets = servers
	}
	var failures []error
	for _, name := range targets {
		p := c.fleet.process(name)
		if on {
			failures = append(failures, p.kill())
		} else {
			failures = append(failures, p.startLife())
		}
	}
	return errors.Join(failures...)
}

// raiseFallen starts again what ended by itself, as an operator's supervisor
// would, and keeps it as a finding.
func (c *conductor) raiseFallen() {
	for _, p := range c.fleet.processes {
		err := p.failed()
		if err == nil {
			continue
		}
		c.note("%s ended by itself: %v; started again", p.name, err)
		c.fell = append(c.fell, p.name+" ended by itself: "+err.Error())
		if err := p.startLife(); err != nil {
			c.note("%v", err)
		}
	}
}
