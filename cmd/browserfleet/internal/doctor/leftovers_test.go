package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

// runAsWorker makes the test binary a worker with one browser, whose scratch
// folder it names.
const runAsWorker = "TEST_BINARY_IS_A_WORKER"

// runAsStubborn makes it a process that ends by SIGKILL alone.
const runAsStubborn = "TEST_BINARY_IS_STUBBORN"

// wait bounds every wait, on a machine that is busy.
const wait = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(runAsStubborn) != "" {
		signal.Ignore()
		fmt.Println("here")
		<-time.After(time.Hour)
		os.Exit(1)
	}
	if scratch := os.Getenv(runAsWorker); scratch != "" {
		if err := runWorker(scratch); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// runWorker prints its browser's process id and profile when the browser answers,
// and ends with its standard input.
func runWorker(scratch string) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		return err
	}
	p, err := chromium.Launch(ctx, chromium.Options{Binary: binary, Scratch: scratch, AllowNoSandbox: true})
	if err != nil {
		return err
	}
	conn := cdp.Start(p.Carrier(), nil, cdp.Options{})
	if err := conn.Session("").Call(ctx, "Browser.getVersion", nil, nil); err != nil {
		return err
	}
	fmt.Println(p.PID(), p.Profile())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return errors.Join(conn.Close(), p.Close(ctx))
}

// startedWorker is such a worker.
type startedWorker struct {
	cmd     *exec.Cmd
	browser int
	profile string
}

// startStubborn is a process of a browser that outlives the browser. The channel
// is closed when it has ended.
func startStubborn(t *testing.T, profile string) <-chan struct{} {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--user-data-dir="+filepath.Join(profile, "user-data"))
	cmd.Env = append(os.Environ(), runAsStubborn+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil || line != "here\n" {
		t.Fatalf("it said %q: %v", line, err)
	}
	go func() { _, _ = said.ReadString('\n'); _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return ended
}

func startWorker(t *testing.T, scratch string) *startedWorker {
	t.Helper()
	w := &startedWorker{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), runAsWorker+"="+scratch)
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = w.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the worker said %q: %v", line, err)
	}
	pid, profile, _ := strings.Cut(strings.TrimSpace(line), " ")
	if w.browser, err = strconv.Atoi(pid); err != nil {
		t.Fatalf("the worker said %q", line)
	}
	w.profile = profile
	return w
}

// runs tells whether a process other than a zombie has the pid and names the
// profile.
func (w *startedWorker) runs() bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.browser), "cmdline"))
	return err == nil && strings.Contains(string(line), w.profile)
}

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func (w *startedWorker) hasProfile() bool { _, err := os.Stat(w.profile); return err == nil }

// doctor --fix takes what a killed worker left, also a process that does not
// end by itself, and nothing of one that lives.
func TestFixRemovesWhatTheDeadLeftAndNothingOfTheLiving(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	folder := devfleet.Folder(data)
	dead, living := startWorker(t, folder.Scratch()), startWorker(t, folder.Scratch())
	left := startStubborn(t, dead.profile)
	if err := dead.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = dead.cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()

	look := &doctor{o: Options{Data: folder}}
	look.leftovers(ctx)
	if f := look.report.Findings; len(f) != 1 || !strings.Contains(f[0].Mend, "doctor --fix") || !dead.hasProfile() || ended(left) {
		t.Fatalf("without --fix: %+v, profile %v, process ended %v", f, dead.hasProfile(), ended(left))
	}
	for _, want := range []string{"1 removed", "0 removed"} { // the second time there is nothing to do
		fix := &doctor{o: Options{Data: folder, Fix: true}}
		fix.leftovers(ctx)
		if f := fix.report.Findings; fix.report.Failed() || len(f) != 1 || !strings.Contains(f[0].Found, want) || !strings.Contains(f[0].Found, "1 belong to running workers") {
			t.Errorf("with --fix: %+v", f)
		}
		select {
		case <-left:
		case <-ctx.Done():
			t.Error("a process of the dead browser is left")
		}
		if dead.hasProfile() || dead.runs() {
			t.Errorf("left of the dead: profile %v, browser %v", dead.hasProfile(), dead.runs())
		}
		if !living.hasProfile() || !living.runs() {
			t.Errorf("left of the living: profile %v, browser %v", living.hasProfile(), living.runs())
		}
	}
}
