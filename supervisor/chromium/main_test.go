package chromium

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"go.uber.org/goleak"
)

// stubbornEnv makes the test binary a process that ends by SIGKILL alone.
const stubbornEnv = "BROWSERFLEET_TEST_STUBBORN"

// parentEnv makes the test binary a worker that owns a browser and waits to be
// killed; see runParent.
const parentEnv = "BROWSERFLEET_TEST_PARENT_SCRATCH"

func TestMain(m *testing.M) {
	if os.Getenv(stubbornEnv) != "" {
		runStubborn()
	}
	if scratch := os.Getenv(parentEnv); scratch != "" {
		if err := runParent(scratch); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// runStubborn says that it runs, and ignores everything that can be ignored.
func runStubborn() {
	signal.Ignore()
	fmt.Println("here")
	<-time.After(time.Hour)
	os.Exit(1)
}

// runParent starts a browser, prints its pid, and waits for the end of stdin.
func runParent(scratch string) error {
	binary, err := Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		return err
	}
	p, err := Launch(context.Background(), Options{Binary: binary, Scratch: scratch, AllowNoSandbox: true})
	if err != nil {
		return err
	}
	conn := cdp.Start(p.Carrier(), nil, cdp.Options{})
	if err := conn.Session("").Call(context.Background(), "Browser.getVersion", nil, nil); err != nil {
		return err
	}
	fmt.Println(p.PID())
	_, err = bufio.NewReader(os.Stdin).ReadByte()
	return err
}

func scratchRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "bf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}

func testBinary(t *testing.T) Binary {
	t.Helper()
	binary, err := Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// launch starts a browser that answers, and closes it with the test.
func launch(t *testing.T, o Options) (*Process, *cdp.Conn) {
	t.Helper()
	p, err := Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	conn := cdp.Start(p.Carrier(), nil, cdp.Options{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := conn.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
		if err := p.Close(ctx); err != nil {
			t.Errorf("close the process: %v", err)
		}
		nothingLeft(t, o.Scratch)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := conn.Session("").Call(ctx, "Browser.getVersion", nil, nil); err != nil {
		t.Fatalf("%v\n%s", err, p.Stderr())
	}
	return p, conn
}

func nothingLeft(t *testing.T, scratch string) {
	t.Helper()
	for _, folder := range []string{profilesFolder(scratch), recordsFolder(scratch)} {
		left, _ := filepath.Glob(filepath.Join(folder, "*"))
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	if pids := processesOf(t, scratch); len(pids) > 0 {
		for _, pid := range pids {
			line, _ := os.ReadFile(procPath(pid, "cmdline"))
			stat, _ := os.ReadFile(procPath(pid, "stat"))
			cwd, _ := os.Readlink(procPath(pid, "cwd"))
			t.Errorf("process %d is left behind: %q in %q, %s", pid, line, cwd, stat)
		}
	}
}

// processesOf are the processes that name the folder in their command line or
// work in it. A zombie has neither.
func processesOf(t *testing.T, folder string) []int {
	t.Helper()
	pids, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, pid := range pids {
		raw, _ := os.ReadFile(procPath(pid, "cmdline"))
		if pid != os.Getpid() && (bytes.Contains(raw, []byte(folder)) || worksIn(pid, folder)) {
			found = append(found, pid)
		}
	}
	return found
}
