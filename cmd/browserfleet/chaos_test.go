package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/chaos"
	"github.com/browserfleet/browserfleet/internal/fleettest"
)

// chaosWait bounds a run of 25 s with its start, its grace and its end, on a
// machine that is as busy as can be.
const chaosWait = 9 * time.Minute

// TestASmallSeedOfChaos takes about 30 s: `make chaos` in small. It judges
// promises alone: how fast the fleet is does not matter, nor what the faults meet.
func TestASmallSeedOfChaos(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), chaosWait)
	defer cancel()
	dir := t.TempDir()
	cmd := command(ctx, t, []string{"TMPDIR=" + dir}, "chaos", "--seed", "20", "--duration", "25s", "--owners", "16", "--rate", "20", "-o", "json")
	cmd.Path = fleettest.Program(t)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	t.Logf("%s", &errOut)
	var r chaos.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	for _, tenant := range r.Tenants {
		for _, f := range tenant.Findings {
			t.Errorf("%s: %s %s: %s", f.Promise, f.Owner, f.Request, f.Text)
		}
		if tenant.Requests == 0 {
			t.Error("a tenant's agents stored nothing")
		}
	}
	for _, f := range r.Findings {
		t.Error(f)
	}
	if err != nil || r.Seed != 20 || len(r.Faults) == 0 {
		t.Errorf("seed %d, faults %v: %v", r.Seed, r.Faults, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}

// TestChaosEndsWithWhoStartedIt kills the run before it is over.
func TestChaosEndsWithWhoStartedIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := command(t.Context(), t, []string{"TMPDIR=" + dir}, "chaos", "--seed", "1", "--duration", "10m", "--owners", "2")
	cmd.Path = fleettest.Program(t)
	said := newLines()
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = wait // the copy has the same standard error
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said.await(t, "network of ")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("%v:\n%s", err, said)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), dir) {
			t.Errorf("a process is left: %s", path)
		}
	}
}
