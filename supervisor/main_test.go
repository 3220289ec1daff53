package supervisor

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testProxy is a forward proxy for loopback sites. Every host goes to the one
// site of the test, so *.test names work without a resolver.
type testProxy struct {
	*httptest.Server
	site       string // host:port
	user       string
	challenged atomic.Int64
	mu         sync.Mutex
	seen       []string
}

func newTestProxy(t *testing.T, site *httptest.Server, user, password string) *testProxy {
	t.Helper()
	p := &testProxy{site: site.Listener.Addr().String()}
	if user != "" {
		p.user = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *testProxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Method+" "+r.Host+r.URL.Path)
	p.mu.Unlock()
	if p.user != "" && r.Header.Get("Proxy-Authorization") != p.user {
		p.challenged.Add(1)
		w.Header().Set("Proxy-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Host == "browserfleet.invalid" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Method == http.MethodConnect {
		http.Error(w, "no tunnels here", http.StatusForbidden)
		return
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+p.site+r.URL.RequestURI(), r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out.Host = r.Host
	response, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

func (p *testProxy) requests(part string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.seen {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// rig is a supervisor in front of a site whose pages are given by path.
type rig struct {
	*Supervisor
	site    *httptest.Server
	proxy   *testProxy
	scratch string
}

type pages map[string]string

func startRig(t *testing.T, content pages, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{scratch: scratchRoot(t)}
	r.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		html, ok := content[request.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, request)
		case strings.HasSuffix(request.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, html)
		case strings.HasSuffix(request.URL.Path, ".pdf"):
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = io.WriteString(w, html)
		case strings.HasSuffix(request.URL.Path, ".bin"):
			w.Header().Set("Content-Disposition", `attachment; filename="x.bin"`)
			_, _ = io.WriteString(w, html)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<!doctype html>"+html)
		}
	}))
	t.Cleanup(func() { r.site.Close(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	config := testConfig(t, r.scratch)
	r.proxy = newTestProxy(t, r.site, "env", "secret")
	config.ProxyServer = r.proxy.URL
	config.ProxyAuth = &ProxyAuth{User: "env", Password: "secret"}
	for _, c := range change {
		c(&config)
	}
	s, err := Start(t.Context(), config)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	r.Supervisor = s
	t.Cleanup(func() {
		if n := s.Page().Snapshot().EventsMalformed; n != 0 {
			t.Errorf("%d events were not understood", n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		nothingLeft(t, r.scratch)
	})
	return r
}

func testConfig(t *testing.T, scratch string) Config {
	t.Helper()
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Chromium:    chromium.Options{Binary: binary, Scratch: scratch, AllowNoSandbox: true},
		WorldScript: "globalThis.installed = 'yes'",
		// Tests share the machine with other browsers.
		Heartbeat:    Heartbeat{Deadline: 20 * time.Second},
		StartTimeout: time.Minute,
	}
}

// nothingLeft fails if a process still names the scratch root or a profile or
// record is there.
func nothingLeft(t *testing.T, scratch string) {
	t.Helper()
	for _, folder := range []string{"profiles", "records"} {
		left, _ := filepath.Glob(filepath.Join(scratch, folder, "*"))
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		raw, err := os.ReadFile(line)
		if err == nil && bytes.Contains(raw, []byte(scratch)) {
			t.Errorf("process left behind: %s %q", line, bytes.ReplaceAll(raw, []byte{0}, []byte{' '}))
		}
	}
}

// open navigates and waits for the load event.
func (r *rig) open(t *testing.T, url string) *Snapshot {
	t.Helper()
	p := r.Page()
	res, err := protocol.Call(t.Context(), p, page.Navigate, page.NavigateParams{URL: url})
	if err != nil {
		t.Fatalf("navigate to %s: %v", url, err)
	}
	if res.ErrorText != "" {
		t.Fatalf("navigate to %s: %s", url, res.ErrorText)
	}
	return r.await(t, func(s *Snapshot) bool { return s.LoaderID == res.LoaderID && s.Lifecycle.Load })
}

func (r *rig) await(t *testing.T, cond func(*Snapshot) bool) *Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := r.Page().Await(ctx, cond)
	if err != nil {
		t.Fatalf("%v\nlast: %+v", err, r.Page().Snapshot())
	}
	return s
}

// eval runs an expression in the page's own world.
func (r *rig) eval(t *testing.T, expression string) string {
	t.Helper()
	return evalIn(t, r.Page(), runtime.EvaluateParams{Expression: expression})
}

func evalIn(t *testing.T, session protocol.Session, params runtime.EvaluateParams) string {
	t.Helper()
	yes := true
	params.ReturnByValue = &yes
	params.UserGesture = &yes
	res, err := protocol.Call(t.Context(), session, runtime.Evaluate, params)
	if err != nil {
		t.Fatalf("evaluate %s: %v", params.Expression, err)
	}
	if res.ExceptionDetails != nil {
		t.Fatalf("evaluate %s: %s", params.Expression, describe(res.ExceptionDetails.Exception))
	}
	return describe(res.Result)
}

func mustErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func newSite(t *testing.T) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	return site
}

// scratchRoot is shorter than t.TempDir: the full browser makes a socket below it.
func scratchRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "bf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}

func decodeValue(raw jsonv2.Value, v any) error {
	return jsonv2.Unmarshal(raw, v)
}
