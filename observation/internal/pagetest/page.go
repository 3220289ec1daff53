package pagetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/tab"
	"github.com/browserfleet/browserfleet/supervisor"
)

// Page is a tab of a lent browser.
type Page struct {
	*tab.Tab
	Supervised *supervisor.Supervisor
}

// Open lends a page whose dialogs are dismissed, for the length of a test.
func Open(t testing.TB) *Page {
	t.Helper()
	s := browsers.take()
	if s == nil {
		s = browsers.start(t, supervisor.PolicyDismiss, direct)
	}
	p := &Page{Tab: tab.New("t1", s.Page()), Supervised: s}
	t.Cleanup(func() {
		p.Close()
		browsers.give(t, s)
	})
	return p
}

// OpenAsking opens a page whose dialogs wait for an answer, in a browser of its own.
func OpenAsking(t testing.TB) *Page {
	t.Helper()
	s := browsers.start(t, supervisor.PolicyAsk, direct)
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

// Load shows HTML from a server of its own and waits for its load event.
func (p *Page) Load(ctx context.Context, t testing.TB, html string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html>" + html))
	}))
	t.Cleanup(server.Close)
	p.Navigate(ctx, t, server.URL+"/")
}

// Navigate goes to a URL and waits for its load event.
func (p *Page) Navigate(ctx context.Context, t testing.TB, url string) {
	t.Helper()
	before := p.State().Commits
	if err := p.Supervised.Page().Call(ctx, "Page.navigate", object{"url": url}, nil); err != nil {
		t.Fatalf("navigate: %v", err)
	}
	ready := func(s observation.State) bool { return s.Commits > before && s.Loaded && s.World.Unique != "" }
	if _, err := observation.Until(ctx, p, ready); err != nil {
		t.Fatalf("navigate to %s: %v", url, err)
	}
}

// Eval evaluates an expression in the page's own world.
func (p *Page) Eval(ctx context.Context, t testing.TB, expression string) any {
	t.Helper()
	var r struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		ExceptionDetails any `json:"exceptionDetails"`
	}
	params := object{"expression": expression, "returnByValue": true, "awaitPromise": true}
	err := p.Supervised.Page().Call(ctx, "Runtime.evaluate", params, &r)
	if err != nil || r.ExceptionDetails != nil {
		t.Fatalf("evaluate %s: %v %v", expression, err, r.ExceptionDetails)
	}
	return r.Result.Value
}
