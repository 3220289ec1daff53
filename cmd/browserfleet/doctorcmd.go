package main

import (
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/doctor"
	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
)

type doctorCmd struct {
	dataFlag
	format
	Fix     bool   `help:"Remove what dead workers left behind."`
	Browser string `help:"chrome or simulated." enum:"chrome,simulated" default:"chrome" hidden:""`
}

// Run checks, and fails if anything does not work.
func (c *doctorCmd) Run(a *app) error {
	folder, err := c.folder()
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupt()
	defer stop()
	o := doctor.Options{Data: folder, Version: version(), Fix: c.Fix, Browser: c.Browser}
	if !c.json() {
		o.Tell = func(f doctor.Finding) { doctor.Write(a.out, f) }
	}
	report := doctor.Run(ctx, o)
	if c.json() {
		if err := view.JSON(a.out, report); err != nil {
			return err
		}
	}
	if report.Failed() {
		return failed
	}
	return nil
}
