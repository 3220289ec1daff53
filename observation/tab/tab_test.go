package tab_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m) }

// TestNavigatingBeginsAndEnds: a navigation is seen from its beginning to its
// document, to its failure, or to an answer without a document.
func TestNavigatingBeginsAndEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		commits int
		answer  http.HandlerFunc
	}{
		{"a document", 1, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<p>x")) }},
		{"no content", 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		{"a download", 0, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment")
			_, _ = w.Write([]byte("x"))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			page := pagetest.Open(t)
			page.Load(ctx, t, "<p>before")
			release := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				select {
				case <-release:
				case <-q.Context().Done():
				}
				w.Header().Set("Content-Type", "text/html")
				tc.answer(w, q)
			}))
			t.Cleanup(server.Close)
			before := page.State()
			page.Eval(ctx, t, "location.href='"+server.URL+"'")
			if _, err := until(ctx, page, func(s observation.State) bool { return s.Navigating }); err != nil {
				t.Fatalf("begin: %v", err)
			}
			close(release)
			s, err := until(ctx, page, func(s observation.State) bool { return !s.Navigating })
			if err != nil {
				t.Fatalf("end: %v", err)
			}
			if got := s.Commits - before.Commits; got != tc.commits {
				t.Errorf("%d documents came, want %d", got, tc.commits)
			}
		})
	}
}

// until looks at a page whose next event may tell nothing to the snapshot.
func until(ctx context.Context, page *pagetest.Page, holds func(observation.State) bool) (observation.State, error) {
	for {
		s := page.State()
		if holds(s) {
			return s, nil
		}
		look, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		err := page.Next(look, s)
		cancel()
		if err != nil && ctx.Err() != nil {
			return s, err
		}
	}
}
