package supervisor

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// benchConfig is a browser behind a proxy that answers everything itself.
func benchConfig(b *testing.B) Config {
	b.Helper()
	binary, err := chromium.Find(os.Getenv("BROWSERFLEET_CHROMIUM"))
	if err != nil {
		b.Fatal(err)
	}
	scratch, err := os.MkdirTemp("", "bf")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(scratch) })
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>bench</title><h1>bench</h1>")
	}))
	b.Cleanup(proxy.Close)
	return Config{
		Chromium:    chromium.Options{Binary: binary, Scratch: scratch, AllowNoSandbox: true},
		ProxyServer: proxy.URL, WorldScript: "globalThis.installed = 1",
	}
}

// BenchmarkStart is a cold start: process, context, page, everything acknowledged.
func BenchmarkStart(b *testing.B) {
	config := benchConfig(b)
	for b.Loop() {
		s, err := Start(b.Context(), config)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkEvaluateInWorld(b *testing.B) {
	s, err := Start(b.Context(), benchConfig(b))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background())
	for b.Loop() {
		w, err := s.Page().World(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		_, err = protocol.Call(b.Context(), w.Session, runtime.Evaluate,
			runtime.EvaluateParams{Expression: "installed", UniqueContextID: w.UniqueID})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNavigate(b *testing.B) {
	s, err := Start(b.Context(), benchConfig(b))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background())
	for b.Loop() {
		res, err := protocol.Call(b.Context(), s.Page(), page.Navigate, page.NavigateParams{URL: "http://a.test/"})
		if err != nil {
			b.Fatal(err)
		}
		_, err = s.Page().Await(b.Context(), func(s *Snapshot) bool {
			return s.LoaderID == res.LoaderID && s.Lifecycle.Load
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
