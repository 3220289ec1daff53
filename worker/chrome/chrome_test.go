package chrome

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
	"github.com/browserfleet/browserfleet/worker/credentials"
	"github.com/browserfleet/browserfleet/worker/environment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = protocol.OwnerKey{Tenant: "a", Owner: "one"}

const secret = "correct-horse-battery"

// bench is a launcher with a site that its policy allows.
type bench struct {
	t        *testing.T
	site     *httptest.Server
	launcher *Launcher
	scratch  string
}

// elsewhere is another site with the bench's pages.
func (b *bench) elsewhere() string {
	return strings.Replace(b.site.URL, "127.0.0.1", "alt.localhost", 1)
}

func newBench(t *testing.T, handler http.Handler) *bench {
	t.Helper()
	site := httptest.NewServer(handler)
	t.Cleanup(site.Close)
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := egressproxy.Compile(egressproxy.Policy{
		Mode: egressproxy.ModeAllowlist,
		AllowHosts: []string{
			strings.TrimPrefix(site.URL, "http://"), strings.TrimPrefix((&bench{site: site}).elsewhere(), "http://"),
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := credentials.New([]credentials.Credential{
		{Name: "shop", Tenant: "a", Origins: []string{site.URL}, Value: secret, PreApproved: true},
		{Name: "pay", Tenant: "a", Origins: []string{(&bench{site: site}).elsewhere()}, Value: secret, PreApproved: true},
		{Name: "else", Tenant: "a", Origins: []string{"https://else.example"}, Value: secret, PreApproved: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(scratch, "*", "*"))
		if err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
	return &bench{t: t, site: site, scratch: scratch, launcher: NewLauncher(Config{
		Chromium: chromium.Options{Binary: binary, Scratch: scratch, AllowNoSandbox: true},
		Policy:   policy, Credentials: secrets, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		// A browser is not taken for wedged because the tests' machine is busy.
		Heartbeat: supervisor.Heartbeat{Deadline: 10 * time.Second},
	})}
}

func (b *bench) open(ctx context.Context, loaded *checkpoints.Loaded, g protocol.Generation) (*Browser, *checkpoints.FidelityReport) {
	b.t.Helper()
	browser, report, err := b.launcher.Open(ctx, environment.Spec{Key: key, Generation: g, Loaded: loaded})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := browser.Close(ctx); err != nil {
			b.t.Error(err)
		}
	})
	return browser.(*Browser), report
}

// do runs a kind; dispatched counts how often it passed the gate.
func (b *bench) do(ctx context.Context, browser *Browser, kind protocol.Kind, args protocol.Args) *environment.Outcome {
	b.t.Helper()
	info, ok := kind.Lookup()
	if !ok {
		b.t.Fatalf("kind %s", kind)
	}
	return browser.Run(ctx, &protocol.Action{Request: protocol.Request{V: 1, Kind: kind}, Info: info, Args: args}, func() error { return nil })
}

func (b *bench) ok(out *environment.Outcome) *environment.Outcome {
	b.t.Helper()
	if out.Err != nil {
		b.t.Fatalf("%v (%s)", out.Err, out.Err.Dispatched)
	}
	return out
}

// ref finds an element by role and name.
func ref(t *testing.T, o *protocol.Observation, role, name string) protocol.Target {
	t.Helper()
	for _, e := range o.Elements {
		if e.Role == role && e.Name == name {
			return protocol.Target{ElementRef: e.Ref, ObservationID: o.ID}
		}
	}
	t.Fatalf("no %s %q in %+v", role, name, o.Elements)
	return protocol.Target{}
}

func context60(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func shop() http.Handler {
	mux := http.NewServeMux()
	page := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, "<!doctype html><title>Shop</title>%s", body)
		}
	}
	mux.HandleFunc("GET /{$}", page(`<form action=/login method=post>
		<label>Password <input type=password name=p></label><label>Note <input name=n></label><button>Sign in</button></form>
		<img src="http://blocked.example/x.png">`))
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1", HttpOnly: true, Path: "/"})
		page(`<script>localStorage.setItem("user","kim")</script><h1>Hello</h1><p>You typed `+r.FormValue("p")+`</p>`)(w, r)
	})
	mux.HandleFunc("GET /account", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("session")
		if err != nil {
			page("<h1>Signed out</h1>")(w, r)
			return
		}
		page(`<h1>Account `+c.Value+`</h1><p id=u></p><script>u.textContent="user "+localStorage.getItem("user")</script>`)(w, r)
	})
	return mux
}

