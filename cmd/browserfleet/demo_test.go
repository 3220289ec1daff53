package main

import (
	"strings"
	"sync"
	"testing"
)

// runDemos runs demonstrations, some at a time. Each checks itself: its exit
// status says whether no request was lost, no effect doubled, and nothing left
// behind. It returns what the first one printed.
func runDemos(t *testing.T, atATime int, runs ...[]string) string {
	t.Helper()
	room := make(chan struct{}, atATime)
	outputs := make([]string, len(runs))
	var done sync.WaitGroup
	for i, args := range runs {
		room <- struct{}{}
		done.Go(func() {
			defer func() { <-room }()
			r := program(t, nil, append([]string{"demo"}, args...)...)
			if r.code != exitOK || !strings.Contains(r.out, "Everything held") {
				t.Errorf("demo %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
			}
			outputs[i] = r.out
		})
	}
	done.Wait()
	return outputs[0]
}

func TestDemoWithARealBrowser(t *testing.T) {
	t.Parallel()
	out := runDemos(t, 1, nil)
	for _, want := range []string{
		"restored (worker_lost) from checkpoint", "cookies 1", "trace ", "NL-20416", "image/jpeg",
		"no process and no profile folder is left",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not shown:\n%s", want, out)
		}
	}
}

// A process dies in the middle of the work. The steps in which something is
// entered or sent are those where an effect could be doubled or lost.
func TestDemoSurvivesKillsWithARealBrowser(t *testing.T) {
	t.Parallel()
	runDemos(t, 2,
		[]string{"--kill", "worker@search:100ms"},
		[]string{"--kill", "worker@login:150ms"},
		[]string{"--kill", "worker@login:300ms"},
		[]string{"--kill", "coordinator@login:50ms"},
		[]string{"--kill", "nats@login:100ms"},
		[]string{"--kill", "nats@account:300ms"},
	)
}

// With the simulated browser a run is mostly waiting (for a lease to end, for a
// child to be started again), so several run at a time.
func TestDemoSurvivesKillsAtEveryStep(t *testing.T) {
	t.Parallel()
	simulated := func(kills ...string) []string {
		args := []string{"--browser", "simulated"}
		for _, k := range kills {
			args = append(args, "--kill", k)
		}
		return args
	}
	var runs [][]string
	for _, step := range []string{"open", "observe", "search", "result", "login", "extract", "screenshot", "kill", "account"} {
		for _, child := range []string{"worker", "coordinator", "nats"} {
			runs = append(runs, simulated(child+"@"+step))
		}
	}
	for _, while := range []string{"worker@search:5ms", "worker@login:8ms", "nats@search:3ms", "nats@login:6ms", "coordinator@account:400ms", "store@login", "store@account"} {
		runs = append(runs, simulated(while))
	}
	runs = append(runs, simulated("nats@login", "coordinator@login:20ms", "worker@login:40ms", "store@login"))
	runDemos(t, 4, runs...)
}
