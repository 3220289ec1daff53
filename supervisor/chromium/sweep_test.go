package chromium

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parent is another worker: this test binary, run again.
type parent struct {
	command *exec.Cmd
	browser int
}

func startParent(t *testing.T, scratch string) *parent {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), parentEnv+"="+scratch)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p := &parent{command: command}
	t.Cleanup(func() { _ = stdin.Close(); p.kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the parent said %q: %v", line, err)
	}
	if p.browser, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *parent) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

func TestSweepCleansUpAfterAKilledWorker(t *testing.T) {
	t.Parallel()
	scratch := scratchRoot(t)
	worker := startParent(t, scratch)
	if !alive(worker.browser, mustStat(t, worker.browser).start) {
		t.Fatal("the browser does not run")
	}
	worker.kill()
	report, err := Sweep(t.Context(), scratch)
	if err != nil || report.Swept != 1 || report.Live != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	nothingLeft(t, scratch)
}

// startStubborn is a process of a browser that outlives it. (A browser that is only
// stopped does not: when its worker dies, the kernel wakes its group, with SIGHUP.)
func startStubborn(t *testing.T, scratch string) {
	t.Helper()
	profiles, err := filepath.Glob(filepath.Join(profilesFolder(scratch), "*"))
	if err != nil || len(profiles) == 0 {
		t.Fatalf("profiles: %v, %v", profiles, err)
	}
	command := exec.Command(os.Args[0], "--user-data-dir="+filepath.Join(profiles[0], "user-data"))
	command.Env = append(os.Environ(), stubbornEnv+"=1")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "here\n" {
		t.Fatalf("it said %q: %v", line, err)
	}
}

func TestSweepKillsABrowserThatDoesNotEndByItself(t *testing.T) {
	t.Parallel()
	scratch := scratchRoot(t)
	worker := startParent(t, scratch)
	startStubborn(t, scratch)
	worker.kill()
	report, err := Sweep(t.Context(), scratch)
	if err != nil || report.Swept != 1 || report.Killed < 1 {
		t.Errorf("%+v, %v", report, err)
	}
	nothingLeft(t, scratch)
}

func TestSweepTouchesNothingOfTheLiving(t *testing.T) {
	t.Parallel()
	scratch := scratchRoot(t)
	mine, conn := launch(t, Options{Binary: testBinary(t), Scratch: scratch, AllowNoSandbox: true})
	worker := startParent(t, scratch)
	report, err := Sweep(t.Context(), scratch)
	if diff := cmp.Diff(SweepReport{Live: 2}, report); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	if err := conn.Session("").Call(t.Context(), "Browser.getVersion", nil, nil); err != nil {
		t.Errorf("my browser: %v", err)
	}
	if _, err := os.Stat(mine.Profile()); err != nil {
		t.Error(err)
	}
	if _, err := readStat(worker.browser); err != nil {
		t.Errorf("the neighbour's browser: %v", err)
	}
	worker.kill()
	report, err = Sweep(t.Context(), scratch)
	if err != nil || report.Live != 1 || report.Swept != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestSweepReadsRecordsWithSuspicion(t *testing.T) {
	t.Parallel()
	self := mustStat(t, os.Getpid())
	for name, c := range map[string]struct {
		change func(*record)
		want   SweepReport
		fails  bool
	}{
		"the pid of the owner belongs to another process now": {
			func(r *record) { r.OwnerStart++ }, SweepReport{Swept: 1}, false,
		},
		"the browser's pid belongs to this process now": {
			func(r *record) {
				r.OwnerStart++
				r.PID, r.PIDStart, r.PGID = os.Getpid(), self.start, self.pgid
			}, SweepReport{Swept: 1}, false,
		},
		"of an earlier boot":       {func(r *record) { r.Boot = "earlier" }, SweepReport{Swept: 1}, false},
		"of another pid namespace": {func(r *record) { r.PIDSpace = "pid:[1]"; r.OwnerStart++ }, SweepReport{Foreign: 1}, false},
		"the owner lives":          {func(*record) {}, SweepReport{Live: 1}, false},
		"a foreign folder":         {func(r *record) { r.Profile = "/etc"; r.OwnerStart++ }, SweepReport{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scratch := scratchRoot(t)
			r, err := newRecord(scratch)
			if err != nil {
				t.Fatal(err)
			}
			profile := r.Profile
			c.change(r)
			if err := r.write(); err != nil {
				t.Fatal(err)
			}
			report, err := Sweep(t.Context(), scratch)
			if diff := cmp.Diff(c.want, report); diff != "" || (err != nil) != c.fails {
				t.Errorf("%s %v", diff, err)
			}
			if _, err := os.Stat(profile); (err == nil) == (c.want.Swept == 1) {
				t.Errorf("profile: %v", err)
			}
		})
	}
}

func TestSweepGoesOnAfterABadRecord(t *testing.T) {
	t.Parallel()
	scratch := scratchRoot(t)
	r, err := newRecord(scratch)
	if err != nil {
		t.Fatal(err)
	}
	r.OwnerStart++
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(recordsFolder(scratch), "0.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Sweep(t.Context(), scratch)
	if err == nil || report.Swept != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if report, err := Sweep(t.Context(), filepath.Join(scratch, "none")); err != nil || report != (SweepReport{}) {
		t.Errorf("a root that does not exist: %+v, %v", report, err)
	}
}

func FuzzReadRecord(f *testing.F) {
	good, _ := json.Marshal(record{Version: 1, Profile: "/tmp/x"})
	f.Add(good)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		folder := filepath.Join(t.TempDir(), "records")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, "abc.json")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := readRecord(path)
		if err == nil && r.Profile != filepath.Join(filepath.Dir(folder), "profiles", "abc") {
			t.Errorf("profile %q", r.Profile)
		}
	})
}

func mustStat(t *testing.T, pid int) procStat {
	t.Helper()
	stat, err := readStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return stat
}
