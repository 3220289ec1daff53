package coordinator_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// hold stores six requests of an owner whose holder has persisted the third.
func (b *bench) hold(key protocol.OwnerKey, w *puppet, change ...func(*protocol.OwnerRecord)) []protocol.Seq {
	b.t.Helper()
	var seqs []protocol.Seq
	for range 6 {
		_, seq := b.open(key)
		seqs = append(seqs, seq)
	}
	created, err := b.conn.StreamCreated(b.ctx(), protocol.ActStream(0))
	if err != nil {
		b.t.Fatal(err)
	}
	rec := protocol.OwnerRecord{
		State: protocol.RecordAssigned, Worker: w.id, CursorQ: seqs[2], ActStreamCreated: created.Unix(),
	}
	for _, f := range change {
		f(&rec)
	}
	b.put(key, rec)
	return seqs
}

// hint says that a cursor was persisted, true or not.
func (b *bench) hint(key protocol.OwnerKey, cursor protocol.Seq) {
	b.t.Helper()
	data, err := json.Marshal(protocol.TrimHint{V: protocol.Version, CursorQ: cursor})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.Worker(b.t).NC.Publish(protocol.TrimSubject(0, key), data); err != nil {
		b.t.Fatal(err)
	}
}

func TestAPurgeGoesByThePersistedCursorOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	seqs := b.hold(one, w)
	neighbour := b.hold(two, w, func(r *protocol.OwnerRecord) { r.CursorQ = 0 })
	b.coordinate("c-1", b.conn)
	b.reminder(w, one)
	b.hint(one, seqs[5]) // a lie
	b.reminder(w, one)   // the next reconcile
	if got := b.queued(one); !slices.Equal(got, seqs[3:]) {
		t.Errorf("the queue holds %v, want %v", got, seqs[3:])
	}
	if got := b.queued(two); !slices.Equal(got, neighbour) {
		t.Errorf("the neighbour's queue holds %v, want %v", got, neighbour)
	}
}

func TestCursorsOfAnotherStreamPurgeNothingAndMoveTheOwner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.worker("w-1", nil)
	foreign := b.hold(one, w, func(r *protocol.OwnerRecord) { r.ActStreamCreated-- })
	beyond := b.hold(two, w, func(r *protocol.OwnerRecord) { r.CursorQ = 1000 })
	b.coordinate("c-1", b.conn)
	got := map[protocol.OwnerKey]string{}
	for range 2 {
		a := b.assignment(w)
		got[a.Key] = a.Reason
	}
	if got[one] != "stream_replaced" || got[two] != "stream_replaced" {
		t.Errorf("assigned %v", got)
	}
	b.hint(one, foreign[2])
	b.hint(two, 1000)
	b.reminder(w, one)
	b.reminder(w, one) // a reconcile later
	if got := b.queued(one); !slices.Equal(got, foreign) {
		t.Errorf("the queue holds %v, want %v", got, foreign)
	}
	if got := b.queued(two); !slices.Equal(got, beyond) {
		t.Errorf("the queue holds %v, want %v", got, beyond)
	}
}
