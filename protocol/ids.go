package protocol

import (
	"fmt"
	"strconv"
)

// Ids are typed so that mixing two of them is a compile error. Every id that
// becomes a NATS subject token or an object-store name consists of
// [A-Za-z0-9_-] only: nothing in it can be a wildcard, a separator or a path.
type (
	// Tenant is a trust domain: a NATS account.
	Tenant string
	// Owner is the durable id of one agent's environment, the unit of order.
	Owner string
	// RequestID names one request of an agent for ever (see requestid.go).
	RequestID string
	// WorkerID is a worker's name plus a boot nonce: a restarted worker is
	// another worker.
	WorkerID string
	// ObservationID names what an agent was shown, "o-GENERATION-N".
	ObservationID string
	// Ref names one DOM node within a generation, "e12".
	Ref string
	// GroupRef names a record or another group of elements, "g3".
	GroupRef string
	// Continuation names the rest of an observation, "c-GENERATION-N".
	Continuation string
	// DialogID is "d-GENERATION-N".
	DialogID string
	// PageID names a tab, "t1"; never reused in a generation.
	PageID string
	// FrameID is Chromium's id of a frame.
	FrameID string
)

// Epoch is the stream sequence of the owner record that made the present
// assignment.
type Epoch uint64

// Generation counts an owner's environments: +1 at each restore or rebuild.
type Generation uint64

// Seq is a stream sequence.
type Seq uint64

// Shard is the decimal shard token.
type Shard int

// String is the shard as a subject token.
func (s Shard) String() string { return strconv.Itoa(int(s)) }

// Lane is one of an owner's two queues.
type Lane string

// The lanes. Control has its own so that a blocked action cannot block what
// would unblock it.
const (
	LaneQueue   Lane = "q"
	LaneControl Lane = "c"
)

// MaxIDLen bounds tenants, owners and worker ids, in bytes.
const MaxIDLen = 64

// ValidToken reports whether s may stand as one token of a subject, be used as
// a filter, or name an object: 1 to max bytes of [A-Za-z0-9_-].
//
// A raw publish can store the literal token "*" in a stream, and a purge
// filtered by "its" subject would empty every queue that the wildcard matches;
// so everything that builds a subject from stored data asks here first.
func ValidToken(s string, maxLen int) bool {
	if s == "" || len(s) > maxLen {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// ParseOwner checks an owner id: 1-64 of [A-Za-z0-9_-].
func ParseOwner(s string) (Owner, error) {
	if !ValidToken(s, MaxIDLen) {
		return "", fmt.Errorf("owner %q: want 1-%d characters of A-Z a-z 0-9 _ -", clip(s, 80), MaxIDLen)
	}
	return Owner(s), nil
}

// ParseTenant checks a tenant id: 1-64 of [A-Za-z0-9_-].
func ParseTenant(s string) (Tenant, error) {
	if !ValidToken(s, MaxIDLen) {
		return "", fmt.Errorf("tenant %q: want 1-%d characters of A-Z a-z 0-9 _ -", clip(s, 80), MaxIDLen)
	}
	return Tenant(s), nil
}

// ParseWorker checks a worker id, NAME-NONCE.
func ParseWorker(s string) (WorkerID, error) {
	if !ValidToken(s, MaxIDLen) {
		return "", fmt.Errorf("worker %q: want 1-%d characters of A-Z a-z 0-9 _ -", clip(s, 80), MaxIDLen)
	}
	return WorkerID(s), nil
}

// OwnerKey is an owner with its tenant: the key of everything that is kept per
// environment.
type OwnerKey struct {
	Tenant Tenant `json:"tenant"`
	Owner  Owner  `json:"owner"`
}

// String is "tenant/owner", for people and logs.
func (k OwnerKey) String() string { return string(k.Tenant) + "/" + string(k.Owner) }

// clip bounds what an error quotes of somebody's input, in bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
