package egressproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	"github.com/browserfleet/browserfleet/supervisor/chromium"
)

// startup bounds everything a real browser is waited for.
const startup = 60 * time.Second

type params map[string]any

// browser is a real Chromium with one page in a context behind a proxy.
type browser struct {
	*testing.T
	ctx  context.Context
	page *cdp.Session
}

func startBrowser(t *testing.T, ctx context.Context, proxy *Proxy) *browser {
	t.Helper()
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		t.Fatal(err)
	}
	process, err := chromium.Launch(ctx, chromium.Options{Binary: binary, Scratch: t.TempDir(), AllowNoSandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closing, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = process.Close(closing)
	})
	conn := cdp.Start(process.Carrier(), nil, cdp.Options{CallTimeout: startup})
	t.Cleanup(func() { _ = conn.Close() })
	b := &browser{T: t, ctx: ctx, page: conn.Session("")}
	var made struct {
		BrowserContextID string `json:"browserContextId"`
		TargetID         string `json:"targetId"`
		SessionID        string `json:"sessionId"`
	}
	b.call("Target.createBrowserContext", params{"proxyServer": "http://" + proxy.Addr(), "proxyBypassList": "<-loopback>"}, &made)
	b.call("Target.createTarget", params{"url": "about:blank", "browserContextId": made.BrowserContextID}, &made)
	b.call("Target.attachToTarget", params{"targetId": made.TargetID, "flatten": true}, &made)
	b.page = conn.Session(cdp.SessionID(made.SessionID))
	return b
}

func (b *browser) call(method string, p params, result any) {
	b.Helper()
	if err := b.page.Call(b.ctx, method, p, result); err != nil {
		b.Fatalf("%s: %v", method, err)
	}
}

// prime loads PrimeURL with the credentials; Chromium keeps them for the context.
func (b *browser) prime(proxy *Proxy) {
	b.Helper()
	paused, stopPaused := b.page.Subscribe("Fetch.requestPaused")
	asked, stopAsked := b.page.Subscribe("Fetch.authRequired")
	b.call("Fetch.enable", params{"handleAuthRequests": true}, nil)
	user, password := proxy.Credentials()
	answer := params{"response": "ProvideCredentials", "username": user, "password": password}
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			select {
			case event, ok := <-paused:
				if !ok {
					return
				}
				_, _ = b.page.Send("Fetch.continueRequest", params{"requestId": requestID(event)})
			case event, ok := <-asked:
				if !ok {
					return
				}
				_, _ = b.page.Send("Fetch.continueWithAuth", params{"requestId": requestID(event), "authChallengeResponse": answer})
			}
		}
	})
	b.open(PrimeURL)
	b.call("Fetch.disable", nil, nil)
	stopPaused()
	stopAsked()
	answering.Wait()
}

func requestID(event []byte) string {
	var e struct {
		RequestID string `json:"requestId"`
	}
	_ = json.Unmarshal(event, &e)
	return e.RequestID
}

func (b *browser) open(url string) {
	b.Helper()
	loaded, stop := b.page.Subscribe("Page.loadEventFired")
	defer stop()
	b.call("Page.enable", nil, nil)
	var result struct {
		ErrorText string `json:"errorText"`
	}
	b.call("Page.navigate", params{"url": url}, &result)
	if result.ErrorText != "" {
		b.Fatalf("open %s: %s", url, result.ErrorText)
	}
	select {
	case <-loaded:
	case <-b.ctx.Done():
		b.Fatal("no load event")
	}
}

// run evaluates a promise of a JSON value.
func (b *browser) run(script string, value any) {
	b.Helper()
	var result struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
	}
	script = "(async () => JSON.stringify(await (" + script + ")()))()"
	b.call("Runtime.evaluate", params{"expression": script, "awaitPromise": true, "returnByValue": true}, &result)
	if err := json.Unmarshal([]byte(result.Result.Value), value); err != nil {
		b.Fatalf("result %q: %v", result.Result.Value, err)
	}
}

