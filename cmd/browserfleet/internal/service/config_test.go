package service

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want []string
		bad  bool
	}{
		"empty":          {"", nil, false},
		"one":            {"127.0.0.1:4222", []string{"127.0.0.1:4222"}, false},
		"blanks":         {" 127.0.0.1:1 ,\t[::1]:2 ,", []string{"127.0.0.1:1", "[::1]:2"}, false},
		"no port":        {"127.0.0.1", nil, true},
		"a name":         {"localhost:4222", nil, true},
		"half of a list": {"127.0.0.1:1,nonsense", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a Addresses
			err := a.UnmarshalText([]byte(tc.in))
			if (err != nil) != tc.bad {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, one := range a {
				got = append(got, one.String())
			}
			if diff := cmp.Diff(tc.want, got); !tc.bad && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// No page may reach NATS or the store, whatever the policy says.
func TestTheFleetsOwnServersAreListeners(t *testing.T) {
	t.Parallel()
	c := &WorkerConfig{
		Messaging: Messaging{NatsURL: "nats://127.0.0.1:4322, nats://127.0.0.2"}, ObjectStore: ObjectStore{StoreEndpoint: "127.0.0.1:4380"},
		FleetListeners: Addresses{netip.MustParseAddrPort("10.0.0.1:9")},
	}
	got, err := c.fleetListeners(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"127.0.0.1:4322", "127.0.0.2:4222", "127.0.0.1:4380", "10.0.0.1:9"} {
		found := false
		for _, a := range got {
			found = found || a.String() == want
		}
		if !found {
			t.Errorf("%s is not among %v", want, got)
		}
	}
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		mode os.FileMode
		want string
		bad  string
	}{
		"private":              {"s3cret\n", 0o600, "s3cret", ""},
		"the group may read":   {"s3cret", 0o640, "s3cret", ""},
		"others may read":      {"s3cret", 0o644, "", "0644"},
		"the group may write":  {"s3cret", 0o660, "", "0660"},
		"empty":                {"\n", 0o600, "", "empty"},
		"blanks are its own":   {" s3cret ", 0o600, " s3cret ", ""},
		"written on a Windows": {"s3cret\r\n", 0o600, "s3cret", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tc.mode); err != nil {
				t.Fatal(err)
			}
			got, err := readSecret("X", path)
			if tc.bad == "" {
				if err != nil || got != tc.want {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.bad) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
}
