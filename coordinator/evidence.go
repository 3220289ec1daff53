package coordinator

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	defaultEvidence = 20
	// maxEvidenceBytes of events in one answer: NATS carries 1 MB at most.
	maxEvidenceBytes = 512 << 10
)

// evidence answers fleet.evidence: what was stored of an owner's actions. Events
// decide nothing, so any replica may tell them, and the newest may be missing for
// some milliseconds.
func (c *Coordinator) evidence(ctx context.Context, key protocol.OwnerKey, body []byte) protocol.EvidenceReply {
	reply := protocol.EvidenceReply{V: protocol.Version, Events: []protocol.EvidenceEntry{}}
	q := protocol.EvidenceQuery{Limit: defaultEvidence}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &q); err != nil || q.Limit < 0 || q.Limit > protocol.MaxEvidence {
			reply.Error = protocol.Errorf(protocol.CodeInvalidArgument, "evidence: want limit 1-%d, and after, a sequence", protocol.MaxEvidence)
			return reply
		}
	}
	if q.Limit == 0 {
		q.Limit = defaultEvidence
	}
	s := c.cfg.Shards.Of(key)
	stream, subject := protocol.EvStream(s), protocol.EventSubject(s, key)
	size := 0
	for next := q.After + 1; ; {
		m, err := c.cfg.Conn.DirectNext(ctx, stream, subject, next)
		if errors.Is(err, natsx.ErrNotFound) {
			return reply
		}
		if err != nil {
			reply.Error = protocol.Errorf(protocol.CodeUnavailable, "%v", err)
			return reply
		}
		next = m.Seq + 1
		full := len(reply.Events) == q.Limit || (size+len(m.Data) > maxEvidenceBytes && len(reply.Events) > 0)
		if full && q.After > 0 {
			reply.More = true
			return reply
		}
		if full { // the newest are wanted: the oldest makes room
			reply.Events = reply.Events[1:]
		}
		entry := protocol.EvidenceEntry{Seq: m.Seq}
		if err := json.Unmarshal(m.Data, &entry.Event); err != nil {
			continue // not of this fleet's writing
		}
		size += len(m.Data)
		reply.Events = append(reply.Events, entry)
	}
}
