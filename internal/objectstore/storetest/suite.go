package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// Objects is the part of a store that the suite exercises.
type Objects interface {
	Probe(ctx context.Context) error
	PutNew(ctx context.Context, key string, body []byte) error
	Put(ctx context.Context, key string, body []byte, contentType string) error
	Get(ctx context.Context, key string) ([]byte, error)
	List(ctx context.Context, prefix, startAfter string) ([]objectstore.Entry, error)
	Delete(ctx context.Context, key string) error
}

// writers is how many race for one key.
const writers = 50

// Run exercises an empty store. Tests share it, each under its own prefix.
func Run(t *testing.T, store Objects) {
	tests := map[string]func(*testing.T, Objects){
		"a supported store passes the probe":        probePasses,
		"what was put is got back":                  roundTrip,
		"a second new write of a key is refused":    secondWriteRefused,
		"one of fifty writers wins a key":           oneWriterWins,
		"put replaces":                              putReplaces,
		"listing is ordered, bounded and resumable": listing,
		"deleting what is not there succeeds":       deleteTwice,
		"a missing key is not found":                missing,
		"keys that some store cannot hold":          badKeys,
		"a cancelled call is ambiguous":             cancelled,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, store)
		})
	}
}

func probePasses(t *testing.T, s Objects) {
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := s.List(t.Context(), objectstore.ProbePrefix, "")
	if err != nil || len(left) != 0 {
		t.Fatalf("the probe left %v behind (%v)", left, err)
	}
}

func roundTrip(t *testing.T, s Objects) {
	for _, size := range []int{0, 1, 4096, 1 << 20, 20 << 20} { // 20 MiB is past minio-go's switch to multipart
		key := fmt.Sprintf("round/%d", size)
		body := bytes.Repeat([]byte{0, 1, 0xff, '\n'}, size/4+1)[:size]
		if err := s.PutNew(t.Context(), key, body); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(t.Context(), key)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
}

func secondWriteRefused(t *testing.T, s Objects) {
	for _, size := range []int{5, 17 << 20} {
		key := fmt.Sprintf("second/%d", size)
		first := bytes.Repeat([]byte("a"), size)
		if err := s.PutNew(t.Context(), key, first); err != nil {
			t.Fatal(err)
		}
		err := s.PutNew(t.Context(), key, bytes.Repeat([]byte("b"), size))
		if !errors.Is(err, objectstore.ErrExists) {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, err := s.Get(t.Context(), key); err != nil || !bytes.Equal(got, first) {
			t.Fatalf("%d bytes: the first object changed (%v)", size, err)
		}
	}
}

func oneWriterWins(t *testing.T, s Objects) {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = s.PutNew(t.Context(), "race/slot", fmt.Append(nil, i)) })
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("writers %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, objectstore.ErrExists):
			t.Fatalf("writer %d: %v", i, err)
		}
	}
	got, err := s.Get(t.Context(), "race/slot")
	if err != nil || string(got) != fmt.Sprint(winner) {
		t.Fatalf("writer %d won, but the slot holds %q (%v)", winner, got, err)
	}
}

func putReplaces(t *testing.T, s Objects) {
	for _, body := range []string{"one", "two"} {
		if err := s.Put(t.Context(), "replace/x", []byte(body), "text/plain"); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), "replace/x"); err != nil || string(got) != body {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

func listing(t *testing.T, s Objects) {
	want := []string{"list/m/01", "list/m/02", "list/m/03"}
	for _, key := range append([]string{"list/n/01", "list/b"}, want...) {
		if err := s.PutNew(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		prefix, after string
		want          []string
	}{
		{"list/m/", "", want},
		{"list/m/", "list/m/01", want[1:]},
		{"list/m/", "list/m/03", nil},
		{"list/nothing/", "", nil},
	} {
		entries, err := s.List(t.Context(), tc.prefix, tc.after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Key)
			if e.Size != int64(len(e.Key)) || e.Modified.IsZero() {
				t.Errorf("entry %+v", e)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s after %q: %s", tc.prefix, tc.after, diff)
		}
	}
}

func deleteTwice(t *testing.T, s Objects) {
	if err := s.PutNew(t.Context(), "delete/x", nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), "delete/x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Get(t.Context(), "delete/x"); !errors.Is(err, objectstore.ErrNotFound) {
		t.Fatalf("after the delete: %v", err)
	}
}

func missing(t *testing.T, s Objects) {
	_, err := s.Get(t.Context(), "missing/x")
	if !errors.Is(err, objectstore.ErrNotFound) || errors.Is(err, objectstore.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
}

func badKeys(t *testing.T, s Objects) {
	for _, key := range []string{"", "/a", "a/", "a//b", "a/../b", "A", "a b", "a\x00", strings.Repeat("a", 201)} {
		if err := s.PutNew(t.Context(), key, nil); !errors.Is(err, objectstore.ErrInvalidKey) {
			t.Errorf("put %q: %v", key, err)
		}
		if _, err := s.Get(t.Context(), key); !errors.Is(err, objectstore.ErrInvalidKey) {
			t.Errorf("get %q: %v", key, err)
		}
	}
}

func cancelled(t *testing.T, s Objects) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.PutNew(ctx, "cancelled/x", nil)
	if !errors.Is(err, objectstore.ErrUnavailable) || !errors.Is(err, objectstore.ErrAmbiguous) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.List(ctx, "cancelled/", ""); !errors.Is(err, objectstore.ErrUnavailable) {
		t.Errorf("list: %v", err)
	}
}
