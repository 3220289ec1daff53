package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// DoneRing is how many finished ids an owner record carries.
const DoneRing = 64

// Persistence of an owner's state.
type Persistence string

// resume is the default; ephemeral never writes a checkpoint.
const (
	PersistResume    Persistence = "resume"
	PersistEphemeral Persistence = "ephemeral"
)

// OwnerRecord is the truth about one owner: who may run its actions and how far
// they are. Every write is a compare-and-set on the record's subject.
type OwnerRecord struct {
	V      int         `json:"v"`
	State  RecordState `json:"state"`
	Worker WorkerID    `json:"worker,omitempty"`
	// Epoch is 0 in the record that makes an assignment, and that record's own
	// sequence from the next write on.
	Epoch      Epoch      `json:"epoch,omitempty"`
	Generation Generation `json:"generation"`
	// Everything up to a cursor is answered.
	CursorQ   Seq       `json:"cursor_q"`
	CursorC   Seq       `json:"cursor_c"`
	InflightQ *Inflight `json:"inflight_q,omitempty"`
	InflightC *Inflight `json:"inflight_c,omitempty"`
	// Done are the ids of the newest finished requests, oldest first.
	Done []RequestID `json:"done,omitempty"`
	// ResultSeq is where BF_RES has the newest result that a holder created: the
	// stream's leader is behind while it is not that far.
	ResultSeq Seq `json:"result_seq,omitempty"`
	// Failures are the times of deaths without a completed action between them.
	Failures []Time `json:"failures,omitempty"`
	// Struck is the nonce of the START whose death was counted last: who takes over
	// before another START is written counts it no more.
	Struck string `json:"struck,omitempty"`
	// ActStreamCreated is BF_ACT's creation in Unix seconds: cursors belong to
	// that stream only.
	ActStreamCreated int64 `json:"act_stream_created,omitempty"`
	// ActStreamNanos is the rest of it, below a second: two streams can be made
	// within one. 0 is not known.
	ActStreamNanos int64           `json:"act_stream_nanos,omitempty"`
	Checkpoint     *CheckpointHint `json:"checkpoint,omitempty"`
	Persistence    Persistence     `json:"persistence,omitempty"`
	Policy         string          `json:"policy,omitempty"`
	// DialogPolicy; empty is the worker's.
	DialogPolicy DialogPolicy  `json:"dialog_policy,omitempty"`
	Control      *ControlLease `json:"control,omitempty"`
	// Setting is what its agents asked for; every holder opens it so.
	Setting
	// Requires are the capabilities that its agents asked for: only workers that
	// have them take the owner.
	Requires []Capability `json:"requires,omitempty"`
	// Leases are the agents' handles; the last one that ends lets the
	// environment hibernate.
	Leases []ClientLease `json:"leases,omitempty"`
	// Opening: the holder restores the environment. Whoever finds it in a record
	// that it takes over knows that the former holder died at it.
	Opening bool `json:"opening,omitempty"`
	// Slept: it was saved by hibernating, so nothing was lost since.
	Slept bool `json:"slept,omitempty"`
	// Lost: its worker was lost while it was idle, and nobody has opened it since;
	// the next result says so.
	Lost bool `json:"lost,omitempty"`
	// Unsaved are answered effects that no checkpoint holds yet, oldest first.
	Unsaved []UnsavedEffect `json:"unsaved,omitempty"`
	// Erase: the owner is deleted, and what is kept of it is not removed yet.
	// While it is set the record is not used for anything else.
	Erase bool `json:"erase,omitempty"`
	// Erasures is how often that was done, and Erased when it was last: what a
	// former holder was writing may have come after it.
	Erasures int  `json:"erasures,omitempty"`
	Erased   Time `json:"erased,omitzero"`
	// Wanted are those who wait for the environment to open although nothing is
	// queued.
	Wanted []Want `json:"wanted,omitempty"`
	// Since is when the state was entered.
	Since Time `json:"since"`
	// Nonce is new in every write: a writer that got no answer recognises its
	// own record by it.
	Nonce string `json:"nonce"`
}

