package chromium

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/testkit"
)

// caseInputs are the inputs of a collected case, in order.
func caseInputs(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "cases", name, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Inputs []struct{ Input string }
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, i := range c.Inputs {
		inputs = append(inputs, i.Input)
	}
	return inputs
}

// Trouble with browsers that others had, each input with its verdict.
func TestCases(t *testing.T) {
	t.Parallel()
	for name, verdicts := range map[string]map[string]func(*testing.T){
		"240-orphan-browser-after-kill": {
			"browser processes 5 s later": orphansAreReaped,
			"reaper":                      theForgottenAreReaped,
			"launch timeout":              aLaunchThatIsGivenUpIsKilled,
		},
		"242-stale-singleton-lock": {
			"launch with a fresh dir per environment":      everyLaunchHasAFreshFolder,
			"launch on a restored dir with a foreign lock": everyLaunchHasAFreshFolder, // no folder is ever restored
		},
		"244-live-profile-deleted": {
			"dir in use":            onlyDeadFoldersGo,
			"dir of the failed try": aFailedTryLeavesNothing,
			"cleaner rule":          onlyDeadFoldersGo,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known []string
			for input, verdict := range verdicts {
				known = append(known, input)
				t.Run(input, func(t *testing.T) { t.Parallel(); verdict(t) })
			}
			slices.Sort(known)
			if diff := cmp.Diff(slices.Sorted(slices.Values(caseInputs(t, name))), known); diff != "" {
				t.Errorf("inputs (-case +test):\n%s", diff)
			}
		})
	}
}

func orphansAreReaped(t *testing.T) {
	scratch := scratchRoot(t)
	first, second := startParent(t, scratch), startParent(t, scratch)
	startStubborn(t, scratch)
	first.kill()
	second.kill()
	if report, err := Sweep(t.Context(), scratch); err != nil || report.Swept != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	nothingLeft(t, scratch)
}

// A record whose owner lives, and gave it up.
func theForgottenAreReaped(t *testing.T) {
	scratch := scratchRoot(t)
	p, _ := launch(t, Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true})
	if report, err := Sweep(t.Context(), scratch); err != nil || report != (SweepReport{Live: 1}) {
		t.Fatalf("%+v, %v", report, err)
	}
	inUse.Delete(p.record.path)
	if report, err := Sweep(t.Context(), scratch); err != nil || report.Swept != 1 || report.Killed == 0 {
		t.Errorf("%+v, %v", report, err)
	}
	<-p.Done()
	nothingLeft(t, scratch)
}

func aLaunchThatIsGivenUpIsKilled(t *testing.T) {
	scratch := scratchRoot(t)
	p, err := Launch(t.Context(), Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Pause(t, p.PID()) // it never answers
	over, giveUp := context.WithCancel(t.Context())
	giveUp()
	if err := p.Close(over); err != nil {
		t.Error(err)
	}
	nothingLeft(t, scratch)
}

// Chromium refuses a profile that another host's process has locked; ours was
// made by this launch and holds nothing that anybody left.
func everyLaunchHasAFreshFolder(t *testing.T) {
	scratch := scratchRoot(t)
	o := Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true}
	first, err := Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := first.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	lock := filepath.Join(first.record.userData(), "SingletonLock")
	_ = os.Remove(lock)
	if err := os.Symlink("elsewhere-99999", lock); err != nil {
		t.Fatal(err)
	}
	second, _ := launch(t, o) // it answers
	if first.Profile() == second.Profile() {
		t.Error("two browsers share a folder")
	}
}

func aFailedTryLeavesNothing(t *testing.T) {
	scratch := scratchRoot(t)
	mine, _ := launch(t, Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true})
	broken := Options{Binary: Binary{Path: "/nonexistent", Kind: testBinary(t).Kind}, Scratch: scratch, AllowNoSandbox: true}
	if p, err := Launch(t.Context(), broken); err == nil {
		t.Fatal(p.Close(t.Context()))
	}
	left, _ := filepath.Glob(filepath.Join(profilesFolder(scratch), "*"))
	if diff := cmp.Diff([]string{mine.Profile()}, left); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

func onlyDeadFoldersGo(t *testing.T) {
	scratch := scratchRoot(t)
	mine, conn := launch(t, Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true})
	dead, err := newRecord(scratch)
	if err != nil {
		t.Fatal(err)
	}
	dead.OwnerStart++ // the pid belongs to another process by now
	if err := dead.write(); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(recordsFolder(scratch), "half.json"+halfSuffix)
	young := filepath.Join(recordsFolder(scratch), "young.json"+halfSuffix)
	for _, path := range []string{half, young} {
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Remove(young) })
	long := time.Now().Add(-2 * halfAge)
	if err := os.Chtimes(half, long, long); err != nil {
		t.Fatal(err)
	}
	report, err := Sweep(t.Context(), scratch)
	if diff := cmp.Diff(SweepReport{Live: 1, Swept: 1}, report); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	for path, there := range map[string]bool{mine.Profile(): true, dead.Profile: false, half: false, young: true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := conn.Session("").Call(t.Context(), "Browser.getVersion", nil, nil); err != nil {
		t.Errorf("the living browser: %v", err)
	}
}
