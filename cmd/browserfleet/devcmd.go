package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
	"github.com/browserfleet/browserfleet/egressproxy"
)

// dataFlag names the data folder.
type dataFlag struct {
	Data string `group:"connection" help:"Data folder (default ~/.local/share/browserfleet)." env:"BROWSERFLEET_DATA" type:"path"`
}

func (d *dataFlag) folder() (devfleet.Folder, error) {
	if d.Data == "" {
		return devfleet.DefaultFolder()
	}
	abs, err := filepath.Abs(d.Data)
	return devfleet.Folder(abs), err
}

type devCmd struct {
	dataFlag
	Workers          int      `help:"Workers." default:"2"`
	Slots            int      `help:"Environments a worker; each takes about 100 MB." default:"8"`
	NoRestartWorkers bool     `help:"Do not start a worker again that died."`
	NatsPort         int      `help:"Port of NATS; 0 is any free one." default:"4322"`
	StorePort        int      `help:"Port of the S3 store; 0 is any free one." default:"4380"`
	SitePort         int      `help:"Port of the bundled site; 0 is any free one." default:"4390"`
	Allow            []string `help:"A host that pages may reach besides the public internet and the bundled site, such as localhost:3000; may be repeated." placeholder:"HOST:PORT"`
	Browser          string   `help:"chrome or simulated." enum:"chrome,simulated" default:"chrome"`
}

// Run starts a fleet and waits for a signal.
func (c *devCmd) Run(a *app) error {
	folder, err := c.folder()
	if err != nil {
		return err
	}
	if c.Workers < 1 || c.Slots < 1 {
		return usageError(errors.New("--workers and --slots: want at least 1"))
	}
	if err := (egressproxy.Policy{Mode: egressproxy.ModeAllowlist, AllowHosts: c.Allow}).Validate(); err != nil {
		return usageError(fmt.Errorf("--allow: %w", err))
	}
	ctx, hurry, end := startInterrupts()
	defer end()
	begun := time.Now()
	stop := view.StartProgress(os.Stderr, "starting the fleet")
	fleet, err := devfleet.Start(ctx, devfleet.Options{
		Data: folder, Workers: c.Workers, Slots: c.Slots, Browser: c.Browser, Tenant: "dev", Shards: 1,
		Ports:           devfleet.Ports{NATS: c.NatsPort, Store: c.StorePort, Site: c.SitePort},
		KeepDeadWorkers: c.NoRestartWorkers, Allow: c.Allow, Say: a.say,
	})
	stop()
	if err != nil {
		return err
	}
	c.welcome(a, folder, fleet, time.Since(begun))
	<-ctx.Done()
	a.say("stopping: workers save and hand over first; Ctrl-C again kills")
	if err := fleet.Stop(hurry); err != nil {
		return err
	}
	a.say("stopped; nothing is left running")
	return nil
}

// say prints a line for the person at the terminal.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.err, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

func (c *devCmd) welcome(a *app, folder devfleet.Folder, f *devfleet.Fleet, took time.Duration) {
	data := ""
	if c.Data != "" {
		data = " --data " + string(folder)
	}
	a.printf(`The fleet is up (%s): %d workers, %s.

  NATS   %s
  store  http://%s
  shop   %s   (the bundled site; user %s, credential %q)
  data   %s   (logs in logs/)

Try, in another terminal:

  browserfleet open %s%s
  browserfleet observe%s
  browserfleet owners%s

Ctrl-C stops it.
`, view.Took(took), c.Workers, f.Browser, f.NATS, f.Store, f.Site, devfleet.SiteUser, devfleet.CredentialName, folder, f.Site, data, data, data)
}
