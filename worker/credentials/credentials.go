package credentials

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// minSecret: shorter values cannot be masked without blacking out half a page.
const minSecret = 6

// Credential is one secret with who may use it where.
type Credential struct {
	Name string `json:"name"`
	// Tenant and Owner limit who may name it; an empty owner is any of the
	// tenant's, an empty tenant is refused.
	Tenant protocol.Tenant `json:"tenant"`
	Owner  protocol.Owner  `json:"owner,omitempty"`
	// Origins are where it may be filled, such as https://shop.example.
	Origins []string `json:"origins"`
	// Env or Value holds the secret; Env names a variable of the worker.
	Env   string       `json:"env,omitempty"`
	Value natsx.Secret `json:"value,omitempty"`
	// AnyField: it may go into fields that show what is typed. Without it only
	// into password fields: a secret in a search box would be seen in a picture.
	AnyField bool `json:"any_field,omitempty"`
	// PreApproved: the operator has approved its use on its origins. Without
	// it, and without an approver, every use is denied.
	PreApproved bool `json:"pre_approved,omitempty"`
}

// Store finds credentials. It is immutable.
type Store struct{ all []Credential }

// Format prints how many there are, with every verb: fmt cannot see that a
// value in an unexported field is a secret.
func (s *Store) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "%d credentials", len(s.all)) }

// Load reads a file of credentials; an empty path is an empty store. The file
// must not be readable for others.
func Load(path string) (*Store, error) {
	if path == "" {
		return &Store{}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("credentials: %s may be read by others; chmod 600 it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	var all []Credential
	if err := json.Unmarshal(text, &all); err != nil {
		// encoding/json quotes no values in its errors.
		return nil, fmt.Errorf("credentials: %s: %w", path, err)
	}
	return New(all)
}

// New checks credentials and fetches their secrets.
func New(all []Credential) (*Store, error) {
	all = slices.Clone(all)
	for i := range all {
		c := &all[i]
		if c.Env != "" {
			c.Value = natsx.Secret(os.Getenv(c.Env))
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("credentials: entry %d (%s): %w", i, c.Name, err)
		}
	}
	return &Store{all: all}, nil
}

func (c *Credential) check() error {
	switch {
	case !protocol.ValidToken(c.Name, protocol.MaxIDLen):
		return fmt.Errorf("name: want 1-%d of A-Z a-z 0-9 _ -", protocol.MaxIDLen)
	case c.Tenant == "":
		return fmt.Errorf("tenant is missing")
	case len(c.Value) < minSecret:
		return fmt.Errorf("value: want at least %d characters", minSecret)
	case len(c.Origins) == 0:
		return fmt.Errorf("origins are missing: a credential is bound to the sites that it is for")
	}
	for _, o := range c.Origins {
		if originOf(o) != o {
			return fmt.Errorf("origins: %q is not an origin such as https://shop.example", o)
		}
	}
	return nil
}

// originOf is a URL's origin; empty for what has none.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return u.Scheme + "://" + host
}

// Secrets are all that an owner could fill: what must not be shown to it.
func (s *Store) Secrets(key protocol.OwnerKey) []natsx.Secret {
	var all []natsx.Secret
	for _, c := range s.all {
		if c.Tenant == key.Tenant && (c.Owner == "" || c.Owner == key.Owner) {
			all = append(all, c.Value)
		}
	}
	return all
}

// Find is the secret that an owner may fill into a field of an input type on a
// page. The error names the origin and the credential, never the value.
func (s *Store) Find(key protocol.OwnerKey, name, pageURL, inputType string) (natsx.Secret, *protocol.Error) {
	for _, c := range s.all {
		if c.Name != name || c.Tenant != key.Tenant || (c.Owner != "" && c.Owner != key.Owner) {
			continue
		}
		origin := originOf(pageURL)
		if !slices.Contains(c.Origins, origin) {
			return "", protocol.Errorf(protocol.CodeCredentialDenied, "credential %s is not for %s", name, origin)
		}
		if !c.AnyField && inputType != "password" {
			return "", protocol.Errorf(protocol.CodeCredentialDenied, "credential %s goes into password fields only", name)
		}
		if !c.PreApproved {
			return "", protocol.Errorf(protocol.CodeCredentialDenied, "nobody is there to approve credential %s on %s", name, origin)
		}
		return c.Value, nil
	}
	return "", protocol.Errorf(protocol.CodeCredentialUnavailable, "there is no credential %s for this owner", name)
}
