package chrome

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// stateSite sets cookies of several lives, and has a page that looks at its
// storage before anything else, as an application's first script does.
func stateSite(sent *atomic.Value) http.Handler {
	mux := http.NewServeMux()
	page := func(body string, cookies ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			sent.Store(r.Header.Get("Cookie"))
			for _, c := range cookies {
				w.Header().Add("Set-Cookie", c)
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<!doctype html>" + body))
		}
	}
	mux.HandleFunc("/login", page("<h1>In</h1>", "s=sess; Path=/", "p=pers; Path=/; Max-Age=9000",
		"h=only; Path=/; HttpOnly", "short=1; Path=/; Max-Age=600", "gone=1; Path=/"))
	mux.HandleFunc("/logout-one", page("<h1>One less</h1>", "gone=; Path=/; Max-Age=0"))
	mux.HandleFunc("/cookies", page("<p id=c></p><script>c.textContent='seen ['+document.cookie+']'</script>"))
	mux.HandleFunc("/app", page(`<title>App</title><script>
		if (location.search === "?login") localStorage.token = "x";
		if (!localStorage.token) location.replace("/signed-out");</script><h1>Inbox</h1>`))
	mux.HandleFunc("/signed-out", page("<h1>Signed out</h1>"))
	return mux
}

func TestCookiesAndStorageAreBackBeforeTheFirstScript(t *testing.T) {
	t.Parallel()
	var sent atomic.Value
	ctx, b := context60(t), newBench(t, stateSite(&sent))
	first, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	for _, path := range []string{"/login", "/logout-one", "/app?login"} {
		b.ok(b.do(ctx, first, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + path}))
	}
	state, err := first.Capture(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// One cookie's life ends between the checkpoint and the restore.
	i := slices.IndexFunc(state.Cookies, func(c checkpoints.Cookie) bool { return c.Name == "short" })
	if i < 0 {
		t.Fatalf("cookies: %+v", state.Cookies)
	}
	state.Cookies[i].Expires = float64(time.Now().Add(-time.Minute).Unix())

	second, report := b.open(ctx, &checkpoints.Loaded{State: state}, 2)
	out := b.ok(b.do(ctx, second, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/cookies"}))
	header := sent.Load().(string)
	for _, want := range []string{"s=sess", "p=pers", "h=only"} {
		if !strings.Contains(header, want) {
			t.Errorf("the request carries %q, not %s", header, want)
		}
	}
	for _, dead := range []string{"short=", "gone="} {
		if strings.Contains(header, dead) {
			t.Errorf("the request carries a dead cookie: %q", header)
		}
	}
	if text := out.Observation.Text; strings.Contains(text, "h=") || !strings.Contains(text, "s=sess") {
		t.Errorf("the page sees %q", text)
	}
	if len(report.Lost) != 1 || !strings.Contains(report.Lost[0].Reason, "expired") {
		t.Errorf("the report names %+v", report.Lost)
	}
	if i := slices.IndexFunc(state.Cookies, func(c checkpoints.Cookie) bool { return c.Name == "s" }); !state.Cookies[i].Session {
		t.Error("the session cookie is kept as one with an end")
	}
	out = b.ok(b.do(ctx, second, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/app"}))
	if !strings.HasSuffix(out.Observation.URL, "/app") || !strings.Contains(out.Observation.Text, "Inbox") {
		t.Errorf("%s: %q", out.Observation.URL, out.Observation.Text)
	}
}
