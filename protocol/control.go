package protocol

// Verbs of bf.ctl.WORKER.VERB.
const (
	VerbAssign  = "assign"
	VerbRelease = "release"
	VerbDrain   = "drain"
	VerbPing    = "ping"
)

// Heartbeat is what a worker says of itself on bf.hb.WORKER, every 250 ms.
type Heartbeat struct {
	V       int      `json:"v"`
	Worker  WorkerID `json:"worker"`
	Host    string   `json:"host"`
	PID     int      `json:"pid"`
	Started Time     `json:"started"`
	// Number counts the worker's heartbeats from 1.
	Number   uint64 `json:"number,omitempty"`
	Slots    int    `json:"slots"`
	Owners   int    `json:"owners"`
	Draining bool   `json:"draining,omitempty"`
	// Ready: it can open environments, and has shown it.
	Ready bool `json:"ready"`
	// Full: it takes no owner now although it is ready and has slots, for want of
	// memory or CPU. What it holds goes on.
	Full bool `json:"full,omitempty"`
	// Why it is not ready, or full; for people.
	Why string `json:"why,omitempty"`
	// Browser is the product and version that it runs.
	Browser string `json:"browser,omitempty"`
	// OwnersHash is a digest of its (owner, epoch) pairs.
	OwnersHash uint64 `json:"owners_hash,omitempty"`
	// Shards are those of which it holds owners.
	Shards []HeldShard `json:"shards,omitempty"`
	// FreeMemoryMB is what the host, or the worker's memory limit where that is
	// less, has left for more environments, in MiB; 0 is unknown.
	FreeMemoryMB int64 `json:"free_memory_mb,omitempty"`
	// CPULoad is the share of the worker's CPUs in use over the last seconds: 1
	// is all of them, more is a queue, 0 idle or unknown.
	CPULoad float64 `json:"cpu_load,omitempty"`
	// Labels are the operator's, and decide whose owners it takes.
	Labels map[string]string `json:"labels,omitempty"`
	// Capabilities are what every environment of the worker can do.
	Capabilities []Capability `json:"capabilities,omitempty"`
}

// WorkerRecord is the worker's own small record: writing it is what proves that
// a quorum of the servers hears the worker.
type WorkerRecord struct {
	V      int      `json:"v"`
	Worker WorkerID `json:"worker"`
	At     Time     `json:"at"`
}

// Assignment tells a worker that a record names it. It is a hint with the fence
// in it: the worker reads the record itself.
type Assignment struct {
	V     int      `json:"v"`
	Key   OwnerKey `json:"key"`
	Shard Shard    `json:"shard"`
	Fence Seq      `json:"fence"`
	// Reason why the owner is placed: new, wake, worker_lost, moved.
	Reason string `json:"reason"`
}

// ControlReply answers a control request.
type ControlReply struct {
	V     int    `json:"v"`
	OK    bool   `json:"ok"`
	Error *Error `json:"error,omitempty"`
	// CountedFrom is the number of the first heartbeat that counts what was done.
	CountedFrom uint64 `json:"counted_from,omitempty"`
}

// TrimHint says up to where the holder has persisted its cursors.
type TrimHint struct {
	V       int `json:"v"`
	CursorQ Seq `json:"cursor_q"`
	CursorC Seq `json:"cursor_c"`
}

// Verbs of the agents' services, fleet.VERB.OWNER.
const (
	ServiceResult   = "result"
	ServiceDescribe = "describe"
	ServiceEvidence = "evidence"
	ServiceList     = "list"
)

// Verbs of the operators' services, bf.ops.VERB.
const (
	OpsOwners  = "owners"
	OpsWorkers = "workers"
	OpsDrain   = "drain"
)

// ResultQuery asks what became of a request.
type ResultQuery struct {
	V       int       `json:"v"`
	Request RequestID `json:"request"`
}

// Fates of a request, as fleet.result tells them. While the servers cannot tell
// (one that leads a stream again has not caught up), the reply is the error
// unavailable: ask again.
const (
	// FateAnswered comes with the result.
	FateAnswered = "answered"
	// FateQueued comes with the position in the owner's queue.
	FateQueued  = "queued"
	FateRunning = "running"
	// FateTooOld: it was answered, and the result is not kept any more; or its id is
	// too old to be sent again, and nothing tells whether it was ever stored. For
	// the name of a request without an id: the stream went past its sequence, or is
	// another one.
	FateTooOld = "too_old"
	// FateNotStored: it is safe to send it again, under the same id. The name of a
	// request without an id is told so only where the stream never came to its
	// sequence.
	FateNotStored = "not_stored"
)

// ResultReply answers a ResultQuery.
type ResultReply struct {
	V      int     `json:"v"`
	Fate   string  `json:"fate,omitempty"`
	Result *Result `json:"result,omitempty"`
	// Position in the queue, 1 is next.
	Position int    `json:"position,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// MaxEvidence is how many events one answer holds.
const MaxEvidence = 50

// EvidenceQuery asks for the stored events of an owner: the newest ones, or those
// after a sequence.
type EvidenceQuery struct {
	V     int `json:"v"`
	After Seq `json:"after,omitempty"`
	// Limit is 1-50; default 20.
	Limit int `json:"limit,omitempty"`
}

// EvidenceReply answers an EvidenceQuery, oldest event first. More: there are later
// ones, after the last that is here.
type EvidenceReply struct {
	V      int             `json:"v"`
	Events []EvidenceEntry `json:"events"`
	More   bool            `json:"more,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// EvidenceEntry is a stored event.
type EvidenceEntry struct {
	Seq   Seq   `json:"seq"`
	Event Event `json:"event"`
}

// OwnerInfo is an owner as services describe it.
type OwnerInfo struct {
	Key        OwnerKey    `json:"key"`
	Shard      Shard       `json:"shard"`
	State      RecordState `json:"state"`
	Worker     WorkerID    `json:"worker,omitempty"`
	Epoch      Epoch       `json:"epoch,omitempty"`
	Generation Generation  `json:"generation"`
	Since      Time        `json:"since"`
	Running    RequestID   `json:"running,omitempty"`
	// Attempt is how often Running was STARTed: twice for a read whose first
	// holder died.
	Attempt int `json:"attempt,omitempty"`
	// Leases are the agents' that live; Control is the person who drives.
	Leases  []ClientLease `json:"leases,omitempty"`
	Control *ControlLease `json:"control,omitempty"`
}

// OwnersReply lists owners.
type OwnersReply struct {
	V         int         `json:"v"`
	Owners    []OwnerInfo `json:"owners"`
	Truncated bool        `json:"truncated,omitempty"`
	Error     *Error      `json:"error,omitempty"`
}

// WorkerInfo is a worker as coordinators see it.
type WorkerInfo struct {
	Heartbeat
	State    string `json:"state"`
	LastSeen Time   `json:"last_seen"`
	// Eligible: it may take owners. That is not the same as connected (State), nor
	// as draining, when it hands over those that it has.
	Eligible bool `json:"eligible,omitempty"`
	// Ineligible is why it may not.
	Ineligible string `json:"ineligible,omitempty"`
	// Mismatches are where what it holds is not what the records name.
	Mismatches []HeldMismatch `json:"mismatches,omitempty"`
}

// WorkersReply lists workers.
type WorkersReply struct {
	V       int          `json:"v"`
	Workers []WorkerInfo `json:"workers"`
	Error   *Error       `json:"error,omitempty"`
}

// DrainQuery asks that a worker hand over its owners and stop.
type DrainQuery struct {
	V      int      `json:"v"`
	Worker WorkerID `json:"worker"`
}
