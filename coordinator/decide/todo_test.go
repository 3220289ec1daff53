package decide

import (
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestTodo(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	old := now.Add(-Restless - 1)
	for name, tc := range map[string]struct {
		seen   Seen
		want   Todo
		reason string
	}{
		"nothing is known":                    {Seen{}, Nothing, ""},
		"a first request":                     {Seen{Unanswered: true}, Place, Wake},
		"asleep":                              {Seen{State: protocol.RecordHibernated}, Nothing, ""},
		"asleep, and asked":                   {Seen{State: protocol.RecordHibernated, Unanswered: true}, Place, Wake},
		"nobody's":                            {Seen{State: protocol.RecordUnassigned, Since: old}, Nothing, ""},
		"let go":                              {Seen{State: protocol.RecordMoving, Since: now}, Place, Moved},
		"being answered":                      {Seen{State: protocol.RecordAnswering, Since: now, Unanswered: true}, Nothing, ""},
		"answered by who died":                {Seen{State: protocol.RecordAnswering, Since: old, Unanswered: true}, Place, Wake},
		"answered by who died, nothing asked": {Seen{State: protocol.RecordAnswering, Since: old}, Nothing, ""},
		"held":                                {Seen{State: protocol.RecordAssigned, Alive: true, Unanswered: true}, Nothing, ""},
		"held by who is gone":                 {Seen{State: protocol.RecordAssigned}, Place, WorkerLost},
		"held in another stream":              {Seen{State: protocol.RecordAssigned, Alive: true, Foreign: true}, Place, StreamReplaced},
		"wanted":                              {Seen{State: protocol.RecordHibernated, Wanted: now.Add(1)}, Place, Acquired},
		"held by a stranger, idle":            {Seen{State: protocol.RecordAssigned, Idle: true}, Free, ""},
		"held by a stranger, with work":       {Seen{State: protocol.RecordAssigned, Idle: true, Unanswered: true}, Place, WorkerLost},
		"held by a stranger, wanted":          {Seen{State: protocol.RecordAssigned, Idle: true, Wanted: now.Add(1)}, Place, WorkerLost},
		"held by a stranger, with a START":    {Seen{State: protocol.RecordAssigned}, Place, WorkerLost},
		"wanted too long":                     {Seen{State: protocol.RecordUnassigned, Wanted: now}, Nothing, ""},
		"wanted, and asked":                   {Seen{State: protocol.RecordUnassigned, Wanted: now.Add(1), Unanswered: true}, Place, Wake},
		"wanted, and held":                    {Seen{State: protocol.RecordAssigned, Wanted: now.Add(1), Alive: true}, Nothing, ""},
		"wanted, and deleted":                 {Seen{State: protocol.RecordDeleted, Wanted: now.Add(1)}, Nothing, ""},
		"failed":                              {Seen{State: protocol.RecordFailed, Since: old, Erase: true}, Nothing, ""},
		"failed, and asked":                   {Seen{State: protocol.RecordFailed, Unanswered: true}, Answer, ""},
		"deleted a moment ago":                {Seen{State: protocol.RecordDeleted, Since: now, Erase: true}, Nothing, ""},
		"deleted, and not erased":             {Seen{State: protocol.RecordDeleted, Since: old, Erase: true}, Erase, ""},
		"deleted, erased, not yet again":      {Seen{State: protocol.RecordDeleted, Since: old, EraseAgain: now.Add(1)}, Nothing, ""},
		"deleted, to be erased again":         {Seen{State: protocol.RecordDeleted, Since: now, EraseAgain: now.Add(-1)}, Erase, ""},
		"deleted, and erasing it again began": {Seen{State: protocol.RecordDeleted, Since: now, Erase: true, EraseAgain: now.Add(-1)}, Nothing, ""},
		"not deleted any more":                {Seen{State: protocol.RecordUnassigned, Since: old, EraseAgain: now.Add(-1)}, Nothing, ""},
		"failed, not deleted any more":        {Seen{State: protocol.RecordFailed, Since: old, EraseAgain: now.Add(-1)}, Nothing, ""},
		"deleted, and asked":                  {Seen{State: protocol.RecordDeleted, Since: old, Erase: true, Unanswered: true}, Answer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, reason := tc.seen.Todo(now); got != tc.want || reason != tc.reason {
				t.Errorf("%d %q, want %d %q", got, reason, tc.want, tc.reason)
			}
		})
	}
}

// Whoever is held by a living worker can be neither assigned nor answered for,
// and nobody at all assigns an owner that failed or was deleted.
func TestWhoIsHeldIsLeftAlone(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for _, state := range protocol.RecordStates {
		for _, alive := range []bool{false, true} {
			rec := &protocol.OwnerRecord{State: state, Worker: "w", Since: protocol.At(now)}
			place := Placeable(rec, nil, func(protocol.WorkerID) bool { return alive }, now)
			answer := Answerable(rec, func(protocol.WorkerID) bool { return alive })
			held := state == protocol.RecordAssigned && alive
			over := state == protocol.RecordFailed || state == protocol.RecordDeleted
			if answer == held || (place && (held || over)) {
				t.Errorf("%s, alive %v: place %v, answer %v", state, alive, place, answer)
			}
		}
	}
}

// A job that was begun for requests which were answered meanwhile wakes nobody.
func TestWhoIsWokenForNothingSleepsOn(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	asleep := protocol.OwnerRecord{State: protocol.RecordHibernated, CursorQ: 5, CursorC: 7}
	for name, tc := range map[string]struct {
		reason string
		change func(*protocol.OwnerRecord)
		q, c   protocol.Seq
		want   bool
	}{
		"all is answered":       {Wake, nil, 5, 7, true},
		"a request":             {Wake, nil, 6, 7, false},
		"a control request":     {Wake, nil, 5, 8, false},
		"somebody wants it":     {Acquired, func(r *protocol.OwnerRecord) { _ = r.Want("l", now.Add(time.Second), now) }, 5, 7, false},
		"somebody wanted it":    {Acquired, func(r *protocol.OwnerRecord) { _ = r.Want("l", now, now) }, 5, 7, true},
		"it moves":              {Moved, func(r *protocol.OwnerRecord) { r.State = protocol.RecordMoving }, 5, 7, false},
		"held by who is gone":   {Wake, func(r *protocol.OwnerRecord) { r.State = protocol.RecordAssigned }, 5, 7, false},
		"it was answered for":   {Wake, func(r *protocol.OwnerRecord) { r.State = protocol.RecordUnassigned }, 5, 7, true},
		"its answerer is stuck": {Wake, func(r *protocol.OwnerRecord) { r.State = protocol.RecordAnswering }, 6, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := asleep
			if tc.change != nil {
				tc.change(&rec)
			}
			if got := Needless(&rec, tc.reason, tc.q, tc.c, now); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if Needless(nil, Wake, 0, 0, now) {
		t.Error("a first request is needless")
	}
}
