package coordinator

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/protocol"
)

// The leader read that every job begins with decides, whatever the view said.
func TestWhichRecordsMayBeAssigned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rec     *protocol.OwnerRecord
		age     time.Duration
		refused []protocol.WorkerID
		want    bool
	}{
		"none":                             {want: true},
		"unassigned":                       {rec: &protocol.OwnerRecord{State: protocol.RecordUnassigned}, want: true},
		"hibernated":                       {rec: &protocol.OwnerRecord{State: protocol.RecordHibernated}, want: true},
		"moving":                           {rec: &protocol.OwnerRecord{State: protocol.RecordMoving}, want: true},
		"failed":                           {rec: &protocol.OwnerRecord{State: protocol.RecordFailed}},
		"deleted":                          {rec: &protocol.OwnerRecord{State: protocol.RecordDeleted}},
		"being answered":                   {rec: &protocol.OwnerRecord{State: protocol.RecordAnswering}, age: decide.Restless},
		"answering that stands still":      {rec: &protocol.OwnerRecord{State: protocol.RecordAnswering}, age: decide.Restless + 1, want: true},
		"held by the living":               {rec: &protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "living"}, age: time.Hour},
		"held by a suspect":                {rec: &protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "suspect"}},
		"held by the dead":                 {rec: &protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "dead"}, want: true},
		"held by one never heard of":       {rec: &protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "ghost"}, want: true},
		"refused by its worker":            {rec: &protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "living"}, refused: []protocol.WorkerID{"x", "living"}, want: true},
		"refused by one, held by another":  {rec: &protocol.OwnerRecord{State: protocol.RecordAssigned, Worker: "living"}, refused: []protocol.WorkerID{"x"}},
		"failed, and refused by somebody":  {rec: &protocol.OwnerRecord{State: protocol.RecordFailed, Worker: "x"}, refused: []protocol.WorkerID{"x"}},
		"being answered by one that is up": {rec: &protocol.OwnerRecord{State: protocol.RecordAnswering, Worker: "living"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := New(Config{ID: "c", Shards: protocol.Shards(1), Observer: uncounted{}, Logger: slog.New(slog.DiscardHandler)})
				c.registry.heard(beat("suspect", 1, 0))
				c.registry.heard(beat("dead", 1, 0))
				c.registry.silent(later(time.Minute))
				c.registry.asked("dead", false)
				c.registry.heard(beat("living", 1, 0))
				if tc.rec != nil {
					tc.rec.Since = protocol.At(time.Now().Add(-tc.age))
				}
				if got := c.shards[0].placeable(tc.rec, tc.refused); got != tc.want {
					t.Errorf("got %v", got)
				}
			})
		})
	}
}
