package worker_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker"
	"github.com/browserfleet/browserfleet/worker/chrome"
	"github.com/browserfleet/browserfleet/worker/credentials"
)

// real is a worker with Chromium, and a site that knows who has been there.
type real struct {
	*bench
	site    *httptest.Server
	scratch string
}

func newReal(t *testing.T, limits chrome.Limits) *real {
	t.Helper()
	r := &real{scratch: t.TempDir()}
	r.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		who := "a stranger"
		if c, err := req.Cookie("who"); err == nil {
			who = c.Value
		}
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "kim", Path: "/"})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if page := askingPage(req); page != "" {
			_, _ = io.WriteString(w, "<!doctype html>"+page)
			return
		}
		_, _ = fmt.Fprintf(w, "<!doctype html><title>Site</title><p>Hello %s</p>", who)
	}))
	t.Cleanup(r.site.Close)
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egressproxy.Compile(egressproxy.Policy{
		Mode: egressproxy.ModeAllowlist, AllowHosts: []string{strings.TrimPrefix(r.site.URL, "http://"), alias(r.site.URL)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := credentials.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	launcher := chrome.NewLauncher(chrome.Config{
		Chromium: chromium.Options{Binary: binary, Scratch: r.scratch, AllowNoSandbox: true},
		Policy:   policy, Credentials: secrets, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Limits: limits,
		// A browser is not taken for wedged because the tests' machine is busy.
		Heartbeat: supervisor.Heartbeat{Deadline: 10 * time.Second},
	})
	r.bench = newBench(t, 2, func(c *worker.Config) { c.Launcher = launcher })
	t.Cleanup(func() {
		r.stop()
		if left := r.profiles(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	if err := r.control(protocol.VerbAssign, r.assign(one)); err != nil {
		t.Fatal(err)
	}
	return r
}

// visit opens the site; the page must greet so.
func (r *real) visit(greeting string) *protocol.Result {
	r.t.Helper()
	res := r.result(one, r.send(one, protocol.KindOpen, &protocol.OpenArgs{URL: r.site.URL + "/"}))
	if res.Status != protocol.StatusOK || res.Observation == nil || !strings.Contains(res.Observation.Text, greeting) {
		r.t.Fatalf("%s, %+v, %+v", res.Status, res.Error, res.Observation)
	}
	return res
}

func (r *real) profiles() []string {
	all, _ := filepath.Glob(filepath.Join(r.scratch, "profiles", "*"))
	return all
}

// pid is the browser's process, as its record on disk has it.
func (r *real) pid() int {
	r.t.Helper()
	records, _ := filepath.Glob(filepath.Join(r.scratch, "records", "*.json"))
	if len(records) != 1 {
		r.t.Fatalf("records: %v", records)
	}
	raw, err := os.ReadFile(records[0])
	if err != nil {
		r.t.Fatal(err)
	}
	var record struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(raw, &record); err != nil || record.PID == 0 {
		r.t.Fatalf("%s: %v", raw, err)
	}
	return record.PID
}

func (r *real) until(what string, is func() bool) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx := r.ctx(); !is(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.t.Fatalf("%s did not happen", what)
		}
	}
}

// A browser that is stopped lives and answers nobody: it is noticed, killed with
// its group, removed and replaced; what is queued is not left waiting.
func TestAStoppedChromiumIsReplaced(t *testing.T) {
	t.Parallel()
	heldCase(t, "248-wedged-but-alive", "probe", "cleanup", "queued action")
	r := newReal(t, chrome.Limits{})
	r.visit("a stranger")
	pid, former := r.pid(), r.profiles()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waiting := r.result(one, r.send(one, protocol.KindObserve, &protocol.ObserveArgs{}))
	if waiting.Status == protocol.StatusOK && waiting.Generation == 1 {
		t.Errorf("a stopped browser answered: %+v", waiting)
	}
	r.until("the removal of its profile", func() bool { _, err := os.Stat(former[0]); return os.IsNotExist(err) })
	res := r.visit("kim")
	if res.Generation != 2 {
		t.Errorf("generation %d", res.Generation)
	}
	for _, restored := range []*protocol.Restored{waiting.Restored, res.Restored} {
		if restored != nil && restored.Reason != "browser_lost" {
			t.Errorf("restored because of %s", restored.Reason)
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if raw, err := os.ReadFile(line); err == nil && strings.Contains(string(raw), former[0]) {
			t.Errorf("%s is left of it", line)
		}
	}
}

func TestAWornChromiumIsReplacedAndKeepsItsLogin(t *testing.T) {
	t.Parallel()
	r := newReal(t, chrome.Limits{Actions: 1})
	r.visit("a stranger")
	former := r.profiles()
	r.until("the removal of its profile", func() bool { _, err := os.Stat(former[0]); return os.IsNotExist(err) })
	res := r.visit("kim")
	if res.Restored == nil || res.Restored.Reason != "recycled" || res.Generation < 2 {
		t.Errorf("generation %d, restored %+v", res.Generation, res.Restored)
	}
}
