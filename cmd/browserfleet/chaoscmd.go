package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/chaos"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
)

// chaosCmd hurts a fleet of its own. It starts itself again in namespaces where
// it can make them.
type chaosCmd struct {
	Owners   int           `help:"Owners, of two tenants together." default:"200"`
	Duration time.Duration `help:"How long." default:"5m"`
	Rate     float64       `help:"Steps a second, of all owners together; 0: as fast as they are answered." default:"100"`
	Seed     uint64        `help:"Play the same faults again; 0: random, and printed."`
	Network  string        `help:"namespaces, relays, or auto: namespaces where they can be made." enum:"auto,namespaces,relays,inside" default:"auto"`
	Keep     bool          `help:"Keep the data folder, with its logs."`
	Folder   string        `hidden:""`
	format
}

// networkInside is for the copy of the program that runs in namespaces. Folder
// is made and removed by the one that started it.
const networkInside = "inside"

const (
	// shortestChaos: faults need time to begin and to be mended.
	shortestChaos = 10 * time.Second
	// insideGrace is how long the copy may take to end its fleet.
	insideGrace = time.Minute
)

// Run prints the report; a broken promise makes the exit status 1.
func (c *chaosCmd) Run(a *app) error {
	if c.Owners < 2 || c.Duration < shortestChaos || c.Rate < 0 {
		return usageError(fmt.Errorf("--owners: want at least 2; --duration: at least %s; --rate: not negative", shortestChaos))
	}
	ctx, stop := untilInterrupt()
	defer stop()
	if c.Network == networkInside {
		return c.copied(ctx, a)
	}
	if c.Network != "relays" {
		err := chaos.NamespacesWork(ctx)
		switch {
		case err == nil:
			return c.inFolder(a, func() error { return c.inside(ctx, a) })
		case c.Network == "namespaces":
			return usageError(fmt.Errorf("namespaces cannot be made here: %w", err))
		}
		a.say("network namespaces cannot be made here, so hosts are cut by relays on loopback, which is weaker: %v", err)
	}
	return c.inFolder(a, func() error { return c.hurt(ctx, a) })
}

// inFolder runs something with a data folder that is removed afterwards.
func (c *chaosCmd) inFolder(a *app, run func() error) (err error) {
	if c.Folder, err = os.MkdirTemp("", "browserfleet-chaos-"); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() {
		if c.Keep {
			a.say("the data folder stays: %s", c.Folder)
			return
		}
		err = errors.Join(err, os.RemoveAll(c.Folder))
	}()
	return run()
}

// inside runs the program again in namespaces. What it starts ends with it.
func (c *chaosCmd) inside(ctx context.Context, a *app) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	program := append([]string{exe}, append(os.Args[1:], "--network="+networkInside, "--folder="+c.Folder)...)
	cmd := chaos.Inside(context.WithoutCancel(ctx), program)
	cmd.Stdout, cmd.Stderr = a.out, a.err
	// unshare passes no signals on. The end of standard input ends the copy, also
	// when this process is killed.
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	stopAsking := context.AfterFunc(ctx, func() {
		_ = input.Close()
		time.AfterFunc(insideGrace, func() { _ = cmd.Process.Kill() })
	})
	defer stopAsking()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return &exitError{max(exit.ExitCode(), exitFailed), errors.New("")}
	}
	return errors.Join(err, context.Cause(ctx))
}

// copied is the run inside namespaces. When whoever started it is gone, nobody
// else removes its folder.
func (c *chaosCmd) copied(ctx context.Context, a *app) error {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	c.startWatching(gone)
	err := c.hurt(ctx, a)
	if ctx.Err() != nil {
		err = errors.Join(err, os.RemoveAll(c.Folder))
	}
	return err
}

// startWatching tells when standard input ends. Its goroutine ends with the
// process.
func (*chaosCmd) startWatching(gone context.CancelCauseFunc) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		gone(errInterrupted)
	}()
}

func (c *chaosCmd) hurt(ctx context.Context, a *app) error {
	report, err := chaos.Run(ctx, chaos.Options{
		Folder: c.Folder, Seed: c.Seed, Length: c.Duration, Owners: c.Owners, Rate: c.Rate,
		Namespaces: c.Network == networkInside, Say: a.say,
	})
	if err != nil {
		return err
	}
	err = c.write(a.out, report)
	if report.Broken() {
		err = errors.Join(err, failed)
	}
	return err
}

func (c *chaosCmd) write(w io.Writer, r *chaos.Report) error {
	if c.json() {
		return view.JSON(w, r)
	}
	return r.WriteText(w, c.again(r))
}

// again is the command that plays the same faults.
func (c *chaosCmd) again(r *chaos.Report) string {
	return strings.Join([]string{
		"browserfleet chaos", fmt.Sprintf("--seed %d", r.Seed), fmt.Sprintf("--duration %s", c.Duration),
		fmt.Sprintf("--owners %d", c.Owners), fmt.Sprintf("--rate %g", c.Rate),
	}, " ")
}
