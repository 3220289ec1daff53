package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// maxDecisions bounds the decisions that a leader remembers. An owner's is
// replaced by its next one; when there are too many, any is forgotten.
const maxDecisions = 10_000

// decided remembers a placement.
func (l *loop) decided(key protocol.OwnerKey, d *protocol.Decision) {
	if len(l.decisions) >= maxDecisions && l.decisions[key] == nil {
		for other := range l.decisions {
			delete(l.decisions, other)
			break
		}
	}
	l.decisions[key] = d
}

// ask is a question to a shard's loop.
type ask struct {
	key   protocol.OwnerKey
	reply chan snapshot
}

// snapshot is what a leader's loop knows of an owner.
type snapshot struct {
	state    protocol.RecordState
	worker   protocol.WorkerID
	queued   bool
	position int
	placing  bool
	full     bool
	refusal  *protocol.Error
	decision *protocol.Decision
}

func (l *loop) snapshot(key protocol.OwnerKey) snapshot {
	_, placing := l.line.isCalled(key)
	s := snapshot{
		queued: l.unanswered(key), position: l.line.position(key), placing: placing, full: l.full(),
		refusal: l.refusal(key), decision: l.decisions[key],
	}
	if e := l.view[key]; e != nil {
		s.state, s.worker = e.state, e.worker
	}
	return s
}

// waitsFor says in a few words what the owner waits for; it is pure. held: its
// worker is heard of.
func waitsFor(s snapshot, held bool) string {
	switch {
	case s.state == protocol.RecordFailed:
		return "a reset: it died too often"
	case s.state == protocol.RecordDeleted:
		return ""
	case s.placing:
		return "a worker's answer"
	case s.position > 0 && s.full:
		return "a worker with room"
	case s.position > 0 && s.decision != nil && s.decision.Worker == "":
		return "a worker that fits: see the scores"
	case s.position > 0:
		return "its turn"
	case s.state == protocol.RecordAssigned && !held:
		return "the proof that its worker is gone"
	case s.state == protocol.RecordAssigned && s.queued:
		return "its worker, which has requests of it"
	case s.state == protocol.RecordAnswering:
		return "a coordinator, which answers for it"
	case s.refusal != nil:
		return "its tenant's quota: " + s.refusal.Message
	}
	return ""
}

// serveExplain answers where this coordinator leads the owner's shard. All hear
// the question; while nobody leads the shard, nobody answers.
func (c *Coordinator) serveExplain(ctx context.Context, m *nats.Msg) {
	var q protocol.OwnerQuery
	refused := protocol.Errorf(protocol.CodeInvalidRequest, "the body is not the name of an owner")
	if err := json.Unmarshal(m.Data, &q); err == nil {
		refused = q.Check()
	}
	if refused != nil {
		respond(m, protocol.ExplainReply{V: protocol.Version, Error: refused})
		return
	}
	s := c.shards[c.cfg.Shards.Of(q.Key)]
	if !c.peers.leading(s.id) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	if known, ok := s.ask(ctx, q.Key); ok {
		respond(m, c.explain(ctx, s.id, q.Key, known))
	}
}

// workers lists the workers, with what the leaders found wrong with them.
func (c *Coordinator) workers(now time.Time) protocol.WorkersReply {
	reply := protocol.WorkersReply{V: protocol.Version, Workers: c.registry.list(now)}
	wrong := c.peers.mismatches(now)
	for i := range reply.Workers {
		reply.Workers[i].Mismatches = wrong[reply.Workers[i].Worker]
	}
	return reply
}

// explain puts together what the leader knows and what the streams hold.
func (c *Coordinator) explain(ctx context.Context, s protocol.Shard, key protocol.OwnerKey, known snapshot) protocol.ExplainReply {
	reply := protocol.ExplainReply{V: protocol.Version, Leader: c.cfg.ID, Position: known.position, Decision: known.decision}
	rec, _, err := ownerlog.Read(ctx, c.cfg.Conn, s, key)
	if err == nil {
		reply.QueueQ, reply.QueueC, err = c.depths(ctx, s, key, rec)
	}
	if err != nil {
		reply.Error = protocol.Errorf(protocol.CodeUnavailable, "%v", err)
		return reply
	}
	now := time.Now()
	if rec != nil {
		info := infoOf(s, key, rec)
		reply.Owner = &info
		reply.Holder = c.registry.describe(rec.Worker, now)
	}
	if rec == nil && reply.QueueQ+reply.QueueC == 0 {
		reply.Error = protocol.Errorf(protocol.CodeNotFound, "owner %s is not known, and nothing of it is queued", key)
		return reply
	}
	reply.Waits = waitsFor(known, c.registry.heardOf(known.worker))
	return reply
}

// depths counts the requests behind the cursors.
func (c *Coordinator) depths(ctx context.Context, s protocol.Shard, key protocol.OwnerKey, rec *protocol.OwnerRecord) (q, control int, err error) {
	if rec == nil {
		rec = &protocol.OwnerRecord{}
	}
	for _, lane := range []protocol.Lane{protocol.LaneQueue, protocol.LaneControl} {
		n, at := 0, rec.Cursor(lane)
		for ; n < protocol.QueueDepth; n++ {
			m, err := c.cfg.Conn.LeaderNext(ctx, protocol.ActStream(s), protocol.ActSubject(s, key, lane), at+1)
			if errors.Is(err, natsx.ErrNotFound) {
				break
			}
			if err != nil {
				return 0, 0, err
			}
			at = m.Seq
		}
		if lane == protocol.LaneQueue {
			q = n
		} else {
			control = n
		}
	}
	return q, control, nil
}

// heardOf reports whether the worker sends heartbeats.
func (r *registry) heardOf(id protocol.WorkerID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.workers[id]
	return ok && e.state == WorkerUp
}

// report tells the other coordinators what the shard's tenants use.
func (l *loop) report() {
	lead := protocol.ShardLead{Shard: l.s.id, Waiting: l.line.len(), Mismatches: l.heldBy.mismatches(time.Now())}
	for _, u := range l.usage.tenants {
		lead.Tenants = append(lead.Tenants, *u)
	}
	l.s.c.peers.report(lead)
	l.s.c.cfg.Meter.Stands(l.s.id, l.standing())
}
