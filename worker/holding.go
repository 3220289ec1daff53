package worker

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

// digest is what heartbeats say of the owners held: one digest of all, and count
// and digest for each shard, whose leader compares them with the records. The
// epoch is the fence of the newest assignment that the worker was told of, also
// before the environment has written its record.
func digest(all map[protocol.OwnerKey]*held) (hash uint64, each []protocol.HeldShard) {
	shards := map[protocol.Shard]protocol.HeldShard{}
	for key, h := range all {
		pair := protocol.PairHash(key, protocol.Epoch(h.fence))
		hash ^= pair
		s := shards[h.shard]
		shards[h.shard] = protocol.HeldShard{Shard: h.shard, Owners: s.Owners + 1, Hash: s.Hash ^ pair}
	}
	for _, id := range slices.Sorted(maps.Keys(shards)) {
		each = append(each, shards[id])
	}
	return hash, each
}

// respondHeld lists what the worker holds of a shard.
func (w *Worker) respondHeld(m *nats.Msg) {
	var q protocol.HeldQuery
	if json.Unmarshal(m.Data, &q) != nil || q.V != protocol.Version || m.Reply == "" {
		return
	}
	reply := protocol.HeldReply{V: protocol.Version, Held: []protocol.HeldOwner{}}
	w.mu.Lock()
	for key, h := range w.held {
		if h.shard == q.Shard {
			reply.Held = append(reply.Held, protocol.HeldOwner{Key: key, Epoch: protocol.Epoch(h.fence)})
		}
	}
	w.mu.Unlock()
	if data, err := json.Marshal(reply); err == nil {
		_ = m.Respond(data)
	}
}

// confirm has an owner's environment write its record: if that is another's, the
// environment ends. Without contact the return of contact does the same.
func (w *Worker) confirm(body []byte) *protocol.Error {
	var q protocol.OwnerQuery
	if err := json.Unmarshal(body, &q); err != nil || q.Check() != nil {
		return protocol.Errorf(protocol.CodeInvalidRequest, "not the name of an owner")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok := w.held[q.Key]
	if !ok {
		return protocol.Errorf(protocol.CodeNotFound, "worker %s does not hold %s", w.cfg.ID, q.Key)
	}
	if w.contact.ok() {
		h.env.Resume()
	}
	return nil
}
