package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/devfleet"
	"github.com/browserfleet/browserfleet/protocol"
)

// leftNothing wants no process and no profile of a folder.
func leftNothing(t testing.TB, data string) {
	t.Helper()
	left, err := devfleet.Folder(data).Leftovers()
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// childPID finds a child of dev by its first argument and, for workers, its name.
func childPID(t testing.TB, data, name string) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range processes {
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(string(line), "\x00")
		if !bytes.Contains(env, []byte("="+data+"/")) || len(args) < 2 {
			continue
		}
		is := args[1] == name
		if strings.HasPrefix(name, "worker-") {
			is = bytes.Contains(env, []byte("BROWSERFLEET_WORKER_NAME="+name+"\x00"))
		}
		if is {
			var pid int
			if err := json.Unmarshal([]byte(filepath.Base(dir)), &pid); err == nil {
				return pid
			}
		}
	}
	return 0
}

func TestVerbsAgainstADevFleet(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--browser", "simulated")

	out := d.ok("open", "http://simulated.invalid/", "--owner", "alice")
	for _, want := range []string{"ok  open  navigated", "trace ", `- searchbox "Search" [ref=e1]`, "untrusted"} {
		if !strings.Contains(out, want) {
			t.Errorf("open does not show %q:\n%s", want, out)
		}
	}
	// The owner and the observation are remembered.
	var clicked answer
	if err := json.Unmarshal([]byte(d.ok("click", "e2", "-o", "json")), &clicked); err != nil {
		t.Fatal(err)
	}
	if clicked.Result.Owner != "alice" || clicked.Result.Status != protocol.StatusOK || len(clicked.TraceID) != 32 {
		t.Errorf("got %+v", clicked)
	}
	d.ok("fill", "e1", "lamp")
	d.ok("press", "Enter")
	d.ok("ping")
	if out := d.ok("extract", "table"); !strings.HasSuffix(out, "n\n1\n") {
		t.Errorf("extract: %q", out)
	}
	picture := filepath.Join(t.TempDir(), "page.png")
	d.ok("screenshot", "-o", picture)
	if !strings.HasPrefix(readText(t, picture), "\x89PNG") {
		t.Error("the screenshot is no PNG")
	}
	if again := d.ok("result", string(clicked.Request)); !strings.Contains(again, "ok  click") {
		t.Errorf("result: %s", again)
	}
	if owners := d.ok("owners"); !strings.Contains(owners, "dev/alice  assigned") {
		t.Errorf("owners: %s", owners)
	}
	if mine := d.ok("owners", "--mine"); !strings.Contains(mine, "dev/alice") {
		t.Errorf("owners --mine: %s", mine)
	}

	for name, tc := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"foreign ref":      {[]string{"click", "e999", "--owner", "alice"}, exitFailed, "next: observe"},
		"no ref":           {[]string{"click", "Save"}, exitUsage, "e12"},
		"unknown key":      {[]string{"press", "F13"}, exitUsage, "want one of"},
		"unknown result":   {[]string{"result", string(protocol.NewRequestID(time.Now()))}, exitFailed, "not_found"},
		"wait that ends":   {[]string{"open", "http://simulated.invalid/slow?ms=3000", "--timeout", "200ms", "--owner", "slow"}, exitNoAnswer, "browserfleet result "},
		"a browser's loss": {[]string{"open", "http://simulated.invalid/crash", "--owner", "crash"}, exitFailed, "browser_lost"},
	} {
		r := d.run(tc.args...)
		if r.code != tc.code || !strings.Contains(r.err, tc.err) {
			t.Errorf("%s: exit %d, want %d\n%s%s", name, r.code, tc.code, r.out, r.err)
		}
	}
	d.stop()
	leftNothing(t, d.data)
}

func TestDrainMovesOwners(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--browser", "simulated", "--no-restart-workers")
	d.ok("open", "http://simulated.invalid/", "--owner", "alice")
	d.ok("fill", "e1", "kept")
	var before protocol.OwnersReply
	if err := json.Unmarshal([]byte(d.ok("owners", "-o", "json")), &before); err != nil {
		t.Fatal(err)
	}
	holder := before.Owners[0].Worker
	if out := d.ok("workers", "drain", string(holder)); !strings.Contains(out, "is gone") {
		t.Errorf("drain: %s", out)
	}
	out := d.ok("observe")
	if strings.Contains(out, string(holder)) || !strings.Contains(out, "Fills: 1.") || !strings.Contains(out, "restored") {
		t.Errorf("observe: %s", out)
	}
	if r := d.run("workers", "drain", "nobody-1"); r.code == 0 {
		t.Errorf("drain of nobody: %s", r.out)
	}
	d.stop()
}

