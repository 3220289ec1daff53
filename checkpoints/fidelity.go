package checkpoints

import (
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// From says what an environment started from.
type From string

// The sources.
const (
	FromClean      From = "clean"      // nothing was kept: a new environment
	FromCheckpoint From = "checkpoint" // a state was restored
)

// What a report counts and names.
const (
	KindCookies        = "cookies"
	KindStorageOrigins = "local_storage_origins"
	KindStorageItems   = "local_storage_items"
	KindTabs           = "tabs"
	KindParts          = "parts" // of a kind that this version cannot read
)

// maxLosses bounds how many losses a report names; the rest is counted.
const maxLosses = 50

// FidelityReport tells an agent what survived a restore and what did not. The
// worker maps it to the wire type.
type FidelityReport struct {
	From       From                `json:"from"`
	Generation protocol.Generation `json:"generation"`
	// The checkpoint that was restored; none when From is clean.
	CheckpointSeq   uint64     `json:"checkpoint_seq,omitempty"`
	CheckpointAt    *time.Time `json:"checkpoint_at,omitempty"`
	CheckpointAgeMS int64      `json:"checkpoint_age_ms,omitempty"`
	TookMS          int64      `json:"took_ms"`
	// Survived counts what is back, by kind, as read back from the browser where
	// that can be asked.
	Survived map[string]int `json:"survived,omitempty"`
	// Lost names what is not; LostMore counts losses beyond those named.
	Lost     []Loss `json:"lost,omitempty"`
	LostMore int    `json:"lost_more,omitempty"`
	// Skipped are newer manifests that could not be used.
	Skipped   []Skipped `json:"skipped,omitempty"`
	NewestSeq uint64    `json:"newest_seq,omitempty"`
	// LastURL is where the environment was. It is not opened by the restore.
	LastURL string `json:"last_url,omitempty"`
	// LastAction is the newest action that the state reflects.
	LastAction *LastAction `json:"last_action,omitempty"`
}

// Loss is something that did not survive. Name has no values: a cookie's domain,
// path and name, a storage key.
type Loss struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// NewFidelityReport begins the report of a restore from l: everything that the
// manifest alone tells. now is the time of the restore.
func NewFidelityReport(l *Loaded, generation protocol.Generation, now time.Time) *FidelityReport {
	r := &FidelityReport{
		From: FromClean, Generation: generation, Survived: map[string]int{},
		Skipped: slices.Clone(l.Skipped), NewestSeq: l.NewestSeq,
	}
	if l.Fresh() {
		return r
	}
	at := l.Manifest.StateAt
	r.From, r.CheckpointSeq, r.CheckpointAt = FromCheckpoint, l.Manifest.StateSeq, &at
	r.CheckpointAgeMS = max(0, now.Sub(at).Milliseconds()) // another machine's clock may be ahead
	r.LastURL, r.LastAction = l.State.LastURL(), l.Manifest.LastAction
	if l.Unread > 0 {
		r.Lose(KindParts, "state of a newer version", "kept in the store, not restored by this version")
	}
	return r
}

// Keep counts what is back.
func (r *FidelityReport) Keep(kind string, n int) {
	if n > 0 {
		r.Survived[kind] += n
	}
}

// Lose names what is not.
func (r *FidelityReport) Lose(kind, name, reason string) {
	if len(r.Lost) == maxLosses {
		r.LostMore++
		return
	}
	r.Lost = append(r.Lost, Loss{Kind: kind, Name: clip(name), Reason: reason})
}

// clip bounds a name that a page chose.
func clip(name string) string {
	const limit = 200 // bytes
	if len(name) <= limit {
		return name
	}
	return string([]rune(name[:limit])) + "…"
}
