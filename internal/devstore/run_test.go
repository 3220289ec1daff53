package devstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/browserfleet/browserfleet/internal/devstore"
	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func open(t *testing.T, s *testkit.StoreInfo) *objectstore.Store {
	t.Helper()
	store, err := objectstore.Open(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

func TestStoreStartsWithItsBucketAndPassesTheProbe(t *testing.T) {
	t.Parallel()
	if err := open(t, testkit.Store(t)).Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestKilledStoreKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	info := testkit.Store(t)
	store := open(t, info)
	body := bytes.Repeat([]byte("state"), 50_000)
	if err := store.PutNew(t.Context(), "a/b", body); err != nil {
		t.Fatal(err)
	}
	info.Kill()
	info.Restart()
	got, err := store.Get(t.Context(), "a/b")
	if err != nil || !bytes.Equal(got, body) {
		t.Fatalf("after the restart: %d bytes, %v", len(got), err)
	}
}

func TestObjectsAreReadableByTheirUserOnly(t *testing.T) {
	t.Parallel()
	info := testkit.Store(t)
	if err := open(t, info).PutNew(t.Context(), "a/b", []byte("x")); err != nil {
		t.Fatal(err)
	}
	file, err := os.Stat(filepath.Join(info.Dir, "objects", info.Bucket, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if mode := file.Mode().Perm(); mode&0o077 != 0 {
		t.Fatalf("object file has mode %v", mode)
	}
}

func TestBadConfigurationIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]devstore.Config{
		"no folder":   {Addr: devstore.DefaultAddr},
		"bad address": {Dir: t.TempDir(), Addr: "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := devstore.Run(t.Context(), cfg); err == nil {
				t.Fatal("Run accepted it")
			}
		})
	}
}
