package site

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestStartServesUntilClose(t *testing.T) {
	t.Parallel()
	server, err := Start(t.Context(), "127.0.0.1:0", Options{Username: testUser, Password: testPassword})
	if err != nil {
		t.Fatal(err)
	}
	v := newVisitor(t, server.URL())
	if got := v.get("/healthz"); got.body != "ok\n" {
		t.Errorf("/healthz = %q", got.body)
	}
	v.signIn()
	if n := server.Site().Stats().SignIns; n != 1 {
		t.Errorf("%d sign-ins, want 1", n)
	}
	for range 2 {
		if err := server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := v.client.Get(server.URL() + "/healthz"); err == nil {
		t.Error("the site answers after Close")
	}
}

func TestTheEndOfTheContextClosesTheServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := Start(ctx, "127.0.0.1:0", Options{Username: testUser, Password: testPassword})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	cancel()
	<-server.done
	if err := server.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestStartSaysWhyItCannotListen(t *testing.T) {
	t.Parallel()
	first, err := Start(t.Context(), "127.0.0.1:0", Options{Username: testUser, Password: testPassword})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	taken := first.URL()[len("http://"):]
	if _, err := Start(t.Context(), taken, Options{Username: testUser, Password: testPassword}); err == nil {
		t.Error("Start on a taken address = nil error")
	}
	if _, err := Start(t.Context(), "127.0.0.1:0", Options{}); err == nil {
		t.Error("Start without a password = nil error")
	}
}

func TestSlowIsBoundedAndEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	shop, err := New(Options{Username: testUser, Password: testPassword})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]time.Duration{
		"/slow?ms=250":     250 * time.Millisecond,
		"/slow?ms=3600000": MaxSlow,
	} {
		synctest.Test(t, func(t *testing.T) {
			began, w := time.Now(), httptest.NewRecorder()
			shop.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			// Exact, because the bubble's clock moves by timers only.
			if waited := time.Since(began); waited != want || w.Code != http.StatusOK {
				t.Errorf("%s = %d after %v, want %v", path, w.Code, waited, want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	shop.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/slow?ms=9000", nil))
	if w.Body.Len() != 0 {
		t.Error("an abandoned request was answered")
	}
}
