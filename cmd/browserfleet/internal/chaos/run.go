package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/loadtest"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	// grace is how long requests are waited for when all is mended: an election
	// takes nine seconds, a lost worker a few more, a loaded machine much longer.
	// It ends with the last answer.
	grace = 4 * time.Minute
	// skew of clocks: all processes read the same one.
	skew = 100 * time.Millisecond
	// gatherTimeout bounds judging beyond the grace.
	gatherTimeout = 5 * time.Minute
)

// Options of a run.
type Options struct {
	Folder string // for this run alone
	Seed   uint64 // 0: random
	Length time.Duration
	Owners int     // of both tenants together
	Rate   float64 // steps a second, of all owners together
	// Namespaces says that this process is inside namespaces; without it the
	// network is relays.
	Namespaces bool
	Say        func(format string, args ...any)
}

// Report of a run.
type Report struct {
	Seed    uint64                               `json:"seed"`
	Network string                               `json:"network"`
	Faults  map[Kind]int                         `json:"faults"`
	Tenants map[protocol.Tenant]*loadtest.Report `json:"tenants"`
	// Findings are about processes; those about requests are in Tenants.
	Findings []string `json:"findings"`
}

// Broken reports whether a promise was broken.
func (r *Report) Broken() bool {
	for _, t := range r.Tenants {
		if t.Broken() {
			return true
		}
	}
	return len(r.Findings) > 0
}

// Run starts a fleet, hurts it, judges it, and ends it. The error says why there
// is no report.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	report = &Report{Seed: o.Seed, Network: "relays", Faults: map[Kind]int{}, Tenants: map[protocol.Tenant]*loadtest.Report{}, Findings: []string{}}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the program of the processes: %w", err)
	}
	f := &fleet{program: program, folder: folder{devfleet.Folder(o.Folder)}, slots: o.Owners, network: newRelays()}
	if o.Namespaces {
		report.Network = "namespaces"
		if f.network, err = newNamespaces(); err != nil {
			return nil, err
		}
	}
	defer func() { err = errors.Join(err, f.network.close()) }()
	o.Say("seed %d, %s, %d owners of %d tenants, network of %s", o.Seed, o.Length, o.Owners, len(tenants), report.Network)
	err = startFleet(ctx, f)
	if err == nil {
		err = runFaults(ctx, f, o, report)
	}
	for _, name := range f.stop() {
		report.Findings = append(report.Findings, name+" did not end when it was asked to")
	}
	left, lookErr := leftovers(f.folder, o.Namespaces)
	for _, what := range left {
		report.Findings = append(report.Findings, "left behind: "+what)
	}
	return report, errors.Join(err, lookErr)
}

// runFaults lets the agents work while the conductor plays, and judges.
func runFaults(ctx context.Context, f *fleet, o Options, report *Report) error {
	ctx, cancel := context.WithTimeout(ctx, o.Length+beginTimeout+grace+gatherTimeout)
	defer cancel()
	c := &conductor{fleet: f, plan: Plan(o.Seed, o.Length), say: o.Say, aimed: map[int]string{}, played: report.Faults}
	type outcome struct {
		report *loadtest.Report
		err    error
	}
	outcomes := make([]outcome, len(tenants))
	var agents sync.WaitGroup
	for n, tenant := range tenants {
		agents.Go(func() {
			r, err := runAgents(ctx, f, o, n)
			if err != nil {
				err = fmt.Errorf("tenant %s: %w", tenant, err)
			}
			outcomes[n] = outcome{r, err}
		})
	}
	played := f.awaitAnswers(ctx)
	if played == nil {
		played = c.play(ctx)
	}
	agents.Wait()
	c.raiseFallen()
	report.Findings = append(report.Findings, c.fell...)
	failures := []error{played}
	for n, got := range outcomes {
		failures = append(failures, got.err)
		if got.report != nil {
			report.Tenants[tenants[n]] = got.report
		}
	}
	return errors.Join(failures...)
}

// runAgents works through the fleet as one tenant's owners, and judges them.
func runAgents(ctx context.Context, f *fleet, o Options, n int) (*loadtest.Report, error) {
	agent, err := f.access(deploy.TenantUser(tenants[n]))
	if err != nil {
		return nil, err
	}
	operator, err := f.access(deploy.UserOperator)
	if err != nil {
		return nil, err
	}
	share := len(tenants)
	return loadtest.Run(ctx, loadtest.Options{
		Tenant: tenants[n], Agent: agent, Operator: operator, Owners: max(o.Owners/share, 1), Duration: o.Length,
		Rate: o.Rate / float64(share), Seed: o.Seed + uint64(n), Grace: grace, Skew: skew,
		DispatchLogs: []string{f.folder.Path("dispatches")},
	})
}

// leftovers are processes that outlived the fleet. In a process namespace of our
// own that is every other process.
func leftovers(f folder, namespaces bool) ([]string, error) {
	if !namespaces {
		return f.Leftovers()
	}
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var left []string
	for _, dir := range found {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if name, err := os.ReadFile(filepath.Join(dir, "comm")); err == nil {
			left = append(left, fmt.Sprintf("process %d (%s)", pid, name))
		}
	}
	return left, nil
}
