package fleettest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// buildTimeout bounds linking the program, and compiling it where nothing is
// cached, on a machine that is busy.
const buildTimeout = 10 * time.Minute

// Program builds the program as it is shipped and returns its path. A fleet of
// processes made of the test binary, with the race detector in each, takes ten
// times the memory and most of a small machine: where the promises of whole
// processes are judged, from outside, there is nothing for the detector to see.
func Program(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	path := filepath.Join(t.TempDir(), "browserfleet")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path,
		"github.com/browserfleet/browserfleet/cmd/browserfleet")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}
