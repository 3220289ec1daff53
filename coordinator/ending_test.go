package coordinator

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/internal/ownerlog"
	"github.com/browserfleet/browserfleet/protocol"
)

// Before anything is removed again the record says so, in a compare-and-set: who is
// not deleted, or not any more, is left alone, whatever the leader's view says.
func TestOnlyWhoIsDeletedIsErasedAgain(t *testing.T) {
	t.Parallel()
	longAgo := protocol.At(time.Now().Add(-time.Hour))
	for name, tc := range map[string]struct {
		rec    protocol.OwnerRecord
		erases bool
	}{
		"deleted, and it is time":      {protocol.OwnerRecord{State: protocol.RecordDeleted, Erasures: 1, Erased: longAgo}, true},
		"deleted, and erased just now": {protocol.OwnerRecord{State: protocol.RecordDeleted, Erasures: 1, Erased: protocol.At(time.Now())}, false},
		"deleted, and erased for good": {protocol.OwnerRecord{State: protocol.RecordDeleted, Erasures: 4, Erased: longAgo}, false},
		"made anew":                    {protocol.OwnerRecord{State: protocol.RecordUnassigned, Erasures: 1, Erased: longAgo}, false},
		"made anew, and held":          {protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "w", Erasures: 1, Erased: longAgo, Erase: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFateBench(t)
			tc.rec.V, tc.rec.Nonce = protocol.Version, ownerlog.NewNonce()
			data, err := json.Marshal(tc.rec)
			if err != nil {
				t.Fatal(err)
			}
			before, err := b.conn.CAS(b.ctx, protocol.OwnSubject(0, b.key), data, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			c := New(Config{ID: "c", Shards: protocol.Shards(1), Conn: b.conn, Observer: uncounted{}, Logger: slog.New(slog.DiscardHandler)})
			c.shards[0].eraseDeleted(b.ctx, b.key)
			rec, after, err := ownerlog.Read(b.ctx, b.conn, 0, b.key)
			if err != nil || (after != before) != tc.erases || (tc.erases && !rec.Erase) {
				t.Errorf("record %+v at %d, was at %d: %v", rec, after, before, err)
			}
		})
	}
}
