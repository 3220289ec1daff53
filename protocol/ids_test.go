package protocol_test

import (
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestIDsAreSubjectTokens(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", protocol.MaxIDLen)
	tests := []struct {
		name, id string
		ok       bool
	}{
		{"letters digits underscore hyphen", "Agent_7-b", true},
		{"one character", "x", true},
		{"64 characters", long, true},
		{"leading hyphen", "-x", true},
		{"empty", "", false},
		{"65 characters", long + "a", false},
		{"dot", "a.b", false},
		{"star", "*", false},
		{"star inside", "a*b", false},
		{"full wildcard", ">", false},
		{"brace", "{{wildcard(1)}}", false},
		{"one brace", "a{b", false},
		{"space", "a b", false},
		{"slash", "a/b", false},
		{"parent folder", "..", false},
		{"dollar", "$JS", false},
		{"newline", "a\nb", false},
		{"NUL", "a\x00b", false},
		{"not ASCII", "agént", false},
		{"looks like a letter", "аgent", false}, // Cyrillic a
		{"invalid UTF-8", "a\xffb", false},
	}
	parsers := map[string]func(string) error{
		"owner":  func(s string) error { _, err := protocol.ParseOwner(s); return err },
		"tenant": func(s string) error { _, err := protocol.ParseTenant(s); return err },
		"worker": func(s string) error { _, err := protocol.ParseWorker(s); return err },
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := protocol.ValidToken(tt.id, protocol.MaxIDLen); got != tt.ok {
				t.Errorf("ValidToken(%q) = %v", tt.id, got)
			}
			for noun, parse := range parsers {
				if err := parse(tt.id); (err == nil) != tt.ok {
					t.Errorf("%s %q: %v", noun, tt.id, err)
				}
			}
		})
	}
}

func TestErrorsQuoteNoMoreThanALineOfBadIDs(t *testing.T) {
	t.Parallel()
	_, err := protocol.ParseOwner(strings.Repeat("*", 1<<20))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("error has %d bytes", len(err.Error()))
	}
}

func TestParseRef(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want protocol.Ref
		ok   bool
	}{
		{"e12", "e12", true},
		{"@e12", "e12", true},
		{"ref=e12", "e12", true},
		{" e12\n", "e12", true},
		{"e0", "", false},
		{"e012", "", false},
		{"e123456789", "e123456789", true},
		{"e1234567890", "", false},
		{"", "", false},
		{"e", "", false},
		{"12", "", false},
		{"E12", "", false},
		{"g3", "", false},
		{"@@e12", "", false},
		{"e12 e13", "", false},
		{"#login", "", false},
		{"e१२", "", false}, // digits of another script
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			if got, ok := protocol.ParseRef(tt.in); got != tt.want || ok != tt.ok {
				t.Errorf("ParseRef(%q) = %q, %v; want %q, %v", tt.in, got, ok, tt.want, tt.ok)
			}
		})
	}
}
