package capture

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/checkpoints"
)

// loginSite logs in on /login; every other page tells, by its very first script
// and by its server, whether the visitor is logged in.
func loginSite(t *testing.T) (url string, hits *atomic.Int32) {
	t.Helper()
	hits = &atomic.Int32{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "s3cret", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.SetCookie(w, &http.Cookie{Name: "kept", Value: "1", Path: "/", Expires: time.Now().Add(time.Hour)})
			_, _ = fmt.Fprint(w, `<script>
				localStorage.setItem("token", "jwt");
				localStorage.setItem("binary", "\ud800\u0000\udc00x");
				localStorage.setItem("日本", "😀");
				for (let i = 0; i < 50; i++) localStorage.setItem("big" + i, "é".repeat(20000));
			</script>`)
			return
		}
		sid, _ := r.Cookie("sid")
		_, _ = fmt.Fprintf(w, `<title>x</title><script>document.title = [localStorage.token,
			localStorage.binary === "\ud800\u0000\udc00x", localStorage.length].join()</script>%v`, sid)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, hits
}

func TestALoginMovesFromOneRealBrowserToAnother(t *testing.T) {
	t.Parallel()
	site, hits := loginSite(t)
	first := startChromium(t)
	first.open(site + "/login")
	// A partitioned cookie and one of another site come along.
	extra := []checkpoints.Cookie{
		{
			Name: "chips", Value: "v", Domain: "cdn.example", Path: "/", Secure: true, Session: true, Expires: -1, SameSite: "None",
			SourceScheme: "Secure", SourcePort: 443, Priority: "High",
			Partition: &checkpoints.PartitionKey{TopLevelSite: "https://shop.example", HasCrossSiteAncestor: true},
		},
	}
	if err := first.SetCookies(t.Context(), extra); err != nil {
		t.Fatal(err)
	}
	taken, err := Capture(t.Context(), first, checkpoints.State{})
	if err != nil || !taken.How.Consistent {
		t.Fatalf("%+v, %v", taken.How, err)
	}
	if len(taken.State.Cookies) != 3 || len(taken.State.LocalStorage) != 1 || len(taken.State.LocalStorage[0].Items) != 53 {
		t.Fatalf("captured %d cookies, %d areas", len(taken.State.Cookies), len(taken.State.LocalStorage))
	}

	second := startChromium(t)
	before := hits.Load()
	report, err := Restore(t.Context(), second, loaded(taken.State), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"cookies": 3, "local_storage_origins": 1, "local_storage_items": 53}
	if diff := cmp.Diff(want, report.Survived); diff != "" || len(report.Lost) != 0 {
		t.Errorf("%s lost %v", diff, report.Lost)
	}
	if n := hits.Load() - before; n != 0 {
		t.Errorf("the restore made %d requests to the site", n)
	}

	second.open(site + "/account")
	eval, err := second.eval(second.page, second.frame)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := eval(t.Context(), `() => document.title + " " + document.body.textContent`, "")
	if err != nil || !strings.Contains(seen, "jwt,true,53") || !strings.Contains(seen, "sid=s3cret") {
		t.Errorf("the page saw %q, %v", seen, err)
	}
	again, err := Capture(t.Context(), second, checkpoints.State{})
	if err != nil {
		t.Fatal(err)
	}
	if again.State.DataDigest() != taken.State.DataDigest() {
		t.Errorf("captured again: %s", cmp.Diff(taken.State.Cookies, again.State.Cookies))
	}
}

func TestAReadMeantForAnotherOriginTakesNothing(t *testing.T) {
	t.Parallel()
	site, _ := loginSite(t)
	c := startChromium(t)
	c.open(site + "/login")
	eval, err := c.eval(c.page, c.frame)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dump(t.Context(), eval, "https://bank.example"); err != errMoved || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	written, reason, err := load(t.Context(), eval, "https://bank.example", items("k", "v"))
	if err != nil || written != 0 || reason == "" {
		t.Errorf("%d written, %q, %v", written, reason, err)
	}
}
