package protocol

import (
	"slices"
	"time"
)

// Verbs of the agents' services for the life of an environment, fleet.VERB.OWNER.
const (
	ServiceAcquire = "acquire" // AcquireQuery, AcquireReply
	ServiceRelease = "release" // ReleaseQuery, ControlReply
	ServiceClose   = "close"   // no body, ControlReply
	ServiceDelete  = "delete"  // no body, ControlReply
	ServiceReset   = "reset"   // no body, ControlReply
)

// Verbs of the operators' services for it, bf.ops.VERB.
const (
	OpsReset   = "reset"   // OwnerQuery, ControlReply
	OpsControl = "control" // ControlQuery, ControlReply
)

// Verbs of bf.ctl.WORKER.VERB for it.
const (
	// VerbHolder asks the holder of an owner to change its life: HolderQuery,
	// AcquireReply.
	VerbHolder = "holder"
	// VerbErase asks any worker to remove what is kept of a deleted owner:
	// OwnerQuery, ControlReply. Workers have the store; coordinators do not.
	VerbErase = "erase"
)

// Limits of the life cycle.
const (
	// DefaultLeaseTTL is how long a client lease lives without being used.
	DefaultLeaseTTL = 10 * time.Minute
	MinLeaseTTL     = 5 * time.Second
	MaxLeaseTTL     = 24 * time.Hour
	// MaxLeases bounds the leases of one owner: they live in its record.
	MaxLeases = 8
	// DefaultControlTTL and MaxControlTTL bound a person's takeover.
	DefaultControlTTL = 10 * time.Minute
	MaxControlTTL     = 4 * time.Hour
	// DefaultLifeWait and MaxLifeWait bound how long a service waits for an
	// environment to open or to end.
	DefaultLifeWait = 30 * time.Second
	MaxLifeWait     = 90 * time.Second
	// MaxUnsaved bounds how many effects a record remembers as not saved.
	MaxUnsaved = 32
	// FailureWindow and MaxFailures: so many deaths in this time without a
	// completed action, and the owner has failed.
	FailureWindow = 10 * time.Minute
	MaxFailures   = 3
	// ResetPause is how long after its failure an agent may not reset its owner;
	// an operator may at any time.
	ResetPause = 30 * time.Second
)

// LeaseID names a client lease. An agent may choose it, 1-64 of [A-Za-z0-9_-].
type LeaseID string

// ClientLease is an agent's handle on an environment. It lives in the record, so
// that any holder and any coordinator knows it.
type ClientLease struct {
	ID      LeaseID `json:"id"`
	TTLMS   int64   `json:"ttl_ms"`
	Expires Time    `json:"expires"`
}

// Want is somebody who waits for an environment to open: an agent's acquire,
// under the lease that it will get, or a person, see ControlWant.
type Want struct {
	Lease LeaseID `json:"lease"`
	Until Time    `json:"until"`
}

// ControlWant is the want of a person who takes control. No agent can choose it
// as the id of a lease.
func ControlWant(holder string) LeaseID { return LeaseID("control:" + holder) }

// Capability is something that an environment can do beyond the actions that
// all have.
type Capability string

// The capabilities.
const (
	CapabilityCheckpoint Capability = "checkpoint" // its state is kept
	CapabilityScreenshot Capability = "screenshot"
	CapabilityExtract    Capability = "extract"
	CapabilityCredential Capability = "fill_credential"
)

// Capabilities are all capabilities.
var Capabilities = []Capability{CapabilityCheckpoint, CapabilityScreenshot, CapabilityExtract, CapabilityCredential}

