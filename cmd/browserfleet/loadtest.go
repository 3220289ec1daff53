package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/client"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/service"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/loadtest"
	"github.com/browserfleet/browserfleet/protocol"
)

// loadtestCmd drives a fleet of its own, or with --nats a running one.
type loadtestCmd struct {
	Owners   int           `help:"Owners that work at the same time." default:"8"`
	Duration time.Duration `help:"How long." default:"20s"`
	Warmup   time.Duration `help:"First part of the duration, which is judged but not measured." default:"2s"`
	Steps    int           `help:"Steps an owner at most; 0: as many as fit."`
	Rate     float64       `help:"Steps a second at most, of all owners together; 0: as fast as they are answered."`
	Mix      string        `help:"Steps and their weights, such as observe=10,click=5; the default has all."`
	Seed     uint64        `help:"Take the same steps again; 0: random, and printed."`
	Grace    time.Duration `help:"How long to wait for late answers at the end." default:"30s"`
	format

	Browser string `group:"Embedded fleet:" help:"chrome (also: chromium) or simulated." enum:"chrome,chromium,simulated" default:"simulated"`
	Workers int    `group:"Embedded fleet:" help:"Workers." default:"2"`
	Keep    bool   `group:"Embedded fleet:" help:"Keep the data folder, with its logs."`

	KillEvery time.Duration `group:"Embedded fleet:" help:"Kill a worker with SIGKILL so often, one after the other; dev starts it again. 0: never."`

	NATS        string        `name:"nats" group:"Running fleet, instead of an embedded one:" help:"URL of a running fleet's NATS, instead of an embedded fleet."`
	Tenant      string        `group:"Running fleet, instead of an embedded one:" help:"Tenant whose owners work." default:"dev"`
	Passwords   string        `group:"Running fleet, instead of an embedded one:" help:"Folder with the passwords, one file a user: nats-tenant.TENANT and nats-operator." type:"existingdir"`
	Site        string        `group:"Running fleet, instead of an embedded one:" help:"URL of the bundled site, for real browsers."`
	DispatchLog []string      `group:"Running fleet, instead of an embedded one:" help:"A worker's dispatch log, or a folder of them. May be repeated." sep:"none"`
	Skew        time.Duration `group:"Running fleet, instead of an embedded one:" help:"How far clocks of machines may differ." default:"100ms"`
}

// Run prints the report; a broken promise makes the exit status 1.
func (c *loadtestCmd) Run(a *app) error {
	ctx, stop := untilInterrupt()
	defer stop()
	o, err := c.options(a)
	if err != nil {
		return usageError(err)
	}
	if c.NATS == "" {
		return c.embedded(ctx, a, o)
	}
	if o.Agent, err = c.access(deploy.TenantUser(o.Tenant)); err != nil {
		return usageError(err)
	}
	if o.Operator, err = c.access(deploy.UserOperator); err != nil {
		return usageError(err)
	}
	o.SiteURL, o.DispatchLogs, o.Skew = c.Site, c.DispatchLog, c.Skew
	return c.drive(ctx, a, o)
}

// drive runs and prints.
func (c *loadtestCmd) drive(ctx context.Context, a *app, o loadtest.Options) error {
	report, err := loadtest.Run(ctx, o)
	switch {
	case errors.Is(err, loadtest.ErrUnreachable) && ctx.Err() == nil:
		return unreachableError(err)
	case err != nil:
		return err
	}
	return c.print(a, report)
}

// options are those that both kinds of run have.
func (c *loadtestCmd) options(a *app) (loadtest.Options, error) {
	o := loadtest.Options{
		Tenant: protocol.Tenant(c.Tenant), Owners: c.Owners, Duration: c.Duration, Warmup: min(c.Warmup, c.Duration/2),
		Steps: c.Steps, Rate: c.Rate, Seed: c.Seed, Grace: c.Grace, Progress: a.err,
	}
	if c.Owners < 1 || c.Workers < 1 || c.Duration <= 0 {
		return o, errors.New("--owners and --workers: want at least 1; --duration: more than 0")
	}
	if c.Mix != "" {
		mix, err := loadtest.ParseMix(c.Mix)
		if err != nil {
			return o, err
		}
		o.Mix = mix
	}
	return o, nil
}

