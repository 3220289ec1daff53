package protocol

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// ShardOf is the shard of an owner. It is the function that nats-server's
// subject mapping partition(n, ...) applies to the owner's token (FNV-1a, 32
// bits, modulo n), so that services find a stored owner without asking.
func ShardOf(o Owner, shards int) Shard {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o))
	return Shard(h.Sum32() % uint32(shards))
}

// Subjects inside the FLEET account. T is the tenant, O the owner, s the shard.

// ActSubject is where a request is stored: bf.act.s.T.O.q or .c.
func ActSubject(s Shard, k OwnerKey, l Lane) string {
	return "bf.act." + s.String() + "." + string(k.Tenant) + "." + string(k.Owner) + "." + string(l)
}

// PushSubject is where BF_ACT republishes a stored request.
func PushSubject(s Shard, k OwnerKey, l Lane) string {
	return "bf.push." + s.String() + "." + string(k.Tenant) + "." + string(k.Owner) + "." + string(l)
}

// OwnSubject is where the owner record stands.
func OwnSubject(s Shard, k OwnerKey) string {
	return "bf.own." + s.String() + "." + string(k.Tenant) + "." + string(k.Owner)
}

// ResSubject is where a request's one result stands.
func ResSubject(s Shard, k OwnerKey, r RequestID) string {
	return "bf.res." + s.String() + "." + string(k.Tenant) + "." + string(k.Owner) + "." + string(r)
}

// DoneSubject is where BF_RES republishes results; a tenant imports it as
// done.O.R.
func DoneSubject(k OwnerKey, r RequestID) string {
	return "bf.done." + string(k.Tenant) + "." + string(k.Owner) + "." + string(r)
}

// EventSubject is where an owner's transitions and events are stored.
func EventSubject(s Shard, k OwnerKey) string {
	return "bf.ev." + s.String() + "." + string(k.Tenant) + "." + string(k.Owner)
}

// TrimSubject carries a holder's hint (core NATS) that its persisted cursor
// moved, so that the shard's leader may purge.
func TrimSubject(s Shard, k OwnerKey) string {
	return "bf.trim." + s.String() + "." + string(k.Tenant) + "." + string(k.Owner)
}

// WorkerSubject is where a worker's own small record stands.
func WorkerSubject(w WorkerID) string { return "bf.wrk." + string(w) }

// HeartbeatSubject carries a worker's heartbeats (core NATS).
func HeartbeatSubject(w WorkerID) string { return "bf.hb." + string(w) }

// ControlSubject addresses one worker: verb is assign, release, drain or ping.
func ControlSubject(w WorkerID, verb string) string { return "bf.ctl." + string(w) + "." + verb }

// ServiceSubject is a tenant's service request: bf.svc.T.VERB.O, or bf.svc.T.VERB.
func ServiceSubject(t Tenant, verb string, o Owner) string {
	if o == "" {
		return "bf.svc." + string(t) + "." + verb
	}
	return "bf.svc." + string(t) + "." + verb + "." + string(o)
}

// OpsSubject is an operator's request.
func OpsSubject(verb string) string { return "bf.ops." + verb }

// Subjects as a tenant's account sees them.

// AgentActSubject is where an agent publishes: act.O.q or act.O.c.
func AgentActSubject(o Owner, l Lane) string { return "act." + string(o) + "." + string(l) }

// AgentDoneSubject is where an agent hears of its results: done.O.R, or all of
// them with r = ">".
func AgentDoneSubject(o Owner, r RequestID) string { return "done." + string(o) + "." + string(r) }

// AgentEventSubject is where an agent hears of events.
func AgentEventSubject(o Owner) string { return "events." + string(o) }

// AgentServiceSubject is a request of an agent to the coordinators.
func AgentServiceSubject(verb string, o Owner) string {
	if o == "" {
		return "fleet." + verb
	}
	return "fleet." + verb + "." + string(o)
}

// ActAddress is what a stored request's subject says.
type ActAddress struct {
	Shard Shard
	Key   OwnerKey
	Lane  Lane
}

// ParseActSubject reads bf.act.s.T.O.l or bf.push.s.T.O.l. Tokens that are not
// legal ids are an error: such a message is counted and ages out.
func ParseActSubject(subject string) (ActAddress, error) {
	t := strings.Split(subject, ".")
	if len(t) != 6 || t[0] != "bf" || (t[1] != "act" && t[1] != "push") {
		return ActAddress{}, fmt.Errorf("subject %q is not a request subject", clip(subject, 120))
	}
	shard, key, err := shardOwner(t[2], t[3], t[4])
	if err != nil {
		return ActAddress{}, err
	}
	lane := Lane(t[5])
	if lane != LaneQueue && lane != LaneControl {
		return ActAddress{}, fmt.Errorf("lane %q: want q or c", clip(t[5], 20))
	}
	return ActAddress{Shard: shard, Key: key, Lane: lane}, nil
}

// ParseOwnSubject reads bf.own.s.T.O; the trim subject has the same shape.
func ParseOwnSubject(subject string) (Shard, OwnerKey, error) {
	t := strings.Split(subject, ".")
	if len(t) != 5 || t[0] != "bf" || (t[1] != "own" && t[1] != "trim") {
		return 0, OwnerKey{}, fmt.Errorf("subject %q is not an owner subject", clip(subject, 120))
	}
	return shardOwner(t[2], t[3], t[4])
}

// ParseServiceSubject reads bf.svc.T.VERB[.O]. The tenant is what the import
// put there, never something that the agent wrote.
func ParseServiceSubject(subject string) (Tenant, string, Owner, error) {
	t := strings.Split(subject, ".")
	if (len(t) != 4 && len(t) != 5) || t[0] != "bf" || t[1] != "svc" {
		return "", "", "", fmt.Errorf("subject %q is not a service subject", clip(subject, 120))
	}
	tenant, err := ParseTenant(t[2])
	if err != nil || len(t) == 4 {
		return tenant, t[3], "", err
	}
	owner, err := ParseOwner(t[4])
	return tenant, t[3], owner, err
}

func shardOwner(shard, tenant, owner string) (Shard, OwnerKey, error) {
	n, err := strconv.Atoi(shard)
	if err != nil || n < 0 || strconv.Itoa(n) != shard {
		return 0, OwnerKey{}, fmt.Errorf("shard %q is not a decimal number", clip(shard, 20))
	}
	t, err := ParseTenant(tenant)
	if err != nil {
		return 0, OwnerKey{}, err
	}
	o, err := ParseOwner(owner)
	if err != nil {
		return 0, OwnerKey{}, err
	}
	return Shard(n), OwnerKey{Tenant: t, Owner: o}, nil
}
