package checkpoints

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestKeyringLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"one":              {keyOne, true},
		"two and comments": {"# old\n\n " + keyOne + " \n" + keyTwo + "\n", true},
		"empty":            {"", false},
		"comments only":    {"# none\n", false},
		"twice":            {keyOne + "\n" + keyOne, false},
		"no kid":           {":AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", false},
		"bad kid":          {"a b:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", false},
		"short key":        {"one:AAEC", false},
		"not base64":       {"one:secret-material", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := ParseKeyring([]byte(tc.text))
			if (err == nil) != tc.ok {
				t.Fatalf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret-material") {
				t.Errorf("the error quotes the key: %v", err)
			}
			if err == nil && k.Primary() != "one" {
				t.Errorf("primary %s", k.Primary())
			}
		})
	}
}

func TestKeyringIsNeverPrinted(t *testing.T) {
	t.Parallel()
	k := keyring(t, keyOne)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "keys", k)
	encoded, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %x", k, k, k, k, k), log.String(), string(encoded)} {
		if strings.Contains(text, "1, 2, 3") || strings.Contains(text, "010203") || strings.Contains(text, "AAECAw") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestDevKeyringIsMadeOnceAndPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	rings := make([]*Keyring, 8)
	var wg sync.WaitGroup
	for i := range rings {
		wg.Go(func() {
			var err error
			if rings[i], err = LoadOrCreateKeyring(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range rings[1:] {
		if k.keys[k.primary] != rings[0].keys[rings[0].primary] {
			t.Error("two processes made different keys")
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".keyring-*")); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestAKeyringThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(keyOne), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o644: false, 0o660: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKeyring(path); (err == nil) != ok {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}
