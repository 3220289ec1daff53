package fleettest

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker/chrome"
	"github.com/browserfleet/browserfleet/worker/credentials"
)

// visited is a page that shows whether its visitor's cookie and localStorage came
// back, and leaves both.
const visited = `<!doctype html><title>Site</title><p>Cookie: %s.</p><p>Storage: <b id=s></b>.</p>
<script>document.getElementById('s').textContent = localStorage.getItem('who') || 'nobody'; localStorage.setItem('who', 'kim')</script>`

// realFleet is a fleet whose workers run Chromium, and the site that it visits.
type realFleet struct {
	*Fleet
	site    *httptest.Server
	objects *objectstore.Memory
	scratch string
}

func startReal(t *testing.T, idle time.Duration) *realFleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "bf") // short: Chromium's sockets are below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &realFleet{scratch: dir, objects: objectstore.NewMemory(), site: httptest.NewServer(http.HandlerFunc(visit))}
	t.Cleanup(r.site.Close)
	t.Cleanup(func() { r.untilNoBrowser(t) }) // after the workers' end
	r.Fleet = Start(t, Options{Workers: 1, Slots: 2, Objects: r.objects, IdleTimeout: idle, Launcher: r.launcher(t)})
	return r
}

func visit(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/ask" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><p id=p>Asked nothing.</p><button onclick="p.textContent='It said '+confirm('Sure?')">Ask</button>`)
		return
	}
	who := "nobody"
	if c, err := req.Cookie("who"); err == nil {
		who = c.Value
	}
	http.SetCookie(w, &http.Cookie{Name: "who", Value: "kim", Path: "/"})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, visited, who)
}

