package natsx

import "log/slog"

const redacted = "[redacted]"

// Secret is a password. It prints as [redacted] wherever it is printed by
// accident: with fmt, slog or JSON. string(s) is the way to its value.
type Secret string

// String hides the value from %s, %v and Print.
func (Secret) String() string { return redacted }

// GoString hides the value from %#v.
func (Secret) GoString() string { return redacted }

// LogValue hides the value from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the value from JSON and every other encoder that asks.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