// Each child can be killed; dev starts it again, and requests go on.
func TestDevStartsAgainWhatDies(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--browser", "simulated")
	d.ok("open", "http://simulated.invalid/", "--owner", "alice")
	for _, name := range []string{"nats", "store", "coordinator", "worker-1", "worker-2"} {
		old := childPID(t, d.data, name)
		if old == 0 {
			t.Fatalf("%s does not run", name)
		}
		if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.out.await(t, name+" ended (signal: killed); started again")
		d.ok("observe")
		if now := childPID(t, d.data, name); now == 0 || now == old {
			// The verb may have been faster than the child's pause.
			awaitChild(t, d.data, name, old)
		}
	}
	d.stop()
	leftNothing(t, d.data)
}

// awaitChild waits until a child runs under another pid.
func awaitChild(t testing.TB, data, name string, old int) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(wait)
	for {
		if now := childPID(t, data, name); now != 0 && now != old {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s was not started again", name)
		}
	}
}

// Whatever dev dies of, its children end, and the next one finds everything.
func TestDevIsKilled(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	d := startDev(t, data, "--browser", "simulated")
	d.ok("open", "http://simulated.invalid/", "--owner", "alice")
	d.ok("fill", "e1", "kept")
	d.signal(syscall.SIGKILL)
	<-d.exited
	awaitNothing(t, data)

	again := startDev(t, data, "--browser", "simulated")
	if out := again.ok("observe"); !strings.Contains(out, "Fills: 1.") {
		t.Errorf("the state is lost: %s", out)
	}
	again.stop()
	leftNothing(t, data)
}

// The browsers of a killed dev end with their pipes; what they leave on the disk
// is swept by the next dev.
func TestDevIsKilledWithARealBrowser(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	d := startDev(t, data)
	site := regexp.MustCompile(`shop +(http://\S+)`).FindStringSubmatch(d.out.String())[1]
	if out := d.ok("open", site, "--owner", "alice"); !strings.Contains(out, `searchbox "Search the shop"`) {
		t.Errorf("open: %s", out)
	}
	d.signal(syscall.SIGKILL)
	<-d.exited
	awaitNoProcess(t, data)

	again := startDev(t, data)
	if out := again.ok("observe"); !strings.Contains(out, "generation 2") {
		t.Errorf("observe: %s", out)
	}
	again.stop()
	leftNothing(t, data)
}

func awaitNothing(t testing.TB, data string) {
	t.Helper()
	awaitNone(t, data, "")
}

// awaitNoProcess leaves aside what a killed worker's browsers left on the disk.
func awaitNoProcess(t testing.TB, data string) {
	t.Helper()
	awaitNone(t, data, "process ")
}

// awaitNone waits until no leftover begins so.
func awaitNone(t testing.TB, data, prefix string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(wait)
	for {
		left, err := devfleet.Folder(data).Leftovers()
		if err == nil && !slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, prefix) }) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("still there: %v %v", left, err)
		}
	}
}

func TestTwoDevsDoNotFightOverAFolder(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--browser", "simulated")
	r := program(t, nil, "dev", "--data", d.data, "--browser", "simulated")
	if r.code != exitFailed || !strings.Contains(r.err, "another fleet runs on this data folder") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	// Nor over a port.
	port := regexp.MustCompile(`nats://127\.0\.0\.1:(\d+)`).FindStringSubmatch(d.out.String())[1]
	r = program(t, nil, "dev", "--data", t.TempDir(), "--browser", "simulated", "--nats-port", port)
	if r.code != exitFailed || !strings.Contains(r.err, "port "+port+" for NATS is taken") || !strings.Contains(r.err, "--nats-port") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	d.stop()
}

// Nobody but its owner can read what a fleet keeps.
func TestTheDataFolderIsPrivate(t *testing.T) {
	t.Parallel()
	d := startDev(t, t.TempDir(), "--browser", "simulated")
	d.ok("open", "http://simulated.invalid/", "--owner", "alice")
	passwords := map[string]bool{}
	for _, dir := range []string{"secrets", "client", "nats", "logs"} {
		err := filepath.WalkDir(filepath.Join(d.data, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if info, err := e.Info(); err == nil && info.Mode().Perm()&0o077 != 0 && !strings.Contains(path, "jetstream") {
				t.Errorf("%s has mode %04o", path, info.Mode().Perm())
			}
			if dir == "secrets" {
				passwords[strings.TrimSpace(readText(t, path))] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// And no secret is in a log, an argument or a variable.
	seen := d.out.String()
	logs, err := filepath.Glob(filepath.Join(d.data, "logs", "*"))
	if err != nil || len(logs) < 5 {
		t.Fatalf("logs: %v %v", logs, err)
	}
	for _, path := range logs {
		seen += readText(t, path)
	}
	for _, name := range []string{"nats", "store", "coordinator", "worker-1", "worker-2"} {
		dir := filepath.Join("/proc", jsonText(t, childPID(t, d.data, name)))
		seen += readText(t, filepath.Join(dir, "environ")) + readText(t, filepath.Join(dir, "cmdline"))
	}
	for secret := range passwords {
		if len(secret) < 8 || strings.Contains(seen, secret) {
			t.Error("a secret is short, or is shown")
		}
	}
	d.stop()
}

func jsonText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
