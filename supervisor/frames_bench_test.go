package supervisor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/supervisor/chromium"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// BenchmarkTreeOf30CrossSiteFrames compares how long the page takes to load with
// how long its tree takes to be complete, worlds included.
func BenchmarkTreeOf30CrossSiteFrames(b *testing.B) {
	config := benchConfig(b)
	var frames strings.Builder
	for i := range 30 {
		fmt.Fprintf(&frames, `<iframe src="http://f%d.test/"></iframe>`, i)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.Host == "a.test" {
			_, _ = io.WriteString(w, "<title>a</title>"+frames.String())
			return
		}
		_, _ = io.WriteString(w, "<p>f</p>")
	}))
	b.Cleanup(proxy.Close)
	config.ProxyServer, config.StartTimeout = proxy.URL, time.Minute
	config.Heartbeat.Deadline = time.Minute // thirty processes start at once
	s, err := Start(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background())
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	var load, tree time.Duration
	for b.Loop() {
		begun := time.Now()
		res, err := protocol.Call(ctx, s.Page(), page.Navigate, page.NavigateParams{URL: "http://a.test/"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Page().Await(ctx, func(s *Snapshot) bool { return s.LoaderID == res.LoaderID && s.Lifecycle.Load }); err != nil {
			b.Fatal(err)
		}
		load += time.Since(begun)
		for len(s.Page().Worlds()) < 31 {
			before := s.Page().Snapshot()
			if _, err := s.Page().Await(ctx, func(s *Snapshot) bool { return s != before }); err != nil {
				b.Fatal(err)
			}
		}
		tree += time.Since(begun)
	}
	b.ReportMetric(float64(load.Milliseconds())/float64(b.N), "load-ms")
	b.ReportMetric(float64(tree.Milliseconds())/float64(b.N), "tree-ms")
	b.ReportMetric(float64(tree)/float64(load), "tree/load")
}

// BenchmarkCrashNoticed is from the death of a renderer to the snapshot that says
// so, and from there to the page's being there again.
func BenchmarkCrashNoticed(b *testing.B) {
	s, err := Start(b.Context(), benchConfig(b))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background())
	var noticed, back time.Duration
	for b.Loop() {
		res, err := protocol.Call(b.Context(), s.Page(), page.Navigate, page.NavigateParams{URL: "http://a.test/"})
		if err == nil {
			_, err = s.Page().Await(b.Context(), func(s *Snapshot) bool { return s.LoaderID == res.LoaderID && s.Lifecycle.Load })
		}
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		for _, pid := range s.Process().Children(chromium.Renderers) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if _, err := s.Page().Await(b.Context(), func(s *Snapshot) bool { return s.Crashed }); err != nil {
			b.Fatal(err)
		}
		noticed += time.Since(begun)
		begun = time.Now()
		if err := s.Page().Call(b.Context(), page.CommandReload, page.ReloadParams{}, nil); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Page().Await(b.Context(), func(s *Snapshot) bool { return !s.Crashed && s.Lifecycle.Load }); err != nil {
			b.Fatal(err)
		}
		back += time.Since(begun)
	}
	b.ReportMetric(float64(noticed.Milliseconds())/float64(b.N), "noticed-ms")
	b.ReportMetric(float64(back.Milliseconds())/float64(b.N), "reloaded-ms")
}
