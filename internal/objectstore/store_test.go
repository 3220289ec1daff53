package objectstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/objectstore/storetest"
	"github.com/browserfleet/browserfleet/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func open(t *testing.T, cfg objectstore.Config) *objectstore.Store {
	t.Helper()
	s, err := objectstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestConformanceOfTheRealStore(t *testing.T) {
	t.Parallel()
	cfg := testkit.Store(t).Config()
	cfg.Prefix = "/some/prefix/"
	storetest.Run(t, open(t, cfg))
}

func TestConformanceOfTheMemoryStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, objectstore.NewMemory())
}

// fakeS3 answers every request with handle, for faults that no real server
// shows on demand.
func fakeS3(t *testing.T, handle http.HandlerFunc) *objectstore.Store {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	return open(t, objectstore.Config{
		Endpoint: strings.TrimPrefix(srv.URL, "http://"), AccessKey: "a", SecretKey: "s", Bucket: "bucket",
	})
}

func s3Error(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>m</Message></Error>", code)
}

func TestAStoreThatIgnoresTheConditionIsRefused(t *testing.T) {
	t.Parallel()
	s := fakeS3(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"x"`)
	})
	err := s.Probe(t.Context())
	if !errors.Is(err, objectstore.ErrUnsupported) {
		t.Fatalf("got %v", err)
	}
}

func TestStatusBecomesAClass(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status    int
		code      string
		want      error
		ambiguous bool // for a write
	}{
		{412, "PreconditionFailed", objectstore.ErrExists, false},
		{403, "AccessDenied", objectstore.ErrDenied, false},
		{403, "SignatureDoesNotMatch", objectstore.ErrDenied, false},
		{404, "NoSuchBucket", objectstore.ErrUnavailable, true},
		{501, "NotImplemented", objectstore.ErrUnsupported, false},
		{503, "SlowDown", objectstore.ErrUnavailable, true},
	} {
		t.Run(fmt.Sprint(tc.status, tc.code), func(t *testing.T) {
			t.Parallel()
			s := fakeS3(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				s3Error(w, tc.status, tc.code)
			})
			err := s.PutNew(t.Context(), "k", []byte("x"))
			if !errors.Is(err, tc.want) || errors.Is(err, objectstore.ErrAmbiguous) != tc.ambiguous {
				t.Errorf("put: %v", err)
			}
			if _, err := s.List(t.Context(), "k/", ""); err == nil {
				t.Error("an error listed as empty")
			}
		})
	}
}

func TestConflictIsAskedAgainUntilItIsSettled(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := fakeS3(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) < 3 {
			s3Error(w, http.StatusConflict, "ConditionalRequestConflict")
		}
	})
	if err := s.PutNew(t.Context(), "k", []byte("x")); err != nil || calls.Load() != 3 {
		t.Fatalf("%v after %d calls", err, calls.Load())
	}
}

func TestSlowDownIsOvercome(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := fakeS3(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) < 3 {
			s3Error(w, http.StatusServiceUnavailable, "SlowDown")
		}
	})
	if err := s.PutNew(t.Context(), "k", []byte("x")); err != nil {
		t.Fatal(err)
	}
}

// cutBody promises 1000 bytes and resets the connection after 10.
func cutBody(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "1000")
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	_, _ = w.Write(make([]byte, 10))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func TestABodyCutShortIsReadAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := fakeS3(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			cutBody(w)
		}
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, "whole")
	})
	got, err := s.Get(t.Context(), "k")
	if err != nil || string(got) != "whole" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestABodyThatIsAlwaysCutIsUnavailable(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := fakeS3(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		cutBody(w)
	})
	_, err := s.Get(t.Context(), "k")
	if !errors.Is(err, objectstore.ErrUnavailable) || calls.Load() != 3 {
		t.Fatalf("%v after %d calls", err, calls.Load())
	}
}

func TestAStoppedStoreIsUnavailableAndComesBack(t *testing.T) {
	t.Parallel()
	info := testkit.Store(t)
	s := open(t, info.Config())
	info.Kill()
	err := s.PutNew(t.Context(), "k", []byte("x"))
	if !errors.Is(err, objectstore.ErrUnavailable) || !errors.Is(err, objectstore.ErrAmbiguous) {
		t.Fatalf("while it is down: %v", err)
	}
	if err := s.Probe(t.Context()); err == nil || errors.Is(err, objectstore.ErrUnsupported) {
		t.Fatalf("a store that is down is called unsupported: %v", err)
	}
	info.Restart()
	if err := s.PutNew(t.Context(), "k", []byte("x")); err != nil {
		t.Fatalf("after the restart: %v", err)
	}
}

func TestWrongCredentialsAreDenied(t *testing.T) {
	t.Parallel()
	cfg := testkit.Store(t).Config()
	cfg.SecretKey = "wrong"
	s := open(t, cfg)
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, objectstore.ErrDenied) {
		t.Fatalf("get: %v", err)
	}
	if _, err := s.List(t.Context(), "k/", ""); !errors.Is(err, objectstore.ErrDenied) {
		t.Fatalf("list: %v", err)
	}
}

func TestASignedLinkReadsOneObjectAsADownload(t *testing.T) {
	t.Parallel()
	s := open(t, testkit.Store(t).Config())
	if err := s.Put(t.Context(), "art/page", []byte("<script>"), "text/html"); err != nil {
		t.Fatal(err)
	}
	link, err := s.PresignGet(t.Context(), "art/page", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	status, header, body := fetch(t, link)
	if status != http.StatusOK || body != "<script>" {
		t.Fatalf("%d %q", status, body)
	}
	if header.Get("Content-Disposition") != "attachment" || strings.Contains(header.Get("Content-Type"), "html") {
		t.Errorf("served as %v", header)
	}
	forged := strings.Replace(link, "art/page", "art/other", 1)
	if status, _, _ := fetch(t, forged); status != http.StatusForbidden {
		t.Errorf("a link moved to another object got %d", status)
	}
}

func fetch(t *testing.T, link string) (int, http.Header, string) {
	t.Helper()
	if _, err := url.Parse(link); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func TestASecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	cfg := objectstore.Config{SecretKey: "hunter2"}
	encoded, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(cfg), fmt.Sprintf("%+v %#v %q %x %s", cfg, cfg, cfg.SecretKey, cfg.SecretKey, cfg.SecretKey),
		string(encoded), cfg.SecretKey.LogValue().String(),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestAnIncompleteConfigurationNamesEveryGap(t *testing.T) {
	t.Parallel()
	_, err := objectstore.Open(objectstore.Config{Prefix: "Bad Prefix"})
	for _, want := range []string{"endpoint", "access key", "secret key", "bucket", "key"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in %v", want, err)
		}
	}
}
