package protocol_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

// lastMillisecond is the largest time that 48 bits hold: in the year 10889.
const lastMillisecond = 1<<48 - 1

func TestParseRequestID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, id string
		ms       int64 // Unix milliseconds; -1: refused
	}{
		// The example of the ULID specification.
		{"ULID of the specification", "01ARZ3NDEKTSV4RRFFQ69G5FAV", 1469922850259},
		{"ULID of 1970", "00000000000000000000000000", 0},
		{"largest ULID", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", lastMillisecond},
		{"130 bits", "80000000000000000000000000", -1},
		{"lower-case ULID", "01arz3ndektsv4rrffq69g5fav", -1},
		{"letter I", "01ARZ3NDEKTSV4RRFFQ69G5FAI", -1},
		{"letter U in the time", "0UARZ3NDEKTSV4RRFFQ69G5FAV", -1},
		{"ULID too short", "01ARZ3NDEKTSV4RRFFQ69G5FA", -1},
		{"ULID too long", "01ARZ3NDEKTSV4RRFFQ69G5FAVA", -1},
		{"wildcard in a ULID", "01ARZ3NDEKTSV4RRFFQ69G5FA*", -1},
		// The example of RFC 9562, appendix A.6.
		{"UUIDv7 of the RFC", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", 1645557742000},
		{"largest UUIDv7", "ffffffff-ffff-7fff-bfff-ffffffffffff", lastMillisecond},
		{"UUIDv4", "919108f7-52d1-4320-9bac-f847db4148a8", -1},
		{"variant of Microsoft", "017f22e2-79b0-7cc3-d8c4-dc0c0c07398f", -1},
		{"upper-case UUIDv7", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", -1},
		{"hyphens elsewhere", "017f22e27-9b0-7cc3-98c4-dc0c0c07398f", -1},
		{"UUIDv7 without hyphens", "017f22e279b07cc398c4dc0c0c07398f", -1},
		{"UUIDv7 in braces", "{017f22e2-79b0-7cc3-98c4-dc0c0c0739}", -1},
		{"empty", "", -1},
		{"a name of ours", "s4711-1764537600", -1},
		{"multi-byte of the right length", strings.Repeat("é", 13), -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id, at, err := protocol.ParseRequestID(tt.id)
			if tt.ms < 0 {
				if !errors.Is(err, protocol.ErrRequestID) || id != "" {
					t.Errorf("got %q, %v; want ErrRequestID", id, err)
				}
				return
			}
			if err != nil || string(id) != tt.id || at.UnixMilli() != tt.ms {
				t.Errorf("got %q of %d, %v; want %d", id, at.UnixMilli(), err, tt.ms)
			}
		})
	}
}

func TestNewRequestIDCarriesItsTime(t *testing.T) {
	t.Parallel()
	seen := map[protocol.RequestID]bool{}
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, lastMillisecond).Draw(t, "ms")
		id := protocol.NewRequestID(time.UnixMilli(ms))
		got, at, err := protocol.ParseRequestID(string(id))
		if err != nil || got != id || at.UnixMilli() != ms {
			t.Fatalf("%q: got %q of %d, %v", id, got, at.UnixMilli(), err)
		}
		if seen[id] {
			t.Fatalf("%q was made twice", id)
		}
		seen[id] = true
	})
}

func TestRequestIDsOfLaterMillisecondsSortLater(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, lastMillisecond-1).Draw(t, "ms")
		a, b := protocol.NewRequestID(time.UnixMilli(ms)), protocol.NewRequestID(time.UnixMilli(ms+1))
		if a >= b {
			t.Fatalf("%q of %d is not before %q", a, ms, b)
		}
	})
}

func TestSequenceRequestID(t *testing.T) {
	t.Parallel()
	created := time.Unix(1764537600, 999)
	id := protocol.SequenceRequestID(4711, created)
	if id != "s4711-1764537600" {
		t.Errorf("got %q", id)
	}
	if again := protocol.SequenceRequestID(4711, created.Add(time.Hour)); again == id {
		t.Errorf("a stream that was made anew gives the same name %q", id)
	}
	longest := protocol.SequenceRequestID(1<<64-1, time.Unix(1<<40, 0))
	if !protocol.ValidToken(string(longest), protocol.MaxIDLen) {
		t.Errorf("%q cannot be a subject's token", longest)
	}
	if _, _, err := protocol.ParseRequestID(string(longest)); err == nil {
		t.Errorf("%q is accepted from an agent", longest)
	}
}

func FuzzRequestID(f *testing.F) {
	for _, seed := range []string{
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
		"", "s1-1", "01ARZ3NDEKTSV4RRFFQ69G5FA*", "\xff\xfe", strings.Repeat("é", 18),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, at, err := protocol.ParseRequestID(s)
		if err != nil {
			if !errors.Is(err, protocol.ErrRequestID) || id != "" || len(err.Error()) > 300 {
				t.Errorf("%q: id %q, error %v", s, id, err)
			}
			return
		}
		if string(id) != s || !protocol.ValidToken(s, protocol.MaxIDLen) {
			t.Errorf("%q was accepted as %q", s, id)
		}
		if ms := at.UnixMilli(); ms < 0 || ms > lastMillisecond {
			t.Errorf("%q carries %d ms", s, ms)
		}
	})
}

func TestASequenceRequestIDHasOneSpelling(t *testing.T) {
	t.Parallel()
	for id, want := range map[protocol.RequestID]protocol.Seq{
		"s4711-1764537600": 4711, "s18446744073709551615-1": 1<<64 - 1,
		"": 0, "s": 0, "s-": 0, "4711-1764537600": 0, "s4711": 0, "s4711-": 0, "s04711-1": 0, "s+1-1": 0, "s1-+1": 0, "s1-01": 0,
		"s1-2-3": 0, "ss1-2": 0, "s18446744073709551616-1": 0, "s1-9223372036854775808": 0,
	} {
		seq, created, ok := protocol.ParseSequenceRequestID(id)
		if seq != want || ok != (want != 0) {
			t.Errorf("%q: %d %d %v, want %d", id, seq, created, ok, want)
		}
		if ok && protocol.SequenceRequestID(seq, time.Unix(created, 0)) != id {
			t.Errorf("%q: read as %d of %d", id, seq, created)
		}
	}
}
