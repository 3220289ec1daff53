package pagetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/observation/tab"
	"github.com/browserfleet/browserfleet/supervisor"
)

// OpenSites opens a page in a browser of its own, to which every host is a site
// that serves these pages by their paths; each site is another process.
func OpenSites(t testing.TB, pages map[string]string) *Page {
	t.Helper()
	sites := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		html, ok := pages[q.URL.Path]
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html>" + html))
	}))
	t.Cleanup(sites.Close)
	s := browsers.start(t, supervisor.PolicyDismiss, sites.URL)
	p := &Page{Tab: tab.New("t1", s.Page()), Supervised: s}
	t.Cleanup(func() {
		p.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
	})
	return p
}
