package devfleet

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/credentials"
)

func folder(t *testing.T) Folder {
	t.Helper()
	f := Folder(t.TempDir())
	if err := f.make(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestALockIsHeldOnce(t *testing.T) {
	t.Parallel()
	f := folder(t)
	if f.Locked() {
		t.Error("locked before anybody locked it")
	}
	lock, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.lock(); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	if !f.Locked() {
		t.Error("not locked")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestSecretsAreMadeOnce(t *testing.T) {
	t.Parallel()
	f := folder(t)
	o := deploy.Options{Tenants: []deploy.Tenant{{Name: "dev"}}, Shards: protocol.Shards(1)}
	first, err := f.natsPasswords(o)
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.natsPasswords(o)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, user := range o.Users() {
		one := string(first[user])
		if len(one) < 24 || one != string(second[user]) || seen[one] {
			t.Errorf("password of %s is short, changed, or another user's", user)
		}
		seen[one] = true
		info, err := os.Stat(f.PasswordFile(user))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", user, info.Mode(), err)
		}
	}
}

// The worker can read what dev writes.
func TestCredentialsAreForTheBundledSiteOnly(t *testing.T) {
	t.Parallel()
	f := folder(t)
	if err := f.writeCredentials("dev", "http://127.0.0.1:4390"); err != nil {
		t.Fatal(err)
	}
	store, err := credentials.Load(f.Path("secrets", credentialsFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.secret(secretSite)
	if err != nil {
		t.Fatal(err)
	}
	owner := ownerKey("dev", "me")
	if got, failed := store.Find(owner, CredentialName, "http://127.0.0.1:4390/login", "password"); failed != nil || string(got) != want {
		t.Errorf("got %v", failed)
	}
	if _, failed := store.Find(owner, CredentialName, "http://127.0.0.1:4391/login", "password"); failed == nil {
		t.Error("another origin may have it")
	}
	if _, failed := store.Find(ownerKey("other", "me"), CredentialName, "http://127.0.0.1:4390/login", "password"); failed == nil {
		t.Error("another tenant may have it")
	}
}

func TestRunningIsReadBack(t *testing.T) {
	t.Parallel()
	f := folder(t)
	if _, err := f.Running(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v", err)
	}
	want := Running{NATS: "nats://127.0.0.1:1", Store: "127.0.0.1:2", Site: "http://127.0.0.1:3", Tenant: "dev", Shards: 1, Browser: "chrome"}
	if err := f.writeRunning(want); err != nil {
		t.Fatal(err)
	}
	got, err := f.Running()
	if err != nil {
		t.Fatal(err)
	}
	want.V, want.PID, want.Started = got.V, os.Getpid(), got.Started
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	if err := writeFile(f.Path("fleet.json"), []byte(`{"v":99}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Running(); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("another version: %v", err)
	}
}

func TestPortsAreFreeAndDifferent(t *testing.T) {
	t.Parallel()
	p, err := Ports{}.choose()
	if err != nil {
		t.Fatal(err)
	}
	if p.NATS == 0 || p.NATS == p.Store || p.Store == p.Site || p.NATS == p.Site {
		t.Errorf("got %+v", p)
	}
	l, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := Ports{Store: portOf(l)}
	if _, err := taken.choose(); err == nil {
		t.Error("a port that is taken was chosen")
	}
}

// A developer tries a worker's setting on a fleet of his own; what the fleet sets
// itself cannot be taken from it.
func TestWorkersHaveTheSettingsThatADeveloperTries(t *testing.T) {
	t.Setenv("BROWSERFLEET_POPUPS", "adopt")
	t.Setenv("BROWSERFLEET_SLOTS", "99")
	f := &Fleet{o: Options{Data: Folder(t.TempDir()), Slots: 3}}
	worker, coordinator := f.workerEnv("w"), f.coordinatorEnv()
	// A busy machine is no reason to refuse owners: there is no other.
	if !slices.Contains(worker, "BROWSERFLEET_MAX_CPU_LOAD=0") {
		t.Errorf("worker: %q", worker)
	}
	if !slices.Contains(worker, "BROWSERFLEET_POPUPS=adopt") || !slices.Contains(worker, "BROWSERFLEET_SLOTS=3") {
		t.Errorf("worker: %q", worker)
	}
	if slices.Contains(worker, "BROWSERFLEET_SLOTS=99") || slices.Contains(coordinator, "BROWSERFLEET_POPUPS=adopt") {
		t.Errorf("worker %q, coordinator %q", worker, coordinator)
	}
}