// Inflight is a START: this holder is about to run, or is running, the request.
type Inflight struct {
	// Seq is 0 where the stream that held the request was replaced: then the
	// request, if it is stored again, is known by its id alone.
	Seq     Seq       `json:"seq"`
	Request RequestID `json:"request"`
	Kind    Kind      `json:"kind,omitempty"`
	Effect  Effect    `json:"effect,omitempty"`
	Nonce   string    `json:"nonce"`
	Attempt int       `json:"attempt"`
	// Target is the request that a cancel or an interrupt names.
	Target RequestID `json:"target,omitempty"`
	// Dialog is the one that an answer claims.
	Dialog DialogID `json:"dialog,omitempty"`
}

// Names reports whether the START is of this stored request.
func (in *Inflight) Names(seq Seq, id RequestID) bool {
	return in != nil && in.Request == id && (in.Seq == seq || in.Seq == 0)
}

// CheckpointHint says where the newest checkpoint is likely to be; the store
// alone decides.
type CheckpointHint struct {
	Seq uint64 `json:"seq"`
	At  Time   `json:"at"`
}

// ControlLease is a person's takeover of the environment.
type ControlLease struct {
	Holder  string `json:"holder"`
	Expires Time   `json:"expires"`
}

// Cursor is the lane's cursor.
func (r *OwnerRecord) Cursor(l Lane) Seq {
	if l == LaneControl {
		return r.CursorC
	}
	return r.CursorQ
}

// Inflight is the lane's START.
func (r *OwnerRecord) Inflight(l Lane) *Inflight {
	if l == LaneControl {
		return r.InflightC
	}
	return r.InflightQ
}

// SetInflight names what is about to run on the lane; nil when nothing is.
func (r *OwnerRecord) SetInflight(l Lane, in *Inflight) {
	if l == LaneControl {
		r.InflightC = in
		return
	}
	r.InflightQ = in
}

// Finish moves the lane's cursor to seq, ends its START and remembers the id.
func (r *OwnerRecord) Finish(l Lane, seq Seq, id RequestID) {
	if l == LaneControl {
		r.CursorC, r.InflightC = seq, nil
	} else {
		r.CursorQ, r.InflightQ = seq, nil
	}
	r.Remember(id)
}

// Remember puts an answered id into the ring, also one whose turn in its lane is
// still to come.
func (r *OwnerRecord) Remember(id RequestID) {
	if slices.Contains(r.Done, id) {
		return
	}
	r.Done = append(r.Done, id)
	if over := len(r.Done) - DoneRing; over > 0 {
		r.Done = slices.Delete(r.Done, 0, over)
	}
}

// IsDone reports whether the ring holds the id.
func (r *OwnerRecord) IsDone(id RequestID) bool { return slices.Contains(r.Done, id) }

// Move applies a transition of the record's state machine.
func (r *OwnerRecord) Move(ev RecordEvent, now time.Time) error {
	next, err := NextRecordState(r.State, ev)
	if err != nil {
		return err
	}
	if next != r.State {
		r.State, r.Since = next, At(now)
	}
	return nil
}

// Clone is a deep copy.
func (r *OwnerRecord) Clone() *OwnerRecord {
	c := *r
	c.Done = slices.Clone(r.Done)
	c.Failures = slices.Clone(r.Failures)
	c.Requires = slices.Clone(r.Requires)
	c.Leases, c.Unsaved, c.Wanted = slices.Clone(r.Leases), slices.Clone(r.Unsaved), slices.Clone(r.Wanted)
	for _, p := range []**Inflight{&c.InflightQ, &c.InflightC} {
		if *p != nil {
			v := **p
			*p = &v
		}
	}
	if r.Checkpoint != nil {
		v := *r.Checkpoint
		c.Checkpoint = &v
	}
	if r.Control != nil {
		v := *r.Control
		c.Control = &v
	}
	if r.Viewport != nil {
		v := *r.Viewport
		c.Viewport = &v
	}
	return &c
}

// DecodeOwnerRecord reads a stored record.
func DecodeOwnerRecord(b []byte) (*OwnerRecord, error) {
	var r OwnerRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("owner record: %w", err)
	}
	if r.V != Version {
		return nil, fmt.Errorf("owner record: version %d is unknown here (%d)", r.V, Version)
	}
	return &r, nil
}