func TestALoginSurvivesTheBrowser(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, shop())
	first, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	out := b.ok(b.do(ctx, first, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	if len(out.Transition.Denied) != 1 || out.Transition.Denied[0].Host != "blocked.example" {
		t.Errorf("denied requests in the evidence: %+v", out.Transition.Denied)
	}
	at := ref(t, out.Observation, "textbox", "Password")
	refused := b.do(ctx, first, protocol.KindFill, &protocol.FillArgs{Target: at, Value: "x"})
	if refused.Err == nil || refused.Err.Code != protocol.CodePasswordForbidden {
		t.Fatalf("fill of a password: %v", refused.Err)
	}
	denied := b.do(ctx, first, protocol.KindFillCredential, &protocol.FillCredentialArgs{Target: at, CredentialRef: "else"})
	if denied.Err == nil || denied.Err.Code != protocol.CodeCredentialDenied || denied.Err.Dispatched != protocol.DispatchedNo {
		t.Fatalf("a credential of another site: %v", denied.Err)
	}
	b.ok(b.do(ctx, first, protocol.KindFillCredential, &protocol.FillCredentialArgs{Target: at, CredentialRef: "shop"}))
	out = b.ok(b.do(ctx, first, protocol.KindClick, &protocol.ClickArgs{Target: ref(t, out.Observation, "button", "Sign in")}))
	if out.Verdict != protocol.VerdictNavigated || strings.Contains(out.Observation.Text, secret) || !strings.Contains(out.Observation.Text, "You typed [redacted]") {
		t.Fatalf("%s: %q", out.Verdict, out.Observation.Text)
	}
	state, err := first.Capture(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, report := b.open(ctx, &checkpoints.Loaded{State: state}, 2)
	out = b.ok(b.do(ctx, second, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/account"}))
	if !strings.Contains(out.Observation.Text, "Account s1") || !strings.Contains(out.Observation.Text, "user kim") {
		t.Fatalf("restored page: %q, report %+v", out.Observation.Text, report)
	}
	back := b.do(ctx, second, protocol.KindBack, &protocol.NoArgs{})
	if back.Err != nil && back.Err.Code != protocol.CodeNoHistory {
		t.Fatalf("back after a restore: %v", back.Err)
	}
}

func TestNavigationsThatPolicyRefuses(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, shop())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	for _, tc := range []struct {
		url  string
		code protocol.Code
	}{
		{"file:///etc/passwd", protocol.CodeInvalidURL},
		{"javascript:alert(1)", protocol.CodeInvalidURL},
		{"chrome://version", protocol.CodeInvalidURL},
		{"http://user:pw@shop.example/", protocol.CodeInvalidURL},
		{"no url", protocol.CodeInvalidURL},
		{"http://127.0.0.1:1/", protocol.CodePolicyDenied},
		{"http://0x7f000001:1/", protocol.CodePolicyDenied},
		{"http://169.254.169.254/latest/meta-data", protocol.CodePolicyDenied},
	} {
		out := b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: tc.url})
		if out.Err == nil || out.Err.Code != tc.code || out.Err.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s: %v", tc.url, out.Err)
		}
	}
}

func TestABrowserThatIsKilledIsLost(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, shop())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	process, err := os.FindProcess(browser.supervised.Process().PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-browser.Lost():
	case <-ctx.Done():
		t.Fatal("the loss was not noticed")
	}
	out := b.do(ctx, browser, protocol.KindObserve, &protocol.ObserveArgs{})
	if out.Err == nil {
		t.Fatal("a dead browser was observed")
	}
}

func TestAMissingChromiumIsNamed(t *testing.T) {
	t.Parallel()
	_, err := chromium.Find("/nonexistent/chromium")
	var missing *chromium.MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
	failed := startError(err)
	var known *protocol.Error
	if !errors.As(failed, &known) || known.Code != protocol.CodeEnvironmentUnstarted || !strings.Contains(known.Message, "/nonexistent/chromium") {
		t.Fatalf("got %v", failed)
	}
}

func TestAWarmBrowserIsTakenAndTheRestAreClosed(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, shop())
	b.launcher.cfg.Warm = 1
	pool, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { b.launcher.RunPool(pool) })
	w := <-b.launcher.pool // the pool has one
	b.launcher.discard(w)
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 3)
	out := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	if out.Observation.Generation != 3 || out.Observation.Title != "Shop" {
		t.Fatalf("%+v", out.Observation)
	}
	stop()
	done.Wait()
}
