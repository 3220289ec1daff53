package chrome

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// TestACredentialGoesIntoFramesOfItsOwnSite: the site that counts is the frame's,
// not the page's, and what comes back out of a frame is masked.
func TestACredentialGoesIntoFramesOfItsOwnSite(t *testing.T) {
	t.Parallel()
	ctx := context60(t)
	const field = `<input type=password aria-label=%s oninput="document.querySelector('p').textContent='typed '+value"><p></p>`
	quoted := strings.ReplaceAll(fmt.Sprintf(field, "Boxed"), `"`, "&quot;")
	var b *bench
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if q.URL.Path == "/frame" {
			_, _ = fmt.Fprintf(w, field, "Framed")
			return
		}
		_, _ = fmt.Fprintf(w, field+`<iframe src="%s/frame"></iframe><iframe sandbox="allow-scripts" srcdoc="%s"></iframe>`, "Top", b.elsewhere(), quoted)
	})
	b = newBench(t, mux)
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	var seen *protocol.Observation
	for seen == nil || len(seen.Elements) < 3 {
		seen = b.ok(b.do(ctx, browser, protocol.KindObserve, &protocol.ObserveArgs{})).Observation
	}
	for _, f := range seen.FrameTree.Children {
		t.Logf("%+v", f)
	}
	fill := func(name, field string) *protocol.Error {
		return b.do(ctx, browser, protocol.KindFillCredential, &protocol.FillCredentialArgs{
			Target: ref(t, seen, "textbox", field), CredentialRef: name,
		}).Err
	}
	for field, names := range map[string][]string{"Top": {"pay"}, "Framed": {"shop"}, "Boxed": {"pay", "shop"}} {
		for _, name := range names {
			if err := fill(name, field); err == nil || err.Code != protocol.CodeCredentialDenied || err.Dispatched != protocol.DispatchedNo {
				t.Errorf("%s into %s: %v", name, field, err)
			}
		}
	}
	for field, name := range map[string]string{"Top": "shop", "Framed": "pay"} {
		if err := fill(name, field); err != nil {
			t.Errorf("%s into %s: %v", name, field, err)
		}
	}
	seen = b.ok(b.do(ctx, browser, protocol.KindObserve, &protocol.ObserveArgs{})).Observation
	if n := strings.Count(seen.Text, "typed [redacted]"); n != 2 || strings.Contains(seen.Text, secret) {
		t.Errorf("the text is %q", seen.Text)
	}
}
