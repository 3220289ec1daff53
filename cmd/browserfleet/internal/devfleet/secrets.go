package devfleet

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/deploy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Names of the secrets' files. NATS users' are nats- and the user's name.
const (
	secretStoreAccess = "store-access"
	secretStoreSecret = "store-secret"
	secretSite        = "site-password"
	keyringFile       = "keyring"
	credentialsFile   = "credentials.json"
)

// CredentialName is the credential for the bundled site.
const CredentialName = "shop"

// SiteUser is the bundled site's one user.
const SiteUser = "kim"

// PasswordFile is the file of a NATS user's password.
func (f Folder) PasswordFile(user string) string { return f.Path("secrets", "nats-"+user) }

// secret reads a secret, and makes it the first time.
func (f Folder) secret(name string) (string, error) {
	path := f.Path("secrets", name)
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("secret %s: %w", name, err)
	}
	raw := make([]byte, 24)
	rand.Read(raw)
	made := base64.RawURLEncoding.EncodeToString(raw)
	if err := writeFile(path, []byte(made+"\n")); err != nil {
		return "", fmt.Errorf("secret %s: %w", name, err)
	}
	return made, nil
}

// natsPasswords are the passwords of all users of a configuration.
func (f Folder) natsPasswords(o deploy.Options) (deploy.Passwords, error) {
	out := deploy.Passwords{}
	for _, user := range o.Users() {
		password, err := f.secret("nats-" + user)
		if err != nil {
			return nil, err
		}
		out[user] = natsx.Secret(password)
	}
	return out, nil
}

// makeSecrets makes what the services read from files.
func (f Folder) makeSecrets() error {
	for _, name := range []string{secretStoreAccess, secretStoreSecret, secretSite} {
		if _, err := f.secret(name); err != nil {
			return err
		}
	}
	_, err := checkpoints.LoadOrCreateKeyring(f.Path("secrets", keyringFile))
	return err
}

// writeCredentials lets the tenant's owners fill the bundled site's password
// there, and nowhere else.
func (f Folder) writeCredentials(tenant protocol.Tenant, origin string) error {
	password, err := f.secret(secretSite)
	if err != nil {
		return err
	}
	// Not credentials.Credential: its value refuses to be written.
	text, err := json.Marshal([]map[string]any{{
		"name": CredentialName, "tenant": tenant, "origins": []string{origin}, "value": password, "pre_approved": true,
	}})
	if err != nil {
		return fmt.Errorf("write the credentials: %w", err)
	}
	return writeFile(f.Path("secrets", credentialsFile), text)
}
