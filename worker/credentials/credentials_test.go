package credentials

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

const secret = "correct-horse"

func TestFind(t *testing.T) {
	t.Parallel()
	s, err := New([]Credential{
		{Name: "shop", Tenant: "a", Origins: []string{"https://shop.example", "http://127.0.0.1:8080"}, Value: secret, PreApproved: true},
		{Name: "bank", Tenant: "a", Owner: "one", Origins: []string{"https://bank.example"}, Value: secret, PreApproved: true},
		{Name: "user", Tenant: "a", Origins: []string{"https://shop.example"}, Value: secret, PreApproved: true, AnyField: true},
		{Name: "asked", Tenant: "a", Origins: []string{"https://shop.example"}, Value: secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, owner, credential, page, field string
		code                                 protocol.Code
	}{
		{"its origin", "one", "shop", "https://shop.example/login?x=1", "", ""},
		{"default port", "one", "shop", "https://shop.example:443/", "", ""},
		{"upper case", "one", "shop", "https://SHOP.example/", "", ""},
		{"a port", "one", "shop", "http://127.0.0.1:8080/login", "", ""},
		{"other port", "one", "shop", "http://127.0.0.1:8081/login", "", protocol.CodeCredentialDenied},
		{"other scheme", "one", "shop", "http://shop.example/", "", protocol.CodeCredentialDenied},
		{"subdomain", "one", "shop", "https://evil.shop.example/", "", protocol.CodeCredentialDenied},
		{"look-alike", "one", "shop", "https://shop.example.evil/", "", protocol.CodeCredentialDenied},
		{"userinfo", "one", "shop", "https://shop.example@evil.example/", "", protocol.CodeCredentialDenied},
		{"about:blank", "one", "shop", "about:blank", "", protocol.CodeCredentialDenied},
		{"its owner", "one", "bank", "https://bank.example/", "", ""},
		{"another owner", "two", "bank", "https://bank.example/", "", protocol.CodeCredentialUnavailable},
		{"not approved", "one", "asked", "https://shop.example/", "", protocol.CodeCredentialDenied},
		{"a search field", "one", "shop", "https://shop.example/", "search", protocol.CodeCredentialDenied},
		{"a text field", "one", "shop", "https://shop.example/", "text", protocol.CodeCredentialDenied},
		{"a text field, allowed", "one", "user", "https://shop.example/", "text", ""},
		{"unknown", "one", "nope", "https://shop.example/", "", protocol.CodeCredentialUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			value, failed := s.Find(protocol.OwnerKey{Tenant: "a", Owner: protocol.Owner(tc.owner)}, tc.credential, tc.page, cmp.Or(tc.field, "password"))
			if tc.code == "" {
				if failed != nil || string(value) != secret {
					t.Fatalf("refused: %v", failed)
				}
				return
			}
			if failed == nil || failed.Code != tc.code || value != "" {
				t.Fatalf("got %v, want %s", failed, tc.code)
			}
			if strings.Contains(failed.Message, secret) {
				t.Fatal("the error holds the secret")
			}
		})
	}
	if _, failed := s.Find(protocol.OwnerKey{Tenant: "b", Owner: "one"}, "shop", "https://shop.example/", "password"); failed == nil {
		t.Fatal("another tenant may use it")
	}
	if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, secret) {
		t.Fatal("a printed store shows the secret")
	}
}

func TestBadCredentialsAreRefusedAtLoad(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, file, want string }{
		{"short", `[{"name":"a","tenant":"t","origins":["https://x"],"value":"12345"}]`, "at least 6"},
		{"no origin", `[{"name":"a","tenant":"t","value":"123456"}]`, "origins are missing"},
		{"path", `[{"name":"a","tenant":"t","origins":["https://x/login"],"value":"123456"}]`, "not an origin"},
		{"no tenant", `[{"name":"a","origins":["https://x"],"value":"123456"}]`, "tenant is missing"},
		{"name", `[{"name":"a b","tenant":"t","origins":["https://x"],"value":"123456"}]`, "name:"},
		{"malformed", `[{`, "credentials:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "credentials.json")
			if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(path); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
		})
	}
	open := filepath.Join(t.TempDir(), "open.json")
	if err := os.WriteFile(open, []byte(`[]`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(open); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Fatalf("got %v", err)
	}
}
