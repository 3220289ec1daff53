package checkpoints

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// EnvID names an environment in the store: 52 characters of a-z and 2-7. It is
// a hash, so that no text of a user stands in a key, keys differ in more than
// case, and none is a folder of another.
type EnvID string

const envIDLen = 52 // base32 of 256 bit without padding

var envEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// EnvIDOf is the environment of an owner. It takes no secret: the bucket and
// the owner's name alone must be enough to find the state again.
func EnvIDOf(k protocol.OwnerKey) EnvID {
	sum := sha256.Sum256(lengthPrefixed("browserfleet environment 1", string(k.Tenant), string(k.Owner)))
	return EnvID(strings.ToLower(envEncoding.EncodeToString(sum[:])))
}

// ParseEnvID checks an id that a person or a listing gave.
func ParseEnvID(s string) (EnvID, error) {
	if len(s) != envIDLen || strings.ToLower(s) != s {
		return "", fmt.Errorf("environment id: want %d lower-case characters", envIDLen)
	}
	if _, err := envEncoding.DecodeString(strings.ToUpper(s)); err != nil {
		return "", fmt.Errorf("environment id: not base32")
	}
	return EnvID(s), nil
}

// lengthPrefixed joins texts so that no two lists of texts give the same bytes.
func lengthPrefixed(texts ...string) []byte {
	var b []byte
	for _, t := range texts {
		b = strconv.AppendInt(b, int64(len(t)), 10)
		b = append(b, ':')
		b = append(b, t...)
	}
	return b
}

// Slot names. The sequence has 20 digits so that listing order is its order.
const seqDigits = 20

func slotPrefix(env EnvID) string { return "v1/" + string(env) + "/m/" }

func slotKey(env EnvID, seq uint64) string {
	return fmt.Sprintf("%s%0*d", slotPrefix(env), seqDigits, seq)
}

// slotSeq is the sequence in a slot's name; ok is false for a stranger's object.
func slotSeq(env EnvID, key string) (seq uint64, ok bool) {
	digits, found := strings.CutPrefix(key, slotPrefix(env))
	if !found || len(digits) != seqDigits {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil && seq > 0 && slotKey(env, seq) == key
}