// AcquireQuery asks for an environment and a lease on it. The same lease again
// renews it.
type AcquireQuery struct {
	V     int     `json:"v"`
	Lease LeaseID `json:"lease,omitempty"`
	// Persistence and policy; empty is what the owner has, or the default.
	Persistence Persistence `json:"persistence,omitempty"`
	Policy      string      `json:"policy,omitempty"`
	// DialogPolicy says who answers dialogs; empty is what the owner has, or the
	// worker's default.
	DialogPolicy DialogPolicy `json:"dialog_policy,omitempty"`
	// What is empty is what the owner has, or the default.
	Setting
	// Isolation: empty is process.
	Isolation Isolation `json:"isolation,omitempty"`
	// Requires: without one of these the answer is capability_unsupported.
	Requires []Capability `json:"requires,omitempty"`
	TTLMS    int64        `json:"ttl_ms,omitempty"`
	// TimeoutMS is how long the agent waits for the environment to open.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// AcquireReply answers it.
type AcquireReply struct {
	V            int          `json:"v"`
	OK           bool         `json:"ok"`
	Generation   Generation   `json:"generation,omitempty"`
	Persistence  Persistence  `json:"persistence,omitempty"`
	Policy       string       `json:"policy,omitempty"`
	Capabilities []Capability `json:"capabilities,omitempty"`
	Setting
	Lease *ClientLease `json:"lease,omitempty"`
	// Control is the person who drives, if one does.
	Control *ControlLease `json:"control,omitempty"`
	Error   *Error        `json:"error,omitempty"`
}

// ReleaseQuery gives a lease up, or withdraws the wait for it.
type ReleaseQuery struct {
	V     int     `json:"v"`
	Lease LeaseID `json:"lease"`
}

// OwnerQuery names an owner.
type OwnerQuery struct {
	V   int      `json:"v"`
	Key OwnerKey `json:"key"`
}

// What a ControlQuery asks.
const (
	ControlTake = "take"
	ControlGive = "give"
)

// ControlQuery takes an environment over for a person, or gives it back. The
// same holder may take again, which renews.
type ControlQuery struct {
	V      int      `json:"v"`
	Key    OwnerKey `json:"key"`
	Op     string   `json:"op"`
	Holder string   `json:"holder"`
	TTLMS  int64    `json:"ttl_ms,omitempty"`
}

// What a HolderQuery asks.
const (
	HolderAcquire = "acquire"
	HolderRelease = "release"
	HolderClose   = "close"
	HolderDelete  = "delete"
	HolderControl = "control"
)

// HolderQuery asks the holder of an owner to change its life.
type HolderQuery struct {
	V       int           `json:"v"`
	Key     OwnerKey      `json:"key"`
	Op      string        `json:"op"`
	Acquire *AcquireQuery `json:"acquire,omitempty"`
	Lease   LeaseID       `json:"lease,omitempty"`
	Control *ControlQuery `json:"control,omitempty"`
	WaitMS  int64         `json:"wait_ms,omitempty"`
}

// UnsavedEffect is an answered effect that no checkpoint holds yet.
type UnsavedEffect struct {
	Seq     Seq       `json:"seq"`
	Request RequestID `json:"request"`
}

// TTL is the lease's time to live, within the limits.
func (q *AcquireQuery) TTL() time.Duration {
	return within(q.TTLMS, DefaultLeaseTTL, MinLeaseTTL, MaxLeaseTTL)
}

// Wait is how long the agent waits, within the limits.
func (q *AcquireQuery) Wait() time.Duration {
	return within(q.TimeoutMS, DefaultLifeWait, time.Millisecond, MaxLifeWait)
}

// TTL is how long the person keeps control without asking again.
func (q *ControlQuery) TTL() time.Duration {
	return within(q.TTLMS, DefaultControlTTL, time.Second, MaxControlTTL)
}

// within is a number of milliseconds as a duration between two limits, and the
// default for none. A number that overflows a duration is the longest.
func within(given int64, normal, least, most time.Duration) time.Duration {
	switch {
	case given <= 0:
		return normal
	case given > most.Milliseconds():
		return most
	}
	return max(least, time.Duration(given)*time.Millisecond)
}

// Check is the error of a query that no owner could meet.
func (q *AcquireQuery) Check() *Error {
	switch {
	case q.V != Version:
		return Errorf(CodeUnsupportedVersion, "version %d is unknown here (%d)", q.V, Version)
	case q.Lease != "" && !ValidToken(string(q.Lease), MaxIDLen):
		return Errorf(CodeInvalidArgument, "lease: want 1-%d characters of A-Z a-z 0-9 _ -", MaxIDLen)
	case q.Persistence != "" && q.Persistence != PersistResume && q.Persistence != PersistEphemeral:
		return Errorf(CodeInvalidArgument, "persistence: want %s or %s", PersistResume, PersistEphemeral)
	case q.Policy != "" && !ValidToken(q.Policy, MaxIDLen):
		return Errorf(CodeInvalidArgument, "policy: want the name of a policy")
	case q.DialogPolicy != "" && !slices.Contains(DialogPolicies, q.DialogPolicy):
		return Errorf(CodeInvalidArgument, "dialog_policy: want one of %v", DialogPolicies)
	case q.Isolation == IsolationShared:
		return Errorf(CodeCapabilityUnsupported, "isolation %s is not offered here: every environment has a browser process of its own (%s)", IsolationShared, IsolationProcess)
	case q.Isolation != "" && q.Isolation != IsolationProcess:
		return Errorf(CodeInvalidArgument, "isolation: want %s", IsolationProcess)
	}
	if err := q.Setting.Check(); err != nil {
		return err
	}
	for _, c := range q.Requires {
		if !slices.Contains(Capabilities, c) {
			return Errorf(CodeCapabilityUnsupported, "%s: want some of %v", clip(string(c), 40), Capabilities)
		}
	}
	return nil
}

// Check is the error of a query that cannot be read as one.
func (q *ControlQuery) Check() *Error {
	switch {
	case q.V != Version:
		return Errorf(CodeUnsupportedVersion, "version %d is unknown here (%d)", q.V, Version)
	case q.Op != ControlTake && q.Op != ControlGive:
		return Errorf(CodeInvalidArgument, "op: want %s or %s", ControlTake, ControlGive)
	case !ValidToken(q.Holder, MaxIDLen):
		return Errorf(CodeInvalidArgument, "holder: want 1-%d characters of A-Z a-z 0-9 _ -", MaxIDLen)
	}
	return checkKey(q.Key)
}

// Check is the error of a query that names no owner.
func (q *OwnerQuery) Check() *Error { return checkKey(q.Key) }

func checkKey(k OwnerKey) *Error {
	if _, err := ParseTenant(string(k.Tenant)); err != nil {
		return Errorf(CodeInvalidArgument, "%v", err)
	}
	if _, err := ParseOwner(string(k.Owner)); err != nil {
		return Errorf(CodeInvalidArgument, "%v", err)
	}
	return nil
}
