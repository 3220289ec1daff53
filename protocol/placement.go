package protocol

import (
	"encoding/binary"
	"hash/fnv"
)

// Verbs of bf.ctl.WORKER.VERB by which a leader compares what a worker holds
// with the records.
const (
	VerbHeld    = "held"    // HeldQuery, HeldReply
	VerbConfirm = "confirm" // OwnerQuery, ControlReply: write the record, so that it decides
)

// OpsExplain asks why an owner is where it is, or why it waits:
// bf.ops.leader.explain, OwnerQuery, ExplainReply. All coordinators hear it, and
// the leader of the owner's shard answers. Its subject is not one of the queue
// group's (bf.ops.*): a message that comes twice on a connection uses up the one
// answer that its user may give (seen on 2.15).
const OpsExplain = "leader.explain"

// HeldShard says which owners of one shard a worker holds: how many, and a
// digest of their (owner, epoch) pairs. Each shard's leader compares its own.
type HeldShard struct {
	Shard  Shard  `json:"shard"`
	Owners int    `json:"owners"`
	Hash   uint64 `json:"hash"`
}

// PairHash is the digest of an owner and its epoch (FNV-1a, 64 bits). Digests
// are combined by exclusive or, which needs no order.
func PairHash(k OwnerKey, e Epoch) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.String()))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(e))
	_, _ = h.Write(b[:])
	return h.Sum64()
}

// HeldQuery asks which owners of a shard a worker holds.
type HeldQuery struct {
	V     int   `json:"v"`
	Shard Shard `json:"shard"`
}

// HeldReply answers it.
type HeldReply struct {
	V    int         `json:"v"`
	Held []HeldOwner `json:"held"`
}

// HeldOwner is an owner that a worker holds, under the epoch of the newest
// assignment that it was told of.
type HeldOwner struct {
	Key   OwnerKey `json:"key"`
	Epoch Epoch    `json:"epoch"`
}

// HeldMismatch is a worker whose owners of a shard are not those that the
// records name.
type HeldMismatch struct {
	Worker   WorkerID `json:"worker"`
	Shard    Shard    `json:"shard"`
	Since    Time     `json:"since"`
	Recorded int      `json:"recorded"`
	Held     int      `json:"held"`
}

// Unlimited is a quota without a limit.
const Unlimited = -1

// Quotas bound what a tenant may use of the fleet. Operators write them to the
// bucket bf_policy under QuotasKey; coordinators watch it. 0 is the
// coordinator's default, Unlimited no limit.
type Quotas struct {
	V int `json:"v"`
	// Owners is how many owners may have a record; deleted ones do not count.
	Owners int `json:"owners,omitempty"`
	// Environments is how many may be live, or on their way to a worker, at once.
	Environments int `json:"environments,omitempty"`
	// QueueBytes bounds the bodies of the tenant's unanswered requests.
	QueueBytes int64 `json:"queue_bytes,omitempty"`
	// Labels must be those of every worker that takes the tenant's owners.
	Labels map[string]string `json:"labels,omitempty"`
}

// QuotasKey is the key of a tenant's quotas in the bucket bf_policy. It has three
// tokens: no policy of a tenant has its name.
func QuotasKey(t Tenant) string { return "tenant." + string(t) + ".quotas" }

// TenantUsage is what a tenant uses of one shard.
type TenantUsage struct {
	Tenant       Tenant `json:"tenant"`
	Owners       int    `json:"owners"`
	Environments int    `json:"environments"`
	QueueBytes   int64  `json:"queue_bytes,omitempty"`
}

// ShardLead is what the leader of a shard tells the other coordinators.
type ShardLead struct {
	Shard      Shard          `json:"shard"`
	Waiting    int            `json:"waiting,omitempty"`
	Tenants    []TenantUsage  `json:"tenants,omitempty"`
	Mismatches []HeldMismatch `json:"mismatches,omitempty"`
}

// CoordinatorBeat is what a coordinator says of itself on bf.crd.ID, every
// second: so shards are spread over the living, and quotas hold over shards.
type CoordinatorBeat struct {
	V           int         `json:"v"`
	Coordinator WorkerID    `json:"coordinator"`
	Leads       []ShardLead `json:"leads"`
}

// CoordinatorSubject carries a coordinator's beats (core NATS).
func CoordinatorSubject(id WorkerID) string { return "bf.crd." + string(id) }

// Score is how one worker was judged for an owner.
type Score struct {
	Worker WorkerID `json:"worker"`
	Points int      `json:"points"`
	// Parts are what the points are made of: slots, memory, cpu, warm.
	Parts map[string]int `json:"parts,omitempty"`
	// Excluded is why it could not take the owner; empty where it could.
	Excluded string `json:"excluded,omitempty"`
}

// Decision is a placement, with the scores that led to it. No worker: nobody
// could take the owner.
type Decision struct {
	At     Time     `json:"at"`
	Reason string   `json:"reason"`
	Worker WorkerID `json:"worker,omitempty"`
	Scores []Score  `json:"scores"`
}

// ExplainReply says why an owner is where it is, or why it waits.
type ExplainReply struct {
	V int `json:"v"`
	// Owner is absent while there is no record.
	Owner *OwnerInfo `json:"owner,omitempty"`
	// Holder is what is known of the worker that the record names.
	Holder *WorkerInfo `json:"holder,omitempty"`
	// QueueQ and QueueC are the requests behind the cursors of the lanes, at
	// least: the leader reads a queue's depth, no more.
	QueueQ int `json:"queue_q"`
	QueueC int `json:"queue_c"`
	// Waits is what the owner waits for, in a few words; empty when for nothing.
	Waits string `json:"waits,omitempty"`
	// Position in the line of owners that wait for a worker; 1 is next.
	Position int `json:"position,omitempty"`
	// Decision is the last one that this leader took.
	Decision *Decision `json:"decision,omitempty"`
	Leader   WorkerID  `json:"leader,omitempty"`
	Error    *Error    `json:"error,omitempty"`
}
