package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/objectstore"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	keyOne = "one:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	keyTwo = "two:HxwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEAAAE="
)

func keyring(t testing.TB, lines string) *Keyring {
	t.Helper()
	k, err := ParseKeyring([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func memoryStore(t testing.TB) (*Store, *objectstore.Memory) {
	t.Helper()
	m := objectstore.NewMemory()
	return New(m, keyring(t, keyOne)), m
}

func openObjects(t testing.TB, cfg objectstore.Config) *objectstore.Store {
	t.Helper()
	o, err := objectstore.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

// onEveryStore runs a test on the fake and on a real S3 server.
func onEveryStore(t *testing.T, test func(*testing.T, *Store)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s, _ := memoryStore(t)
		test(t, s)
	})
	t.Run("versitygw", func(t *testing.T) {
		t.Parallel()
		test(t, New(openObjects(t, testkit.Store(t).Config()), keyring(t, keyOne)))
	})
}

func envOf(owner string) EnvID {
	return EnvIDOf(protocol.OwnerKey{Tenant: "acme", Owner: protocol.Owner(owner)})
}

// ownerRecord stands for the record in NATS: whoever took it last holds it.
type ownerRecord struct {
	mu     sync.Mutex
	holder int
}

// take makes the caller the holder and gives its compare-and-set.
func (r *ownerRecord) take() func(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holder++
	me := r.holder
	return func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.holder != me {
			return fmt.Errorf("record has moved on: %w", ErrFenced)
		}
		return nil
	}
}

func always(context.Context) error { return nil }

// takeOver loads and seals, as a worker does.
func takeOver(ctx context.Context, s *Store, env EnvID, confirm func(context.Context) error) (*Handle, error) {
	l, err := s.Load(ctx, env)
	if err != nil {
		return nil, err
	}
	return s.Seal(ctx, env, l, Writer{Worker: "w", Confirm: confirm})
}

func mustTake(t testing.TB, s *Store, env EnvID) *Handle {
	t.Helper()
	h, err := takeOver(t.Context(), s, env, always)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustCommit(t testing.TB, h *Handle, state State) *Manifest {
	t.Helper()
	m, err := h.Commit(t.Context(), state, Meta{Reason: ReasonAfterAction})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustLoad(t testing.TB, s *Store, env EnvID) *Loaded {
	t.Helper()
	l, err := s.Load(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stateNamed is a small state that a test recognises.
func stateNamed(name string) State {
	return State{
		Cookies: []Cookie{{Name: "sid", Value: Text(name), Domain: "example.org", Path: "/", Expires: -1, Session: true}},
		LocalStorage: []StorageArea{{
			StorageKey: "https://example.org/", Origin: "https://example.org",
			Items: []Item{{Key: "name", Value: Text(name)}},
		}},
		Tabs: []Tab{{URL: "https://example.org/" + name, Title: name, Active: true}},
	}
}

func nameOf(s State) string {
	if len(s.Cookies) != 1 {
		return ""
	}
	return string(s.Cookies[0].Value)
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

// slept lets fake time pass (synctest).
func slept(d time.Duration) { <-time.After(d) }
