package caserun

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker/chrome"
	"github.com/browserfleet/browserfleet/worker/credentials"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const folder = "testdata/cases"

// waiting are the cases that do not pass yet, with what is missing.
var waiting = map[string]string{
	"011-undisplayed-file-input": "there is no action upload",
	"092-attachment-link":        "downloads are refused and recorded, not kept",
	"106-upload-inside-frame":    "there is no action upload",
	"144-indexeddb-value-types":  "IndexedDB is not captured",
}

// elsewhere are the cases without pages: rules and lists of inputs for a part
// that a browser does not show. The test is the one that holds the rule.
var elsewhere = map[string]string{
	"200-numeric-ipv4-spellings":       "egressproxy TestNumericIPv4Spellings",
	"202-host-name-spellings":          "egressproxy TestHostNameSpellings",
	"204-schemes":                      "egressproxy TestSchemes",
	"206-loopback-skips-proxy":         "egressproxy TestChromiumReachesOnlyWhatThePolicyAllows",
	"208-host-header-and-smuggling":    "egressproxy TestSmugglingIsRefused",
	"210-proxy-to-itself":              "egressproxy TestNeverToItselfNorToANeighbour",
	"212-side-channels":                "egressproxy TestChromiumReachesOnlyWhatThePolicyAllows",
	"221-nak-delay-blocks-head":        "internal/natsx TestAFullQueueRefusesAndNeighboursDoNotNotice",
	"223-ack-wait-shorter-than-action": "internal/fleettest TestAnActionInFlightOnALostWorkerIsNeverRunAgain",
	"225-bare-nak-burns-attempts":      "internal/fleettest TestAStoreThatIsAwayIsSaidAndStartsNothingEmpty",
	"227-reconnect-stall":              "internal/fleettest TestNATSRestartsAndNothingIsLost",
	"229-owner-head-stuck":             "coordinator TestExplainSaysWhyAnOwnerIsWhereItIs",
	"240-orphan-browser-after-kill":    "supervisor/chromium TestSweepCleansUpAfterAKilledWorker",
	"242-stale-singleton-lock":         "supervisor/chromium TestABrowserStartsAndLeavesNothing",
	"244-live-profile-deleted":         "supervisor/chromium TestSweepTouchesNothingOfTheLiving",
	"246-session-without-owner":        "worker TestCase246AnEnvironmentWithoutAnOwner",
	"248-wedged-but-alive":             "worker TestAStoppedChromiumIsReplaced",
}

// TestEveryCaseIsInATable: it has steps, or another package's test holds it.
func TestEveryCaseIsInATable(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, f := range all(t) {
		known[f.ID] = true
		if len(f.Steps) == 0 && elsewhere[f.ID] == "" {
			t.Errorf("nothing runs %s", f.ID)
		}
	}
	for id := range waiting {
		if !known[id] {
			t.Errorf("there is no case %s", id)
		}
	}
	for id, where := range elsewhere {
		dir, name, _ := strings.Cut(where, " ")
		if !known[id] || !hasTest(t, dir, name) {
			t.Errorf("%s: no such case, or no test %s", id, where)
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func launcher(t *testing.T, hosts []string) *chrome.Launcher {
	t.Helper()
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egressproxy.Compile(egressproxy.Policy{Mode: egressproxy.ModeAllowlist, AllowHosts: hosts}, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := credentials.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	judge, err := chrome.NewEscapeHatch([]string{"Runtime.evaluate"})
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := os.MkdirTemp("", "bfcase") // short: Chromium puts sockets below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(scratch, "*", "*"))
		if err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
		if err := os.RemoveAll(scratch); err != nil {
			t.Error(err)
		}
	})
	return chrome.NewLauncher(chrome.Config{
		Chromium: chromium.Options{Binary: binary, Scratch: scratch, AllowNoSandbox: true},
		Policy:   policy, Credentials: secrets, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), EscapeHatch: judge,
		Popups: supervisor.PopupsAdopt,
		// A browser is not taken for wedged because the tests' machine is busy.
		Heartbeat: supervisor.Heartbeat{Deadline: 10 * time.Second},
	})
}

// TestCases runs every case that has pages. A case that waits must fail, so that
// the table stays true.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, f := range all(t) {
		if len(f.Steps) == 0 || elsewhere[f.ID] != "" {
			continue
		}
		t.Run(f.ID, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
			defer cancel()
			site := Serve(t, f)
			hosts, patience := site.Hosts(), 30*time.Second
			if waiting[f.ID] != "" {
				patience = time.Second // it is not expected to come
			}
			if certificate := f.certificates(); certificate != nil {
				for _, name := range certificate {
					at := ServeBadTLS(t, name)
					f.Steps[0].URL = "https://" + at + "/"
					judge(t, f.ID, Run(ctx, t, launcher(t, append(hosts, at)), site, patience))
				}
				return
			}
			judge(t, f.ID, Run(ctx, t, launcher(t, hosts), site, patience))
		})
	}
}

// certificates are those that the case is to be run with.
func (f *File) certificates() []string {
	if !strings.Contains(f.Steps[0].URL, "TLSPORT") {
		return nil
	}
	var names []string
	for _, raw := range f.Inputs {
		var input struct {
			Cert string `json:"cert"`
		}
		if json.Unmarshal(raw, &input) == nil {
			names = append(names, input.Cert)
		}
	}
	return names
}

func judge(t *testing.T, id string, problems []string) {
	t.Helper()
	why, waits := waiting[id]
	switch {
	case waits && len(problems) == 0:
		t.Errorf("passes by now; it was said to wait for: %s", why)
	case waits:
		t.Logf("waits for %s: %s", why, strings.Join(problems, "\n"))
	case len(problems) > 0:
		t.Errorf("%s", strings.Join(problems, "\n"))
	}
}

func all(t *testing.T) []*File {
	t.Helper()
	folders, err := filepath.Glob(folder + "/*/case.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var files []*File
	for _, path := range folders {
		f, err := Read(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
