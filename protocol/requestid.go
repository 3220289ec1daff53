package protocol

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Horizons of request ids. Agents' clocks count only here: an id carries the
// time at which its request was made, so that a copy which a network held back
// for too long is refused instead of run.
const (
	// ResendHorizon is how long after its id's time a request may be stored.
	ResendHorizon = 30 * time.Minute
	// FutureHorizon is how far an id's time may lie ahead of its store time.
	FutureHorizon = 5 * time.Minute
)

// ErrRequestID is wrapped by every error of ParseRequestID.
var ErrRequestID = errors.New("request id must be a ULID or a UUIDv7")

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// NewRequestID makes a ULID: 48 bits of Unix milliseconds, 80 random bits
// (github.com/ulid/spec). Two ids of one millisecond are not ordered; order
// comes from the stream.
func NewRequestID(now time.Time) RequestID {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	rand.Read(raw[6:])
	return RequestID(encodeULID(raw))
}

// encodeULID writes 128 bits as 26 base-32 digits, most significant first.
func encodeULID(raw [16]byte) string {
	hi, lo := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	var out [26]byte
	for i := 25; i >= 0; i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

// ParseRequestID checks an id and returns the time that it carries.
func ParseRequestID(s string) (RequestID, time.Time, error) {
	switch len(s) {
	case 26:
		at, ok := ulidTime(s)
		if !ok {
			return "", time.Time{}, fmt.Errorf("%w: %q is not a ULID", ErrRequestID, s)
		}
		return RequestID(s), at, nil
	case 36:
		at, ok := uuid7Time(s)
		if !ok {
			return "", time.Time{}, fmt.Errorf("%w: %q is not a UUIDv7", ErrRequestID, s)
		}
		return RequestID(s), at, nil
	}
	return "", time.Time{}, fmt.Errorf("%w, got %d characters", ErrRequestID, len(s))
}

// ulidTime accepts upper case only: an id is compared as a string, so one id
// must have one spelling.
func ulidTime(s string) (time.Time, bool) {
	if s[0] > '7' { // 26 digits hold 130 bits; the first digit has only three
		return time.Time{}, false
	}
	var ms uint64
	for i := range len(s) {
		d := strings.IndexByte(crockford, s[i])
		if d < 0 {
			return time.Time{}, false
		}
		if i < 10 {
			ms = ms<<5 | uint64(d)
		}
	}
	return time.UnixMilli(int64(ms)), true
}

// uuid7Time accepts lower-case RFC 9562 text, for the reason of ulidTime.
func uuid7Time(s string) (time.Time, bool) {
	var ms uint64
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return time.Time{}, false
			}
			continue
		}
		d := strings.IndexByte("0123456789abcdef", c)
		if d < 0 {
			return time.Time{}, false
		}
		if i < 13 {
			ms = ms<<4 | uint64(d)
		}
	}
	if s[14] != '7' || strings.IndexByte("89ab", s[19]) < 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(ms)), true
}

// SequenceRequestID names a request that came without a usable id:
// s<sequence>-<stream's creation, unix seconds>. Its publisher knows the
// sequence from the PubAck; the creation time keeps the name unique when the
// stream was made anew.
func SequenceRequestID(seq Seq, streamCreated time.Time) RequestID {
	return RequestID(fmt.Sprintf("s%d-%d", seq, streamCreated.Unix()))
}

// ParseSequenceRequestID reads a name that SequenceRequestID made: the sequence,
// and the stream's creation in Unix seconds.
func ParseSequenceRequestID(id RequestID) (seq Seq, created int64, ok bool) {
	digits, seconds, cut := strings.Cut(strings.TrimPrefix(string(id), "s"), "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	at, err2 := strconv.ParseInt(seconds, 10, 64)
	if !cut || err != nil || err2 != nil || SequenceRequestID(Seq(n), time.Unix(at, 0)) != id {
		return 0, 0, false // one name has one spelling
	}
	return Seq(n), at, true
}
