package environment

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// noteSaved takes the effects that a stored state holds from the record's list:
// all up to the newest of them. The agent has to be told first of those that an
// earlier restore lost.
func (e *Environment) noteSaved(newest *checkpoints.LastAction) {
	unsaved := e.holder.Record().Unsaved
	if newest == nil || len(unsaved) == 0 || e.restored != nil {
		return
	}
	var after []protocol.UnsavedEffect
	if i := slices.IndexFunc(unsaved, func(u protocol.UnsavedEffect) bool { return u.Request == newest.ActionID }); i >= 0 {
		after = slices.Clone(unsaved[i+1:])
	}
	e.holder.Amend(func(r *protocol.OwnerRecord) { r.Unsaved = after })
}

// stateLost lists the answered effects that the loaded state does not hold:
// those that were never saved, and, where newer checkpoints could not be used,
// those that came after the one that could.
func (e *Environment) stateLost(ctx context.Context, order order, loaded *checkpoints.Loaded) []protocol.UnsavedEffect {
	if order.ephemeral {
		return nil // the report says that everything is lost
	}
	var lost []protocol.UnsavedEffect
	for _, u := range order.unsaved {
		if !reflects(loaded, u.Seq) {
			lost = append(lost, u)
		}
	}
	if len(loaded.Skipped) == 0 {
		return lost
	}
	for _, id := range order.done {
		if slices.ContainsFunc(lost, func(u protocol.UnsavedEffect) bool { return u.Request == id }) {
			continue
		}
		if seq, had := e.skippedEffect(ctx, id, loaded); had {
			lost = append(lost, protocol.UnsavedEffect{Seq: seq, Request: id})
		}
	}
	return lost
}

// requests are the effects' names.
func requests(effects []protocol.UnsavedEffect) []protocol.RequestID {
	var ids []protocol.RequestID
	for _, u := range effects {
		ids = append(ids, u.Request)
	}
	return ids
}

// reflects reports whether the loaded state is known to hold what the action of
// this sequence did.
func reflects(loaded *checkpoints.Loaded, seq protocol.Seq) bool {
	m := loaded.Manifest
	return m != nil && m.LastAction != nil && seq <= m.LastAction.StreamSeq
}

// skippedEffect reports whether the request had an effect after the checkpoint
// that was loaded, and which. A result that has expired tells nothing.
func (e *Environment) skippedEffect(ctx context.Context, id protocol.RequestID, loaded *checkpoints.Loaded) (protocol.Seq, bool) {
	m, err := e.cfg.Conn.LeaderLast(ctx, protocol.ResStream(e.cfg.Shard), protocol.ResSubject(e.cfg.Shard, e.cfg.Key, id))
	if err != nil {
		if !errors.Is(err, natsx.ErrNotFound) {
			e.log.Warn("cannot tell whether an effect is in the restored state", "request", id, "error", err)
		}
		return 0, false
	}
	var res protocol.Result
	if json.Unmarshal(m.Data, &res) != nil || res.Dispatched == protocol.DispatchedNo {
		return 0, false
	}
	info, ok := res.Kind.Lookup()
	if !ok || info.Lane != protocol.LaneQueue || info.Effect != protocol.EffectWrite {
		return 0, false
	}
	if m := loaded.Manifest; m != nil && m.LastAction == nil {
		return res.Seq, res.FinishedAt.After(m.StateAt)
	}
	return res.Seq, !reflects(loaded, res.Seq)
}
