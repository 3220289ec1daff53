package checkpoints

import (
	"encoding/json"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// Kind is what a manifest is.
type Kind string

// The kinds.
const (
	KindCheckpoint Kind = "checkpoint" // a state that was captured
	KindSeal       Kind = "seal"       // a new holder's first write: the same state, a new epoch
	KindRewrap     Kind = "rewrap"     // the same state under a new key
	KindTombstone  Kind = "tombstone"  // the environment was deleted
)

// Reason is why a manifest was written.
type Reason string

// The reasons.
const (
	ReasonPeriodic    Reason = "periodic"
	ReasonIdle        Reason = "idle"
	ReasonDrain       Reason = "drain"
	ReasonAfterAction Reason = "after_action"
	ReasonTakeover    Reason = "takeover"
	ReasonRequested   Reason = "requested"
)

// LastAction is evidence, not a cursor: which action the state already
// reflects. The owner record alone decides what runs.
type LastAction struct {
	StreamSeq     protocol.Seq           `json:"stream_seq"`
	ActionID      protocol.RequestID     `json:"action_id"`
	ObservationID protocol.ObservationID `json:"observation_id,omitempty"`
}

// Browser is the build that a state was captured from.
type Browser struct {
	Product         string `json:"product,omitempty"`
	FullVersion     string `json:"full_version,omitempty"`
	Major           int    `json:"major,omitempty"`
	Revision        string `json:"revision,omitempty"`
	ProtocolVersion string `json:"protocol_version,omitempty"`
	Platform        string `json:"platform,omitempty"`
}

// Capture tells how a state was taken.
type Capture struct {
	Consistent bool      `json:"consistent"`
	StartedAt  time.Time `json:"started_at"`
	TookMS     int64     `json:"took_ms"`
	Warnings   []string  `json:"warnings,omitempty"` // what was not captured, and why
}

// Emulation is what pages were told of the device.
type Emulation struct {
	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	UserAgent string `json:"ua,omitempty"`
	Locale    string `json:"locale,omitempty"`
	Timezone  string `json:"tz,omitempty"`
}

// Meta is what a holder records with a checkpoint.
type Meta struct {
	Reason     Reason              `json:"reason"`
	Generation protocol.Generation `json:"generation"`
	LastAction *LastAction         `json:"last_action,omitempty"`
	Browser    Browser             `json:"browser"`
	Capture    Capture             `json:"capture"`
	PolicyID   string              `json:"policy_id,omitempty"`
	Emulation  Emulation           `json:"emulation"`
}

// PartID names a part: "cookies", "ls:STORAGE_KEY". Later kinds: "ss:TAB:KEY",
// "idb:KEY/DATABASE".
type PartID string

// PartKind is the kind of a part's content.
type PartKind string

// The kinds that this version writes. Others, of a newer version, are carried
// on unread.
const (
	PartCookies      PartKind = "cookies"
	PartLocalStorage PartKind = "local_storage"
)

// Part describes one part of a state.
type Part struct {
	ID           PartID   `json:"id"`
	Kind         PartKind `json:"kind"`
	EncVersion   int      `json:"enc_version"` // version of the part's own encoding
	RawSize      int      `json:"raw_size"`
	RawSHA256    Digest   `json:"raw_sha256"`
	StoredSize   int      `json:"stored_size"`
	StoredSHA256 Digest   `json:"stored_sha256"`
	Comp         string   `json:"comp"`
	Where        Where    `json:"where"`
	BornSeq      uint64   `json:"born_seq"` // the checkpoint that first wrote these bytes
}

// Where says where a part's stored bytes are: one of the two.
type Where struct {
	Inline *Inline `json:"inline,omitempty"`
	Blob   string  `json:"blob,omitempty"` // key of an object of its own; not written yet
}

// Inline is a range of the bytes that follow the body.
type Inline struct {
	Off int `json:"off"`
	Len int `json:"len"`
}

// Totals of all parts, in bytes.
type Totals struct {
	Raw    int `json:"raw"`
	Stored int `json:"stored"`
}

// Body is the encrypted part of a manifest.
type Body struct {
	Kind Kind `json:"kind"`
	Meta
	ParentSeq uint64 `json:"parent_seq"` // the manifest that this one follows; 0: none
	// SinceSeq: every slot from here to this manifest was written by this
	// handle. A reader that wants to know whether the manifest stands on top of
	// a later epoch (a burned slot) need look only below this one.
	SinceSeq uint64 `json:"since_seq"`
	// StateSeq and StateAt are of the checkpoint whose state this is: a seal
	// repeats an older one's. Zero: there has never been a checkpoint.
	StateSeq        uint64    `json:"state_seq"`
	StateAt         time.Time `json:"state_at,omitzero"`
	Tabs            []Tab     `json:"tabs,omitempty"`
	Parts           []Part    `json:"parts"`
	Totals          Totals    `json:"totals"`
	MinReaderSchema int       `json:"min_reader_schema"`
}

// Manifest is a verified manifest. It holds no key of a part.
type Manifest struct {
	Header
	Body
}

// partRecord is a part as the body holds it: with its key.
type partRecord struct {
	Part
	DEK []byte `json:"dek"`
}

// bodyRecord is the body on disk. Its own Parts hide Body's.
type bodyRecord struct {
	Body
	Parts []partRecord `json:"parts"`
}

func (b bodyRecord) encode() ([]byte, error) { return json.Marshal(b) }

// storedPart is a part with its encrypted bytes.
type storedPart struct {
	partRecord
	stored []byte
}
