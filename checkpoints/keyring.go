package checkpoints

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// KeyID names a key of the keyring. It stands in clear in manifests.
type KeyID string

const keySize = 32 // AES-256

var keyIDPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Keyring holds the keys that wrap manifest keys: the first one seals, all of
// them open. It is immutable and prints as [redacted].
//
// A key seals one short message (a wrapped key) per checkpoint under a random
// 96-bit nonce, so its use stays far below AES-GCM's 2^32 messages.
type Keyring struct {
	primary KeyID
	keys    map[KeyID][keySize]byte
}

// ParseKeyring reads lines of kid:base64(32 bytes). The first is the primary;
// empty lines and lines that begin with # are skipped.
func ParseKeyring(text []byte) (*Keyring, error) {
	k := &Keyring{keys: map[KeyID][keySize]byte{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := k.add(line); err != nil {
			return nil, fmt.Errorf("keyring line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	if k.primary == "" {
		return nil, errors.New("keyring holds no key")
	}
	return k, nil
}

// add takes one line. Its errors never quote the line.
func (k *Keyring) add(line string) error {
	id, encoded, found := strings.Cut(line, ":")
	if !found || !keyIDPattern.MatchString(id) {
		return errors.New("want kid:base64, kid of A-Z a-z 0-9 _ . -")
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != keySize {
		return fmt.Errorf("key %s is not base64 of %d bytes", id, keySize)
	}
	if _, have := k.keys[KeyID(id)]; have {
		return fmt.Errorf("key %s stands twice", id)
	}
	if k.primary == "" {
		k.primary = KeyID(id)
	}
	k.keys[KeyID(id)] = [keySize]byte(raw)
	return nil
}

// LoadKeyring reads a keyring file. A file that others may read, or the group
// may write, is refused.
func LoadKeyring(path string) (*Keyring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 {
		return nil, fmt.Errorf("keyring %s has mode %04o: want 0600 (or 0640)", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	return ParseKeyring(text)
}

// LoadOrCreateKeyring is LoadKeyring for dev: a missing file is made, 0600,
// with one fresh key. Two processes that start at once get the same keyring.
func LoadOrCreateKeyring(path string) (*Keyring, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createKeyring(path); err != nil {
			return nil, fmt.Errorf("create the keyring: %w", err)
		}
	}
	return LoadKeyring(path)
}

// createKeyring writes a temporary file and links it, so that a reader never
// sees half of it and the first of several writers wins.
func createKeyring(path string) error {
	var key [keySize]byte
	_, _ = rand.Read(key[:]) // crypto/rand.Read never fails: it crashes the program
	line := fmt.Sprintf("k%s:%s\n", time.Now().UTC().Format("20060102"), base64.StdEncoding.EncodeToString(key[:]))
	tmp, err := os.CreateTemp(filepath.Dir(path), ".keyring-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(line)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Primary is the key that new checkpoints are sealed under.
func (k *Keyring) Primary() KeyID { return k.primary }

// Format implements fmt.Formatter: no verb prints a key.
func (k *Keyring) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redacted]")) }

// LogValue implements slog.LogValuer.
func (k *Keyring) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// MarshalText keeps the keys out of JSON, should a field ever be exported.
func (k *Keyring) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// wrap seals a manifest key under the primary key.
func (k *Keyring) wrap(key [keySize]byte, aad []byte) (KeyID, []byte) {
	return k.primary, sealBox(k.keys[k.primary], key[:], aad)
}

// unwrap opens what wrap sealed. ErrUnknownKey names the missing key.
func (k *Keyring) unwrap(id KeyID, wrapped, aad []byte) (key [keySize]byte, err error) {
	kek, have := k.keys[id]
	if !have {
		return key, fmt.Errorf("%w: %q", ErrUnknownKey, id)
	}
	raw, err := openBox(kek, wrapped, aad)
	if err != nil || len(raw) != keySize {
		return key, corrupt(StageKey, "wrapped key does not open")
	}
	return [keySize]byte(raw), nil
}
