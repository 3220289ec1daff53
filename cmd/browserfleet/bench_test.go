package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/figures"
)

// benchTries: a machine on which workers stop for seconds has no figures, and the
// command says so.
const benchTries = 3

// TestBenchMeasures runs small figures. What they come to is not looked at.
func TestBenchMeasures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var r figures.Report
	for range benchTries {
		got := program(t, []string{"TMPDIR=" + dir}, "bench", "--figure", "added", "--figure", "many", "--owners", "260", "--active", "120",
			"--repeats", "1", "--window", "500ms", "-o", "json")
		r = figures.Report{}
		if err := json.Unmarshal([]byte(got.out), &r); err != nil {
			t.Fatalf("%v: %s%s", err, got.out, got.err)
		}
		if len(r.Failures) == 0 {
			break
		}
		t.Log(r.Failures)
	}
	seen := map[string]bool{}
	for _, row := range r.Rows {
		seen[row.Figure] = true
		if row.Repeats != 1 || row.Samples == 0 || row.Unit == "" {
			t.Errorf("%+v", row)
		}
	}
	if !seen["added"] || !seen["many"] || len(seen) != 2 || r.Machine.CPUs == 0 {
		t.Errorf("%+v", r)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}

func TestBenchSaysWhatFiguresThereAre(t *testing.T) {
	t.Parallel()
	got := program(t, nil, "bench", "--figure", "speed")
	if got.code != exitUsage {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}
