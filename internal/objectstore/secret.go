package objectstore

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a credential that no printer, logger or encoder shows. Reveal is
// the one way to its value.
type Secret string

// Reveal returns the credential itself. Never pass it to a log or an error.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// Format implements fmt.Formatter: %v, %q, %x, %#v and %d all print [redacted].
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText keeps the value out of JSON and of flag defaults.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText reads the credential from a configuration value.
func (s *Secret) UnmarshalText(b []byte) error {
	*s = Secret(b)
	return nil
}
