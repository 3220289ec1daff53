package supervisor

import (
	"testing"

	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/google/go-cmp/cmp"
)

func TestPageLoadsThroughTheProxyAndHasItsWorld(t *testing.T) {
	t.Parallel()
	r := startRig(t, pages{"/": "<title>home</title><h1>hi</h1>", "/b": "<title>b</title>"})
	if s := r.Page().Snapshot(); s.URL != "about:blank" || s.Commits != 0 {
		t.Fatalf("fresh page: %+v", s)
	}
	for _, url := range []string{"http://a.test/", "http://a.test/b", "http://b.test/", r.site.URL + "/b"} {
		s := r.open(t, url)
		world, err := r.Page().World(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if world.LoaderID != s.LoaderID || world.FrameID != s.FrameID {
			t.Errorf("%s: world %+v is not of document %+v", url, world, s)
		}
		got := evalIn(t, world.Session, runtime.EvaluateParams{Expression: "installed", UniqueContextID: world.UniqueID})
		if got != "yes" {
			t.Errorf("%s: world has installed = %q", url, got)
		}
		if got := r.eval(t, "typeof installed"); got != "undefined" {
			t.Errorf("%s: the page sees the world's script: %s", url, got)
		}
	}
	if n := r.proxy.challenged.Load(); n != 1 {
		t.Errorf("the proxy asked %d times for the credential, want once", n)
	}
	if n := r.proxy.requests("127.0.0.1"); n == 0 {
		t.Error("a loopback URL did not go through the proxy")
	}
	history, err := protocol.Call(t.Context(), r.Page(), page.GetNavigationHistory, protocol.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, entry := range history.Entries {
		urls = append(urls, entry.URL)
	}
	want := []string{"about:blank", "http://a.test/", "http://a.test/b", "http://b.test/", r.site.URL + "/b"}
	if diff := cmp.Diff(want, urls); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