func (r *realFleet) launcher(t *testing.T) *chrome.Launcher {
	t.Helper()
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egressproxy.Compile(egressproxy.Policy{
		Mode: egressproxy.ModeAllowlist, AllowHosts: []string{strings.TrimPrefix(r.site.URL, "http://")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := credentials.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return chrome.NewLauncher(chrome.Config{
		Chromium: chromium.Options{Binary: binary, Scratch: r.scratch, AllowNoSandbox: true},
		Policy:   policy, Credentials: secrets, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		// A browser is not taken for wedged because the tests' machine is busy.
		Heartbeat: supervisor.Heartbeat{Deadline: 10 * time.Second},
	})
}

// visits opens the site, which must know the visitor so. On a busy machine the
// browser may take too long to start, which is said and harms nothing; until the
// launcher tries again, it says the same at once.
func (r *realFleet) visits(t *testing.T, a *Agent, who string) *protocol.Result {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for deadline := time.Now().Add(wait); ; {
		res := a.Do(protocol.KindOpen, open(r.site.URL+"/"))
		if res.Error != nil && res.Error.Code == protocol.CodeEnvironmentUnstarted && time.Now().Before(deadline) {
			t.Logf("once more: %v", res.Error)
			<-tick.C
			continue
		}
		expect(t, res, protocol.StatusOK, "")
		for _, want := range []string{"Cookie: " + who + ".", "Storage: " + who + "."} {
			if !strings.Contains(res.Observation.Text, want) {
				t.Fatalf("%q is not in %q", want, res.Observation.Text)
			}
		}
		return res
	}
}

// untilNoBrowser waits until no profile is left, nor a process that names one.
func (r *realFleet) untilNoBrowser(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(wait); ; {
		left := r.left(t)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("left of a browser: %q", left)
		}
	}
}

func (r *realFleet) left(t *testing.T) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(r.scratch, "profiles", "*"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && bytes.Contains(text, []byte(r.scratch+"/")) {
			left = append(left, line)
		}
	}
	return left
}

func TestAHibernatedChromiumLeavesNothingAndWakesSignedInOnAnotherWorker(t *testing.T) {
	t.Parallel()
	r := startReal(t, time.Second)
	a := r.Agent(t, "a", "one")
	r.visits(t, a, "nobody")
	first := r.Workers[0].ID
	r.Until(t, a.Key, "hibernated", state(protocol.RecordHibernated))
	r.untilNoBrowser(t)
	r.StartWorker(t)
	r.Workers[0].CutOff()
	res := r.visits(t, a, "kim")
	if res.Worker == first || res.Generation < 2 || res.Restored == nil || res.Restored.From == "clean" {
		t.Errorf("%s, generation %d, restored %+v", res.Worker, res.Generation, res.Restored)
	}
}

// TestTheDialogPolicyOfAnAcquireHolds: who answers a page is what the agent asked for.
func TestTheDialogPolicyOfAnAcquireHolds(t *testing.T) {
	t.Parallel()
	r := startReal(t, 0)
	for policy, says := range map[protocol.DialogPolicy]string{
		protocol.DialogMustRespond: "", protocol.DialogAutoDismiss: "It said false", protocol.DialogAutoAccept: "It said true",
	} {
		a := r.Agent(t, "a", protocol.Owner(policy))
		if reply := a.Acquire(protocol.AcquireQuery{DialogPolicy: policy}); reply.Error != nil {
			t.Fatalf("%s: %v", policy, reply.Error)
		}
		opened := a.Do(protocol.KindOpen, open(r.site.URL+"/ask"))
		expect(t, opened, protocol.StatusOK, "")
		res := a.Do(protocol.KindClick, click(opened.Observation.Elements[0].Ref))
		expect(t, res, protocol.StatusOK, "")
		if says == "" {
			if res.Verdict != protocol.VerdictDialogOpened || len(res.Observation.PendingDialogs) != 1 {
				t.Errorf("%s: %s, %+v", policy, res.Verdict, res.Observation.PendingDialogs)
			}
		} else if !strings.Contains(res.Observation.Text, says) || len(res.Observation.PendingDialogs) > 0 ||
			len(res.Transition.DialogsClosed) != 1 || res.Transition.DialogsClosed[0].ClosedBy != "auto_policy" {
			t.Errorf("%s: %q, %+v", policy, res.Observation.Text, res.Transition)
		}
		if err := a.Life(protocol.ServiceDelete, nil); err != nil { // there are two slots
			t.Fatal(err)
		}
	}
}

func TestADeletedChromiumLeavesNothing(t *testing.T) {
	t.Parallel()
	r := startReal(t, 0)
	a := r.Agent(t, "a", "one")
	r.visits(t, a, "nobody")
	if len(r.left(t)) == 0 {
		t.Fatal("no browser runs")
	}
	if err := a.Life(protocol.ServiceDelete, nil); err != nil {
		t.Fatal(err)
	}
	r.untilNoBrowser(t)
	if kept, err := r.objects.List(t.Context(), "", ""); err != nil || len(kept) > 0 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	expect(t, a.Do(protocol.KindOpen, open(r.site.URL+"/")), protocol.StatusError, protocol.CodeEnvironmentDeleted)
}

func TestAChromiumUnderAPersonsControlRunsOnAndDoesNothingForItsAgent(t *testing.T) {
	t.Parallel()
	r := startReal(t, 0)
	a := r.Agent(t, "a", "one")
	before := r.visits(t, a, "nobody")
	query := protocol.ControlQuery{V: protocol.Version, Key: a.Key, Op: protocol.ControlTake, Holder: "anna", TTLMS: time.Hour.Milliseconds()}
	if err := r.operate(t, protocol.OpsControl, query); err != nil {
		t.Fatal(err)
	}
	held := a.Send(protocol.KindOpen, open(r.site.URL+"/"))
	expect(t, a.Do(protocol.KindPing, nil), protocol.StatusOK, "")
	if n := len(r.Dispatched(t, held)); n != 0 || len(r.left(t)) == 0 {
		t.Fatalf("dispatched %d times while a person has control; browsers: %q", n, r.left(t))
	}
	query.Op = protocol.ControlGive
	if err := r.operate(t, protocol.OpsControl, query); err != nil {
		t.Fatal(err)
	}
	res := a.Await(held)
	expect(t, res, protocol.StatusOK, "")
	if !strings.Contains(res.Observation.Text, "Storage: kim.") || res.Restored == nil && res.Generation != before.Generation {
		t.Errorf("generation %d: %q", res.Generation, res.Observation.Text)
	}
}
