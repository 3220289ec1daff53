package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	runTimeout     = 3 * time.Minute
	connectTimeout = 5 * time.Second
	openTimeout    = time.Minute
	// tryOwner is whose environment is opened.
	tryOwner = protocol.Owner("doctor")
)

// Options of a check.
type Options struct {
	Data    devfleet.Folder
	Version string
	// Fix removes what dead workers left.
	Fix bool
	// Browser is what a temporary fleet runs.
	Browser string
	// Tell is called with each finding as it is made; it may be nil.
	Tell func(Finding)
}

type doctor struct {
	o      Options
	report Report
}

// Run makes all checks.
func Run(ctx context.Context, o Options) *Report {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	d := &doctor{o: o, report: Report{tell: o.Tell}}
	d.versions()
	browser := o.Browser != service.BrowserChrome || d.chromium(ctx)
	if o.Browser == service.BrowserChrome {
		d.sandbox()
	}
	d.folder()
	d.leftovers(ctx)
	running, err := o.Data.Running()
	switch {
	case err == nil:
		d.report.ok("fleet", "one runs here since %s (pid %d)", running.Started.Format(time.DateTime), running.PID)
		d.fleet(ctx, o.Data, running)
	case !errors.Is(err, devfleet.ErrNotRunning):
		d.report.fail("fleet", "stop the fleet and start it again", err)
	case browser:
		d.temporary(ctx)
	}
	return &d.report
}

// temporary starts a fleet to try, and removes it.
func (d *doctor) temporary(ctx context.Context) {
	dir, err := os.MkdirTemp("", "browserfleet-doctor-")
	if err != nil {
		d.report.fail("fleet", "make room for temporary files", err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	folder := devfleet.Folder(dir)
	fleet, err := devfleet.Start(ctx, devfleet.Options{
		Data: folder, Workers: 1, Slots: 1, Browser: d.o.Browser, Tenant: "doctor", Shards: 1,
		KeepDeadWorkers: true, Say: func(string, ...any) {},
	})
	if err != nil {
		d.report.fail("fleet", "see the end of the log above", fmt.Errorf("none runs here, and a temporary one does not start: %w", err))
		return
	}
	d.report.ok("fleet", "none runs here; a temporary one was started for the following checks")
	d.fleet(ctx, folder, &fleet.Running)
	if err := fleet.Stop(nil); err != nil {
		d.report.fail("stop", "browserfleet doctor --fix", err)
		return
	}
	if left, err := folder.Leftovers(); err != nil || len(left) > 0 {
		d.report.fail("stop", "end the processes that are named", errors.Join(err, fmt.Errorf("left behind: %v", left)))
	}
}

// fleet asks a running fleet.
func (d *doctor) fleet(ctx context.Context, folder devfleet.Folder, running *devfleet.Running) {
	if !d.nats(ctx, folder, running) {
		return
	}
	d.store(ctx, folder, running)
	if d.workers(ctx, folder, running) {
		d.environment(ctx, folder, running)
	}
}

const mendFleet = "see the logs in the data folder; stop the fleet and start it again"

func (d *doctor) nats(ctx context.Context, folder devfleet.Folder, running *devfleet.Running) bool {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	o, err := folder.Operator(running)
	if err != nil {
		return d.report.fail("nats", mendFleet, err)
	}
	c, err := natsx.Connect(ctx, natsx.Options{
		URL: o.URL, User: o.User, Password: natsx.Secret(o.Password), InboxPrefix: o.InboxPrefix, Name: "browserfleet doctor",
	})
	if err != nil {
		return d.report.fail("nats", mendFleet, err)
	}
	defer c.Close()
	if err := c.Verify(ctx, protocol.Shards(running.Shards)); err != nil {
		return d.report.fail("nats", "browserfleet nats provision", err)
	}
	d.report.ok("nats", "%s answers, its streams are as they must be", running.NATS)
	return true
}

func (d *doctor) store(ctx context.Context, folder devfleet.Folder, running *devfleet.Running) {
	access := folder.StoreAccess(running)
	store, err := access.Open()
	if err != nil {
		d.report.fail("store", mendFleet, err)
		return
	}
	defer store.Close()
	if err := store.Probe(ctx); err != nil {
		d.report.fail("store", mendFleet, err)
		return
	}
	d.report.ok("store", "%s answers, and honours conditional writes", running.Store)
}

func (d *doctor) workers(ctx context.Context, folder devfleet.Folder, running *devfleet.Running) bool {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	o, err := folder.Operator(running)
	if err != nil {
		return d.report.fail("workers", mendFleet, err)
	}
	op, err := client.ConnectOperator(ctx, o)
	if err != nil {
		return d.report.fail("workers", mendFleet, err)
	}
	defer op.Close()
	all, err := op.Workers(ctx)
	if err != nil {
		return d.report.fail("workers", "start a coordinator", err)
	}
	ready := slices.DeleteFunc(all, func(w protocol.WorkerInfo) bool { return !w.Ready || w.Draining || w.State != "up" })
	if len(ready) == 0 {
		return d.report.fail("workers", "start a worker", errors.New("none is ready"))
	}
	d.report.ok("workers", "%d ready, with %s", len(ready), ready[0].Browser)
	return true
}

// environment opens one.
func (d *doctor) environment(ctx context.Context, folder devfleet.Folder, running *devfleet.Running) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	o, err := folder.Agent(running)
	if err != nil {
		d.report.fail("environment", mendFleet, err)
		return
	}
	c, err := client.Connect(ctx, o)
	if err != nil {
		d.report.fail("environment", mendFleet, err)
		return
	}
	defer c.Close()
	begun := time.Now()
	res, err := c.Owner(tryOwner).Open(ctx, running.Site+"/")
	if err == nil {
		err = client.Err(res)
	}
	if err != nil {
		var e *protocol.Error
		mend := mendFleet
		if errors.As(err, &e) && e.RecommendedAction != "" {
			mend = e.RecommendedAction
		}
		d.report.fail("environment", mend, err)
		return
	}
	d.report.ok("environment", "opened a page in %s", view.Took(time.Since(begun)))
}
