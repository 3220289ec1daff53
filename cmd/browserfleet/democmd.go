package main

import (
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/demo"
)

type demoCmd struct {
	Keep     bool     `help:"Leave the data folder, with the logs, for a look at it."`
	Elements int      `help:"Elements of a page that are printed." default:"8"`
	Browser  string   `help:"chrome or simulated." enum:"chrome,simulated" default:"chrome" hidden:""`
	Kill     []string `help:"CHILD@STEP or CHILD@STEP:DURATION: SIGKILL that child when the step begins, or so much later." hidden:"" sep:"none"`
}

// Run shows the demonstration.
func (c *demoCmd) Run(a *app) error {
	o := demo.Options{Browser: c.Browser, Keep: c.Keep, Elements: c.Elements, Out: a.out}
	for _, text := range c.Kill {
		k, err := demo.ParseKill(text)
		if err != nil {
			return usageError(err)
		}
		o.Kills = append(o.Kills, k)
	}
	ctx, hurry, stop := startInterrupts()
	defer stop()
	o.Hurry = hurry
	ctx, told, err := startTelemetry(ctx, "demo", "")
	if err != nil {
		return err
	}
	defer told()
	return demo.Run(ctx, o)
}
