package worker

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/protocol"
)

// eraseTimeout bounds the removal of what is kept of one owner. An erasure that
// is cut short is asked for again.
const eraseTimeout = time.Minute

// startLife serves what asks for an owner's life and is answered later: false
// for anything else.
func (w *Worker) startLife(ctx context.Context, m *nats.Msg) bool {
	switch m.Subject[strings.LastIndexByte(m.Subject, '.')+1:] {
	case protocol.VerbHolder:
		w.askHolder(m)
	case protocol.VerbErase:
		w.startErase(ctx, m)
	default:
		return false
	}
	return true
}

// askHolder passes the question on to the environment's loop.
func (w *Worker) askHolder(m *nats.Msg) {
	answer := func(r protocol.AcquireReply) { respond(m, r) }
	refuse := func(err *protocol.Error) { answer(protocol.AcquireReply{V: protocol.Version, Error: err}) }
	var q protocol.HolderQuery
	if err := json.Unmarshal(m.Data, &q); err != nil || q.V != protocol.Version {
		refuse(protocol.Errorf(protocol.CodeInvalidRequest, "not a question of version %d to a holder", protocol.Version))
		return
	}
	w.mu.Lock()
	h, ok := w.held[q.Key]
	w.mu.Unlock()
	if !ok {
		refuse(protocol.Errorf(protocol.CodeNotFound, "worker %s does not hold %s", w.cfg.ID, q.Key))
		return
	}
	h.env.Ask(q, answer)
}

// startErase removes what is kept of an owner that its record says is deleted.
// The coordinator that asks has read that record; it never changes any more.
func (w *Worker) startErase(ctx context.Context, m *nats.Msg) {
	var q protocol.OwnerQuery
	if err := json.Unmarshal(m.Data, &q); err != nil || q.V != protocol.Version || q.Check() != nil {
		respond(m, protocol.ControlReply{V: protocol.Version, Error: protocol.Errorf(protocol.CodeInvalidArgument, "key: want an owner")})
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.held[q.Key]; ok || w.draining.Load() {
		respond(m, protocol.ControlReply{V: protocol.Version, Error: protocol.Errorf(protocol.CodeUnavailable, "the worker still holds the owner, or is draining")})
		return
	}
	w.lives.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, eraseTimeout)
		defer cancel()
		reply := protocol.ControlReply{V: protocol.Version, OK: true}
		n, err := w.cfg.Checkpoints.Erase(ctx, checkpoints.EnvIDOf(q.Key))
		if err != nil {
			reply.OK, reply.Error = false, protocol.Errorf(protocol.CodeCheckpointStore, "not erased yet: %v", err)
		}
		w.log.Info("erased", "owner", q.Key.String(), "checkpoints", n, "error", err)
		respond(m, reply)
	})
}

func respond(m *nats.Msg, body any) {
	if data, err := json.Marshal(body); err == nil && m.Reply != "" {
		_ = m.Respond(data)
	}
}
