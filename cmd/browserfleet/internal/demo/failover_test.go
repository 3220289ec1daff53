package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/internal/fleettest"
	"github.com/browserfleet/browserfleet/protocol"
)

// `make failover` has more of both. A browser takes about 100 MB, and half a
// second of a core to start.
var (
	failoverOwners = flag.Int("owners", 4, "owners whose logins must survive")
	failoverKills  = flag.Int("kills", 2, "workers that are killed, in turn")
)

const (
	failoverWorkers = 3
	// atOnce is how many owners act at a time: agents think, machines do not.
	atOnce = 4
	// failoverWait bounds every wait for the fleet, however busy the machine is.
	failoverWait = 4 * time.Minute
	failoverPoll = 50 * time.Millisecond
)

// failover is a fleet with real browsers, and an agent for each owner.
type failover struct {
	*demo
	t      *testing.T
	agents []*demo
	moved  int
}

// Workers are killed in turn; every owner stays signed in (by cookies and by
// localStorage), no effect is dispatched twice, and nothing is left of a killed
// worker's browsers while the others' go on.
func TestLoginsSurviveKilledWorkers(t *testing.T) {
	t.Parallel()
	f := startFailover(t)
	f.everyone("signs in", func(ctx context.Context, d *demo) error {
		return d.take(ctx, func(ctx context.Context, a *agent) error { return login(ctx, a, f.fleet.Site) })
	})
	for n := range *failoverKills {
		f.killAndGoOn(f.next(n))
	}
	if f.moved == 0 {
		t.Error("no worker that was killed had an owner")
	}
	entries, err := f.dispatched()
	if err := errors.Join(err, noneTwice(entries)); err != nil {
		t.Error(err)
	}
	f.end()
	if left, err := f.data.Leftovers(); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func startFailover(t *testing.T) *failover {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), failoverWait)
	defer cancel()
	f := &failover{t: t, demo: &demo{o: Options{Browser: service.BrowserChrome, Out: io.Discard}, data: devfleet.Folder(scratchRoot(t))}}
	var err error
	f.fleet, err = devfleet.Start(ctx, devfleet.Options{
		Data: f.data, Workers: failoverWorkers, Slots: *failoverOwners, Browser: service.BrowserChrome, Tenant: "demo", Shards: 1,
		DispatchLogs: true, Say: t.Logf, Program: fleettest.Program(t),
		WorkerSettings: map[string]string{"CHECKPOINT_WAIT": "1m"}, // a slow disk is not what is tested
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.fleet.Stop(nil) }) // end says what is wrong
	if err := f.connect(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.operator.Close)
	t.Cleanup(f.client.Close)
	for n := range *failoverOwners {
		d := *f.demo
		d.agent = &agent{owner: f.client.Owner(protocol.Owner(fmt.Sprintf("owner-%d", n))), out: io.Discard}
		f.agents = append(f.agents, &d)
	}
	return f
}

// scratchRoot is a folder with a short path: Chromium's sockets are below it.
func scratchRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (f *failover) end() {
	f.t.Helper()
	if err := f.fleet.Stop(nil); err != nil {
		f.t.Error(err)
	}
}

// everyone lets each owner's agent do something, some at a time.
func (f *failover) everyone(what string, do func(context.Context, *demo) error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), failoverWait)
	defer cancel()
	room := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, d := range f.agents {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if err := do(ctx, d); err != nil {
				f.t.Errorf("%s %s: %v", d.agent.owner.ID(), what, err)
			}
		})
	}
	all.Wait()
	if f.t.Failed() {
		f.t.FailNow()
	}
}

// next is the worker whose turn it is; one without owners is passed over.
func (f *failover) next(n int) (name string) {
	f.t.Helper()
	for i := range failoverWorkers {
		name = fmt.Sprintf("worker-%d", (n+i)%failoverWorkers+1)
		if len(f.heldBy(f.untilRuns(name))) > 0 {
			break
		}
	}
	return name
}

// killAndGoOn kills a worker; everybody opens the account again.
func (f *failover) killAndGoOn(name string) {
	f.t.Helper()
	pid := f.untilRuns(name)
	victims := f.heldBy(pid)
	browsers := f.browsersOf(pid)
	if len(browsers) < len(victims) {
		f.t.Fatalf("%s has %d owners and %d browsers", name, len(victims), len(browsers))
	}
	if err := f.fleet.Kill(name); err != nil {
		f.t.Fatal(err)
	}
	f.everyone("goes on after the death of "+name, func(ctx context.Context, d *demo) error {
		d.agent.restored = nil
		err := d.take(ctx, func(ctx context.Context, a *agent) error {
			if _, err := a.open(ctx, f.fleet.Site+"/account"); err != nil {
				return err
			}
			return signedIn(a)
		})
		if err == nil && victims[d.agent.owner.ID()] {
			err = d.reported()
		}
		return err
	})
	for _, profile := range browsers {
		f.untilGone(name, profile)
	}
	f.moved += len(victims)
	f.t.Logf("%s is dead; %d owners moved, %d browsers of it are gone", name, len(victims), len(browsers))
}

// untilRuns is the pid of a worker that a coordinator knows as ready.
func (f *failover) untilRuns(name string) (pid int) {
	f.t.Helper()
	f.until(name+" is ready", func(ctx context.Context) error {
		all, err := f.operator.Workers(ctx)
		if err != nil {
			return err
		}
		for _, w := range all {
			if child, ok := f.fleet.WorkerOf(w.PID); ok && child == name && w.Ready && w.State == "up" {
				pid = w.PID
				return nil
			}
		}
		return fmt.Errorf("it is not among %+v", all)
	})
	return pid
}

// heldBy are the owners whose environments a worker has.
func (f *failover) heldBy(pid int) map[protocol.Owner]bool {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), failoverWait)
	defer cancel()
	held := map[protocol.Owner]bool{}
	all, err := f.operator.Workers(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, d := range f.agents {
		info, err := f.client.Describe(ctx, d.agent.owner.ID())
		if err != nil {
			f.t.Fatal(err)
		}
		for _, w := range all {
			held[d.agent.owner.ID()] = held[d.agent.owner.ID()] || w.PID == pid && w.Worker == info.Worker
		}
	}
	for owner, is := range held {
		if !is {
			delete(held, owner)
		}
	}
	return held
}

// browsersOf are the profiles of a worker's browsers, its warm ones included.
func (f *failover) browsersOf(pid int) (profiles []string) {
	f.t.Helper()
	records, err := filepath.Glob(filepath.Join(f.data.Scratch(), "records", "*.json"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, path := range records {
		var r struct {
			OwnerPID int `json:"owner_pid"`
			Profile  string
		}
		text, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(text, &r) != nil {
			continue // it ended just now
		}
		if r.OwnerPID == pid {
			profiles = append(profiles, r.Profile)
		}
	}
	return profiles
}

// untilGone: neither the folder nor a process that names it is left.
func (f *failover) untilGone(worker, profile string) {
	f.t.Helper()
	f.until("nothing is left of a browser of "+worker, func(context.Context) error {
		if _, err := os.Stat(profile); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there (%w)", profile, err)
		}
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, line := range lines {
			if text, _ := os.ReadFile(line); bytes.Contains(text, []byte(profile)) {
				return fmt.Errorf("%s names %s", line, profile)
			}
		}
		return err
	})
}

func (f *failover) until(what string, is func(context.Context) error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), failoverWait)
	defer cancel()
	tick := time.NewTicker(failoverPoll)
	defer tick.Stop()
	for {
		err := is(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.t.Fatalf("%s: not so: %v", what, err)
		}
	}
}
