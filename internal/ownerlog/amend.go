package ownerlog

import "github.com/browserfleet/browserfleet/protocol"

// Amend changes the record in memory, as Answer moves the cursor: it is written
// with the next START, or by Flush. A crash before that loses the change, so it
// is for what the next holder can do without.
func (h *Holder) Amend(change func(*protocol.OwnerRecord)) {
	next := h.rec.Clone()
	change(next)
	h.rec, h.dirty = next, true
}
