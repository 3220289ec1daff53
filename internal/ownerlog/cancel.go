package ownerlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// CancelledQueued is the data of a cancel's result that found its target in the
// queue, and gave it a result.
var CancelledQueued = json.RawMessage(`{"cancelled":"queued"}`)

// noteCancelled: a former holder answered the cancel, and died before the record
// said that its target has a result.
func (h *Holder) noteCancelled(a *protocol.Admitted, stored *natsx.Message) {
	args, ok := a.Action.Args.(*protocol.CancelArgs)
	if !ok || stored == nil {
		return
	}
	var res protocol.Result
	if json.Unmarshal(stored.Data, &res) == nil && res.Status == protocol.StatusOK && bytes.Equal(res.Data, CancelledQueued) {
		h.rec.Remember(args.Request)
		h.dirty = true
	}
}

// CancelQueued creates the cancelled result of a request that waits in the
// queue, under cover of the cancel's START. The FIFO finds the result when it
// gets there, and goes on. It reports whether the request was found.
func (h *Holder) CancelQueued(ctx context.Context, cancel *protocol.Admitted, queue *Lane, target protocol.RequestID, by protocol.WorkerID) (bool, error) {
	if in := h.rec.InflightQ; in != nil && in.Request == target {
		return false, nil // begun by a former holder: its effect may have happened
	}
	if h.rec.IsDone(target) {
		return false, nil // sent again, and answered, also if its result is gone
	}
	if err := queue.Fill(ctx, true); err != nil {
		return false, err
	}
	for _, waiting := range queue.Waiting() {
		a := protocol.Admit(waiting, h.created)
		if a.ID != target || a.Refused != nil {
			// What is refused says why by itself; sent again too late, it may even
			// have run, long ago.
			continue
		}
		res := a.NewResult(time.Now())
		res.Worker = by
		res.Fail(protocol.Errorf(protocol.CodeCancelled, ""))
		err := h.CreateFor(ctx, cancel, res, nil)
		if err == nil || errors.Is(err, ErrAnswered) {
			// The ring keeps the FIFO from it, also where the results' leader is an
			// old server that has not caught up.
			h.Amend(func(r *protocol.OwnerRecord) { r.Remember(target) })
		}
		if errors.Is(err, ErrAnswered) {
			return false, nil // sent again after it was answered long ago
		}
		return err == nil, err
	}
	return false, nil
}
