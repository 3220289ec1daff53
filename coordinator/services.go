package coordinator

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	serviceTimeout = 3 * time.Second
	maxListed      = 1000
)

// serveAgent answers bf.svc.TENANT.VERB[.OWNER] from leader reads. The tenant is
// the token that the account's import put there.
func (c *Coordinator) serveAgent(life context.Context, m *nats.Msg) {
	ctx, cancel := context.WithTimeout(life, serviceTimeout)
	defer cancel()
	tenant, verb, owner, err := protocol.ParseServiceSubject(m.Subject)
	if err != nil {
		respond(m, protocol.ControlReply{V: protocol.Version, Error: protocol.Errorf(protocol.CodeInvalidRequest, "%v", err)})
		return
	}
	key := protocol.OwnerKey{Tenant: tenant, Owner: owner}
	switch {
	case owner != "" && c.startLife(life, key, verb, false, m):
	case verb == protocol.ServiceList && owner == "":
		respond(m, c.owners(ctx, tenant))
	case verb == protocol.ServiceDescribe && owner != "":
		respond(m, c.describe(ctx, key))
	case verb == protocol.ServiceResult && owner != "":
		respond(m, c.fate(ctx, key, m.Data))
	case verb == protocol.ServiceEvidence && owner != "":
		respond(m, c.evidence(ctx, key, m.Data))
	default:
		respond(m, protocol.ControlReply{V: protocol.Version, Error: protocol.Errorf(protocol.CodeUnknownAction, "service %q is unknown", verb)})
	}
}

// serveOperator answers bf.ops.VERB; only FLEET users reach it.
func (c *Coordinator) serveOperator(life context.Context, m *nats.Msg) {
	ctx, cancel := context.WithTimeout(life, serviceTimeout)
	defer cancel()
	switch verb := strings.TrimPrefix(m.Subject, "bf.ops."); verb {
	case protocol.OpsReset, protocol.OpsControl:
		c.operateLife(life, verb, m)
	case protocol.OpsOwners:
		respond(m, c.owners(ctx, "*"))
	case protocol.OpsWorkers:
		respond(m, c.workers(time.Now()))
	case protocol.OpsDrain:
		var q protocol.DrainQuery
		if err := json.Unmarshal(m.Data, &q); err != nil || !protocol.ValidToken(string(q.Worker), protocol.MaxIDLen) {
			respond(m, protocol.ControlReply{V: protocol.Version, Error: protocol.Errorf(protocol.CodeInvalidArgument, "worker: want the id of a worker")})
			return
		}
		if c.registry.describe(q.Worker, time.Now()) == nil {
			respond(m, protocol.ControlReply{V: protocol.Version, Error: c.noWorker(q.Worker)})
			return
		}
		failed := c.ask(ctx, q.Worker, protocol.VerbDrain, q)
		respond(m, protocol.ControlReply{V: protocol.Version, OK: failed == nil, Error: failed})
	default:
		respond(m, protocol.ControlReply{V: protocol.Version, Error: protocol.Errorf(protocol.CodeUnknownAction, "operation %q is unknown", verb)})
	}
}

// noWorker names the workers that there are.
func (c *Coordinator) noWorker(id protocol.WorkerID) *protocol.Error {
	var ids []protocol.WorkerID
	for _, w := range c.registry.list(time.Now()) {
		ids = append(ids, w.Worker)
	}
	return protocol.Errorf(protocol.CodeNotFound, "there is no worker %s; there are: %v", id, ids)
}

func respond(m *nats.Msg, body any) {
	if m.Reply == "" {
		return
	}
	if data, err := json.Marshal(body); err == nil {
		_ = m.Respond(data)
	}
}

