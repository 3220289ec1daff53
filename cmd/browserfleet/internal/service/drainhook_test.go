package service

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDrainHookWantsItsToken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method, path, auth string
		want               int
		drains             bool
	}{
		"the token":        {http.MethodPost, "/drain", "Bearer s3cret", http.StatusAccepted, true},
		"no token":         {http.MethodPost, "/drain", "", http.StatusUnauthorized, false},
		"an empty token":   {http.MethodPost, "/drain", "Bearer ", http.StatusUnauthorized, false},
		"another token":    {http.MethodPost, "/drain", "Bearer s3cre", http.StatusUnauthorized, false},
		"another scheme":   {http.MethodPost, "/drain", "Basic s3cret", http.StatusUnauthorized, false},
		"a mere look":      {http.MethodGet, "/drain", "Bearer s3cret", http.StatusMethodNotAllowed, false},
		"another resource": {http.MethodPost, "/", "Bearer s3cret", http.StatusNotFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var why []string
			hook := drainHook("s3cret", func(w string) { why = append(why, w) })
			r := httptest.NewRequest(tc.method, tc.path, nil)
			if tc.auth != "" {
				r.Header.Set("Authorization", tc.auth)
			}
			w := httptest.NewRecorder()
			hook.ServeHTTP(w, r)
			if w.Code != tc.want || (len(why) == 1) != tc.drains {
				t.Errorf("status %d, drained %v", w.Code, why)
			}
			if strings.Contains(w.Body.String(), "s3cret") {
				t.Error("the answer tells the token")
			}
		})
	}
}

func TestTheDrainHookServesAndEnds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan string, 1)
	stop, err := startDrainHook(context.Background(), &Draining{DrainListen: addr, DrainTokenFile: file},
		slog.New(slog.NewTextHandler(io.Discard, nil)), func(why string) { drained <- why })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/drain", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer s3cret")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusAccepted || len(drained) != 1 {
		t.Errorf("status %d, drained %d times", res.StatusCode, len(drained))
	}
}

func TestDrainingIsForThisMachineOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		c    Draining
		want string
	}{
		"no hook":          {Draining{DrainTimeout: 1}, ""},
		"a hook":           {Draining{DrainTimeout: 1, DrainListen: "127.0.0.1:9", DrainTokenFile: "x"}, ""},
		"no token":         {Draining{DrainTimeout: 1, DrainListen: "127.0.0.1:9"}, "DRAIN_TOKEN_FILE"},
		"every address":    {Draining{DrainTimeout: 1, DrainListen: ":9", DrainTokenFile: "x"}, "loopback"},
		"the network's":    {Draining{DrainTimeout: 1, DrainListen: "10.0.0.1:9", DrainTokenFile: "x"}, "loopback"},
		"no time to drain": {Draining{}, "DRAIN_TIMEOUT"},
	} {
		var p problems
		tc.c.check(&p)
		err := p.err()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want Labels
		bad  bool
	}{
		"empty":      {"", nil, false},
		"two":        {" zone = a ,tenant=acme,", Labels{"zone": "a", "tenant": "acme"}, false},
		"no value":   {"zone", nil, true},
		"no name":    {"=a", nil, true},
		"too long":   {"a=" + strings.Repeat("x", maxLabel+1), nil, true},
		"empty text": {"zone=", Labels{"zone": ""}, false},
	} {
		var got Labels
		err := got.UnmarshalText([]byte(tc.in))
		if (err != nil) != tc.bad {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); !tc.bad && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
