package fleetmodel

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// crashPoint is a place where a process dies: before or after one of its steps
// takes effect. After it, nobody tells the caller.
type crashPoint struct {
	kind  string // of process
	at    string // what the step does
	after bool
}

// steps are what processes do, by the kind of process: each of them ends by a
// crash before and after it.
var steps = map[string][]string{
	"worker": {
		"write the record", "write a result", "read the record", "read a result", "read lane q", "read lane c",
		"read a follower", "read the creation", "read the end", "list checkpoints", "load a checkpoint", "save a checkpoint",
		"erase a checkpoint", "open the browser", "prepare", "effect",
	},
	"coordinator": {
		"write the record", "write a result", "read the record", "read a result", "read lane q", "read lane c",
		"read the creation", "read the end", "assign", "ask the holder", "hear the holder", "purge",
	},
}

// crashPoints are all, in a fixed order.
var crashPoints = func() (all []crashPoint) {
	for _, kind := range []string{"worker", "coordinator"} {
		for _, at := range steps[kind] {
			all = append(all, crashPoint{kind, at, false}, crashPoint{kind, at, true})
		}
	}
	return all
}()

func (c crashPoint) String() string {
	when := "before"
	if c.after {
		when = "after"
	}
	return "crash of a " + c.kind + " " + when + ": " + c.at
}

// stepNames tell what a step does by the beginning, and the end, of its name.
var stepNames = []struct{ from, to, at string }{
	{"write bf.own", "", "write the record"},
	{"write bf.res", "", "write a result"},
	{"last of bf.own", "", "read the record"},
	{"last of bf.res", "", "read a result"},
	{"next of bf.act", ".q", "read lane q"},
	{"next of bf.act", ".c", "read lane c"},
	{"direct next", "", "read a follower"},
	{"creation", "", "read the creation"},
	{"end of", "", "read the end"},
	{"list", "", "list checkpoints"},
	{"get", "", "load a checkpoint"},
	{"put new", "", "save a checkpoint"},
	{"delete", "", "erase a checkpoint"},
	{"open the browser", "", "open the browser"},
	{"prepare", "", "prepare"},
	{"effect", "", "effect"},
	{"assign", "", "assign"},
	{"ask", "", "ask the holder"},
	{"hear", "", "hear the holder"},
	{"purge", "", "purge"},
}

// crashes is the crash point that the step is, if its process dies there.
func (w *world) crashes(s *step) *crashPoint {
	p := w.armed
	if p == nil || s.p.dead || !strings.HasPrefix(string(s.p.id), p.kind[:1]) {
		return nil
	}
	for _, n := range stepNames {
		if strings.HasPrefix(s.name, n.from) && strings.HasSuffix(s.name, n.to) {
			if n.at != p.at {
				return nil
			}
			w.armed = nil
			return p
		}
	}
	return nil
}

// kill ends a process within a step, and begins another one in its place.
func (w *world) kill(p *process) {
	w.say("%s CRASHES at it", p.id)
	p.dead = true
	p.kill()
	if i := slices.IndexFunc(w.workers, func(wk *worker) bool { return wk.process == p }); i >= 0 {
		w.workers[i] = w.bootWorker()
	}
	if i := slices.IndexFunc(w.coordinators, func(c *coordinator) bool { return c.process == p }); i >= 0 {
		w.coordinators[i] = w.bootCoordinator()
	}
}

// TestACrashAtEveryStep plays schedules until each crash point was hit often
// enough. They are always the same ones, whatever the seed.
func TestACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	const most = 400
	keys, from := keyring(t), schedules(0)
	for i, point := range crashPoints {
		t.Run(strings.TrimPrefix(point.String(), "crash of a "), func(t *testing.T) {
			hits, tries := 0, 0
			for ; hits < enough && tries < most; tries++ {
				schedule := slices.DeleteFunc(from.Example(most*i+tries), func(e event) bool { return e.op == opCrashAt })
				if tries%2 == 1 || point.at == "erase a checkpoint" {
					schedule = append(schedule, event{opTrust, 0}, event{opDelete, 1})
				}
				synctest.Test(t, func(t *testing.T) {
					w, err := play(keys, append([]event{{opCrashAt, i}}, schedule...))
					hits += w.count[point.String()]
					if err != nil {
						t.Fatalf("%v\nschedule %#v\n%s", err, schedule, w.story())
					}
				})
			}
			if hits < enough {
				t.Errorf("hit %d times in %d schedules", hits, tries)
			}
		})
	}
}
