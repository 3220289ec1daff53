package egressproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// secret is kept behind a pointer: fmt and slog print the fields of a struct
// without asking the unexported ones for their String method, but they do not
// follow a pointer inside a struct.
type secret struct{ text *string }

func newSecret(text string) secret { return secret{text: &text} }

func (s secret) String() string   { return "[redacted]" }
func (s secret) GoString() string { return "[redacted]" }
func (s secret) reveal() string   { return *s.text }

// credentials are one environment's right to use its proxy.
type credentials struct {
	user     string
	password secret
	digest   [sha256.Size]byte // of the text that Basic authentication encodes
}

func newCredentials() credentials {
	var user [8]byte
	var password [24]byte
	_, _ = rand.Read(user[:]) // crypto/rand.Read never fails: it ends the process instead
	_, _ = rand.Read(password[:])
	c := credentials{
		user:     "bf-" + hex.EncodeToString(user[:]),
		password: newSecret(base64.RawURLEncoding.EncodeToString(password[:])),
	}
	c.digest = sha256.Sum256([]byte(c.user + ":" + c.password.reveal()))
	return c
}

// match takes a Proxy-Authorization value. Both sides are hashed, so the time
// tells neither the length nor the place of the first difference.
func (c *credentials) match(value string) bool {
	scheme, encoded, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return false
	}
	given, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return false
	}
	digest := sha256.Sum256(given)
	return subtle.ConstantTimeCompare(digest[:], c.digest[:]) == 1
}
