package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/protocol"
)

// check says what did not hold while the fleet still runs.
func (d *demo) check() error {
	d.say("\n== what held")
	var wrong []error
	hold := func(err error, what string, args ...any) {
		if err != nil {
			wrong = append(wrong, err)
			d.say("  NO   %s: %v", fmt.Sprintf(what, args...), err)
			return
		}
		d.say("  yes  %s", fmt.Sprintf(what, args...))
	}
	hold(d.movedOn(), "the environment went on on another worker (%s after %s)", d.agent.worker, d.killed)
	hold(d.reported(), "the agent was told what survived")
	entries, err := d.dispatched()
	hold(err, "the workers' dispatch logs can be read")
	hold(noneTwice(entries), "no effect was dispatched twice (%d dispatches)", len(entries))
	if d.o.Browser == service.BrowserChrome {
		hold(d.signIns(entries), "the shop saw no sign-in twice")
	}
	return errors.Join(wrong...)
}

func (d *demo) movedOn() error {
	if d.agent.worker == "" || d.agent.worker == d.killed {
		return fmt.Errorf("the last answer is of %q", d.agent.worker)
	}
	return nil
}

func (d *demo) reported() error {
	r := d.agent.restored
	switch {
	case r == nil:
		return errors.New("no answer after the kill holds a fidelity report")
	case r.From == "clean" || r.CheckpointAt == nil:
		return fmt.Errorf("it was restored from %q, not from a checkpoint", r.From)
	case len(r.Survived) == 0:
		return errors.New("the report names nothing that survived")
	}
	return nil
}

// dispatched reads all dispatch logs.
func (d *demo) dispatched() ([]protocol.DispatchEntry, error) {
	var all []protocol.DispatchEntry
	for _, path := range d.fleet.DispatchLogs() {
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // this worker was never asked
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var e protocol.DispatchEntry
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				_ = f.Close()
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, e)
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

// noneTwice: an action with effects is dispatched at most once, a read twice.
func noneTwice(entries []protocol.DispatchEntry) error {
	count := map[protocol.RequestID]int{}
	var twice []string
	for _, e := range entries {
		count[e.Request]++
		if n := count[e.Request]; (e.Effect == protocol.EffectWrite && n > 1) || n > 2 {
			twice = append(twice, fmt.Sprintf("%s %s", e.Kind, e.Request))
		}
	}
	if len(twice) > 0 {
		return fmt.Errorf("dispatched again: %s", strings.Join(twice, ", "))
	}
	return nil
}

// signIns compares what the shop counted with what was sent there.
func (d *demo) signIns(entries []protocol.DispatchEntry) error {
	clicks := 0
	for _, e := range entries {
		if e.Kind == protocol.KindClick {
			clicks++
		}
	}
	seen := d.fleet.SiteStats().SignIns
	switch {
	case seen < 1:
		return errors.New("the shop saw none")
	case len(d.o.Kills) == 0 && seen != 1:
		return fmt.Errorf("the shop saw %d", seen)
	case int(seen) > clicks:
		return fmt.Errorf("the shop saw %d after %d clicks", seen, clicks)
	}
	return nil
}

// leftovers says what the stopped fleet left behind.
func (d *demo) leftovers() error {
	left, err := d.data.Leftovers()
	switch {
	case err != nil:
		return err
	case len(left) > 0:
		return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
	}
	d.say("  yes  no process and no profile folder is left")
	return nil
}
