package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
)

func TestFindings(t *testing.T) {
	t.Parallel()
	var r Report
	r.ok("nats", "answers")
	r.warn("sandbox", "use another user", "root")
	if r.Failed() {
		t.Error("a warning is no failure")
	}
	r.fail("store", "start it", errors.New("down\x1b[2J"))
	if !r.Failed() {
		t.Error("a failure is one")
	}
	var b strings.Builder
	for _, f := range r.Findings {
		Write(&b, f)
	}
	for _, want := range []string{"ok    nats", "warn  sandbox", "FAIL  store", "mend: start it"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("a terminal would obey it")
	}
}

// A secret that others can read is a failure with the command that mends it.
func TestOpenSecretsFail(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, "secrets", "nats-worker")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	d := &doctor{o: Options{Data: devfleet.Folder(data)}}
	d.folder()
	if !d.report.Failed() || !strings.Contains(d.report.Findings[len(d.report.Findings)-1].Mend, "chmod 600 "+path) {
		t.Errorf("got %+v", d.report.Findings)
	}
}