// access reads a user's password from its file: secrets never stand in
// arguments.
func (c *loadtestCmd) access(user string) (loadtest.Access, error) {
	if c.Passwords == "" {
		return loadtest.Access{}, errors.New("--nats needs --passwords, the folder of the users' passwords")
	}
	text, err := os.ReadFile(passwordFile(c.Passwords, user))
	if err != nil {
		return loadtest.Access{}, fmt.Errorf("password of %s: %w", user, err)
	}
	return loadtest.Access{
		URL: c.NATS, User: user, Password: natsx.Secret(strings.TrimSpace(string(text))), InboxPrefix: deploy.Inbox(user),
	}, nil
}

// passwordFile is how dev, and `nats config --passwords`, name the files.
func passwordFile(dir, user string) string { return dir + "/nats-" + user }

// embedded starts a fleet in a folder of its own, drives it, and counts what is
// left when it has stopped. After a broken promise or an error the folder stays:
// its logs say more than the report.
func (c *loadtestCmd) embedded(ctx context.Context, a *app, o loadtest.Options) (err error) {
	dir, err := os.MkdirTemp("", "browserfleet-loadtest-")
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() {
		if c.Keep || (err != nil && !errors.Is(err, errInterrupted)) {
			a.say("the data folder stays: %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	fleet, err := c.startFleet(ctx, a, devfleet.Folder(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Stop(nil)) }()
	if err := c.aim(&o, fleet, devfleet.Folder(dir), a.say); err != nil {
		return err
	}
	stopKills := c.startKills(ctx, a, fleet)
	defer stopKills()
	orphans := o.Orphans
	o.Orphans = func(ctx context.Context) (int, error) { stopKills(); return orphans(ctx) }
	return c.drive(ctx, a, o)
}

// startKills ends workers as crashes do, until the returned function is called.
func (c *loadtestCmd) startKills(ctx context.Context, a *app, f *devfleet.Fleet) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var kills sync.WaitGroup
	if c.KillEvery > 0 {
		kills.Go(func() { c.runKills(ctx, a, f) })
	}
	return func() { cancel(); kills.Wait() }
}

func (c *loadtestCmd) runKills(ctx context.Context, a *app, f *devfleet.Fleet) {
	tick := time.NewTicker(c.KillEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			name := fmt.Sprintf("worker-%d", n%c.Workers+1)
			if err := f.Kill(name); err != nil {
				a.say("%s: %v", name, err)
				continue
			}
			a.say("killed %s", name)
		case <-ctx.Done():
			return
		}
	}
}

func (c *loadtestCmd) startFleet(ctx context.Context, a *app, folder devfleet.Folder) (*devfleet.Fleet, error) {
	browser := c.Browser
	if browser == "chromium" {
		browser = service.BrowserChrome
	}
	stop := view.StartProgress(os.Stderr, "starting the fleet")
	defer stop()
	return devfleet.Start(ctx, devfleet.Options{
		// Any worker can take all owners: losing the others must not be a lack of
		// room.
		Data: folder, Workers: c.Workers, Slots: c.Owners, Browser: browser, Tenant: protocol.Tenant(c.Tenant),
		Shards: 1, DispatchLogs: true, Say: a.say,
	})
}

// aim points the run at the fleet.
func (c *loadtestCmd) aim(o *loadtest.Options, f *devfleet.Fleet, folder devfleet.Folder, say func(string, ...any)) error {
	agent, err := folder.Agent(&f.Running)
	if err != nil {
		return err
	}
	operator, err := folder.Operator(&f.Running)
	if err != nil {
		return err
	}
	o.Agent, o.Operator, o.DispatchLogs = accessOf(agent), accessOf(operator), f.DispatchLogs()
	if c.Browser != service.BrowserSimulated {
		o.SiteURL = f.Site
	}
	o.Orphans = func(context.Context) (int, error) {
		if err := f.Stop(nil); err != nil {
			return 0, err
		}
		left, err := folder.Leftovers()
		for _, what := range left {
			say("left behind: %s", what)
		}
		return len(left), err
	}
	return nil
}

func accessOf(o client.Options) loadtest.Access {
	return loadtest.Access{URL: o.URL, User: o.User, Password: natsx.Secret(o.Password), InboxPrefix: o.InboxPrefix}
}

func (c *loadtestCmd) print(a *app, r *loadtest.Report) error {
	if err := c.write(a.out, r); err != nil {
		return err
	}
	if r.Broken() {
		return failed
	}
	return nil
}

func (c *loadtestCmd) write(w io.Writer, r *loadtest.Report) error {
	if c.json() {
		return view.JSON(w, r)
	}
	return r.WriteText(w)
}