// owners lists records, of one tenant or ("*") of all, at most maxListed. They are
// read from any replica that has what the leader had when it was asked: a list is
// as new as leader reads, without one for each of a thousand owners.
func (c *Coordinator) owners(ctx context.Context, tenant protocol.Tenant) protocol.OwnersReply {
	reply := protocol.OwnersReply{V: protocol.Version, Owners: []protocol.OwnerInfo{}}
	for s := range c.cfg.Shards.Total {
		shard := protocol.Shard(s)
		last, err := c.cfg.Conn.StreamLast(ctx, protocol.OwnStream(shard))
		if err != nil {
			reply.Error = protocol.Errorf(protocol.CodeUnavailable, "%v", err)
			return reply
		}
		counts, err := c.cfg.Conn.SubjectCounts(ctx, protocol.OwnStream(shard), "bf.own."+shard.String()+"."+string(tenant)+".*")
		if err != nil {
			reply.Error = protocol.Errorf(protocol.CodeUnavailable, "%v", err)
			return reply
		}
		subjects := make([]string, 0, len(counts))
		for subject := range counts {
			subjects = append(subjects, subject)
		}
		slices.Sort(subjects)
		if room := maxListed - len(reply.Owners); len(subjects) > room {
			subjects, reply.Truncated = subjects[:room], true
		}
		records, err := c.cfg.Conn.LastMulti(ctx, protocol.OwnStream(shard), subjects, last)
		if err != nil {
			reply.Error = protocol.Errorf(protocol.CodeUnavailable, "%v", err)
			return reply
		}
		for _, subject := range subjects {
			if info, ok := ownerInfo(records[subject]); ok {
				reply.Owners = append(reply.Owners, info)
			}
		}
	}
	return reply
}

func ownerInfo(m natsx.Message) (protocol.OwnerInfo, bool) {
	shard, key, err := protocol.ParseOwnSubject(m.Subject)
	if err != nil {
		return protocol.OwnerInfo{}, false
	}
	rec, err := protocol.DecodeOwnerRecord(m.Data)
	if err != nil {
		return protocol.OwnerInfo{}, false
	}
	if rec.Epoch == 0 {
		rec.Epoch = protocol.Epoch(m.Seq)
	}
	return infoOf(shard, key, rec), true
}

func infoOf(s protocol.Shard, k protocol.OwnerKey, rec *protocol.OwnerRecord) protocol.OwnerInfo {
	info := protocol.OwnerInfo{
		Key: k, Shard: s, State: rec.State, Worker: rec.Worker, Epoch: rec.Epoch, Generation: rec.Generation, Since: rec.Since,
	}
	now := time.Now()
	info.Control = rec.Controlled(now)
	for _, l := range rec.Leases {
		if now.Before(l.Expires.Time) {
			info.Leases = append(info.Leases, l)
		}
	}
	if rec.InflightQ != nil {
		info.Running, info.Attempt = rec.InflightQ.Request, rec.InflightQ.Attempt
	}
	return info
}

func (c *Coordinator) describe(ctx context.Context, key protocol.OwnerKey) protocol.OwnersReply {
	reply := protocol.OwnersReply{V: protocol.Version, Owners: []protocol.OwnerInfo{}}
	s := c.cfg.Shards.Of(key)
	rec, _, err := ownerlog.Read(ctx, c.cfg.Conn, s, key)
	switch {
	case err != nil:
		reply.Error = protocol.Errorf(protocol.CodeUnavailable, "%v", err)
	case rec == nil:
		reply.Error = protocol.Errorf(protocol.CodeNotFound, "owner %s is not known", key.Owner)
	default:
		reply.Owners = append(reply.Owners, infoOf(s, key, rec))
	}
	return reply
}

// fate tells what became of a request.
func (c *Coordinator) fate(ctx context.Context, key protocol.OwnerKey, body []byte) protocol.ResultReply {
	reply := protocol.ResultReply{V: protocol.Version}
	var q protocol.ResultQuery
	if err := json.Unmarshal(body, &q); err != nil || !protocol.ValidToken(string(q.Request), protocol.MaxIDLen) {
		reply.Error = protocol.Errorf(protocol.CodeInvalidArgument, "request: want the id of a request")
		return reply
	}
	f := fate{log: proving{c.cfg.Conn}, shard: c.cfg.Shards.Of(key), key: key, id: q.Request}
	told, err := f.find(ctx)
	if err != nil {
		reply.Error = protocol.Errorf(protocol.CodeUnavailable, "%v", err)
		return reply
	}
	return told
}