// trap counts connections; none may come.
func trap(t *testing.T, network, address string) (port int, count *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	count = new(atomic.Int64)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
	})
	return listener.Addr().(*net.TCPAddr).Port, count
}

const attempts = `async () => {
	const seen = {};
	const socket = url => new Promise(done => {
		const s = new WebSocket(url);
		s.onopen = () => s.send("echo me");
		s.onmessage = e => { done(e.data); s.close(); };
		s.onerror = () => done("failed");
	});
	seen.echo = await socket("ws://" + location.host + "/ws");
	for (const host of HOSTS) {
		const url = "//" + host + ":PORT/";
		seen["fetch " + host] = await fetch("http:" + url, {mode: "no-cors"}).then(r => r.type, () => "failed");
		seen["tls " + host] = await fetch("https:" + url, {mode: "no-cors"}).then(r => r.type, () => "failed");
		seen["ws " + host] = await socket("ws:" + url);
		navigator.sendBeacon("http:" + url + "beacon");
		await new Promise(done => { const i = new Image(); i.onload = i.onerror = done; i.src = "http:" + url + "i.png"; });
	}
	seen.self = await socket("ws://SELF/");
	seen.redirect = await fetch("/away", {mode: "no-cors"}).then(r => r.type, () => "failed");
	return seen;
}`

// Case 206 and the browser's half of authentication, WebSocket and redirects:
// every connection of a page arrives at the proxy, loopback ones too, and none
// reaches a denied address.
func TestChromiumReachesOnlyWhatThePolicyAllows(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), startup)
	defer cancel()
	port, reached := trap(t, "tcp4", "127.0.0.1:0")
	site := http.NewServeMux()
	site.Handle("/ws", websocket.Handler(func(c *websocket.Conn) { _, _ = io.Copy(c, c) }))
	site.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, fmt.Sprintf("http://127.0.0.1:%d/redirected", port), http.StatusFound)
	})
	site.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<title>shop</title>") })
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	sitePort := netip.MustParseAddrPort(server.Listener.Addr().String()).Port()

	f := &fixture{T: t}
	policy := Policy{Mode: ModeAllowlist, AllowHosts: []string{fmt.Sprintf("shop.localhost:%d", sitePort)}, Ports: []uint16{uint16(port)}}
	proxy := f.listen(Options{Policy: mustCompile(t, policy)})
	b := startBrowser(t, ctx, proxy)
	b.prime(proxy)
	b.open(fmt.Sprintf("http://shop.localhost:%d/", sitePort))

	hosts := []string{"127.0.0.1", "localhost", "[::1]", "0x7f.1", "0.0.0.0", "[::ffff:127.0.0.1]"}
	quoted, err := json.Marshal(hosts)
	if err != nil {
		t.Fatal(err)
	}
	var seen map[string]string
	b.run(strings.NewReplacer("HOSTS", string(quoted), "PORT", fmt.Sprint(port), "SELF", proxy.Addr()).Replace(attempts), &seen)
	if seen["echo"] != "echo me" {
		t.Errorf("WebSocket to the admitted site: %q", seen["echo"])
	}
	for name, result := range seen {
		if strings.HasPrefix(name, "ws ") && result != "failed" || name == "self" && result != "failed" {
			t.Errorf("%s: %q", name, result)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections reached the denied server", n)
	}
	report := proxy.Denials(0)
	for host, reason := range map[string]Reason{"127.0.0.1": ReasonLoopback, "localhost": ReasonLoopback, "[::1]": ReasonLoopback, "0.0.0.0": ReasonUnspecified, "[::ffff:7f00:1]": ReasonLoopback} {
		if !slices.ContainsFunc(report.Denials, func(d Denial) bool { return d.Host == host && d.Port == uint16(port) && d.Reason == reason }) {
			t.Errorf("no denial of %s for %s in %+v", host, reason, report.Denials)
		}
	}
	if !slices.ContainsFunc(report.Denials, func(d Denial) bool { return d.Reason == ReasonSelf }) {
		t.Errorf("the proxy's own port is missing in %+v", report.Denials)
	}
}
