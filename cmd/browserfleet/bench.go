package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/figures"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
)

// benchCmd measures fleets of its own. Its table is Markdown, for
// docs/benchmarks.md.
type benchCmd struct {
	Figure  []string      `help:"Only these; may be repeated. One of ${figures}." placeholder:"NAME"`
	Repeats int           `help:"Repeats of each figure; 0: as many as it has by itself."`
	Owners  int           `help:"Owners of the figure many; 0: 50000."`
	Active  int           `help:"Active ones of them; 0: 5000."`
	Window  time.Duration `help:"How long each repeat of added, rate and many measures; 0: as long as it has by itself."`
	Keep    bool          `help:"Keep the data folders, with their logs."`
	format
}

// Run prints the table; a bar that was missed makes the exit status 1.
func (c *benchCmd) Run(a *app) error {
	if c.Repeats < 0 || c.Owners < 0 || c.Active < 0 || c.Window < 0 {
		return usageError(fmt.Errorf("--repeats, --owners, --active and --window cannot be negative"))
	}
	if err := figures.Known(c.Figure); err != nil {
		return usageError(err)
	}
	ctx, stop := untilInterrupt()
	defer stop()
	report, err := figures.Run(ctx, figures.Options{
		Only: c.Figure, Repeats: c.Repeats, Owners: c.Owners, Active: c.Active, Window: c.Window, Keep: c.Keep, Say: a.say,
	})
	if err != nil {
		return err
	}
	if c.json() {
		err = view.JSON(a.out, report)
	} else {
		err = report.WriteMarkdown(a.out)
	}
	if err == nil && !report.Met() {
		return failed
	}
	return err
}

// figureNames are for the help.
func figureNames() string { return strings.Join(figures.Names(), ", ") }
