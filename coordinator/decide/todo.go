package decide

import (
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// Restless is how long a record may stand still in a state that somebody is to
// end soon (moving, answering, deleted and not erased).
const Restless = 5 * time.Second

// Seen is what a shard's leader knows of an owner.
type Seen struct {
	State protocol.RecordState // RecordNone: it has no record
	Since time.Time            // of the state
	// Alive: the worker that the record names is not gone.
	Alive bool
	// Idle: nothing is begun, nobody has a lease or control, it is not being
	// opened, and its worker was never heard of.
	Idle bool
	// Foreign: the record's cursors are not of the present stream of requests.
	Foreign bool
	// Unanswered: requests lie behind the cursors.
	Unanswered bool
	// Wanted is until when somebody waits for the owner to open, although nothing
	// may be queued.
	Wanted time.Time
	// Erase: deleted, and something is kept.
	Erase bool
	// EraseAgain is when what may have come since is to be removed; zero is never.
	EraseAgain time.Time
}

// Todo is what an owner needs.
type Todo int

// What there is to do.
const (
	Nothing Todo = iota
	Place
	Answer
	Erase
	Free // write that nobody holds it
)

// Reasons of a placement.
const (
	Wake           = "wake"
	Acquired       = "acquired" // nothing is queued, and somebody waits for it to open
	Moved          = "moved"
	WorkerLost     = "worker_lost"
	StreamReplaced = "stream_replaced" // its holder has cursors of another stream
)

// Todo is what the owner needs, and of a placement the reason.
func (s Seen) Todo(now time.Time) (Todo, string) {
	old := now.Sub(s.Since) > Restless
	switch s.State {
	case protocol.RecordNone, protocol.RecordUnassigned, protocol.RecordHibernated:
		return s.wants(now)
	case protocol.RecordMoving:
		return Place, Moved
	case protocol.RecordAnswering:
		if old {
			return s.wants(now)
		}
	case protocol.RecordAssigned:
		switch {
		case !s.Alive && s.Idle && !s.Unanswered && !now.Before(s.Wanted):
			return Free, "" // its next action wakes it
		case !s.Alive:
			return Place, WorkerLost
		case s.Foreign:
			// It waits for sequences that will not come.
			return Place, StreamReplaced
		}
	case protocol.RecordFailed, protocol.RecordDeleted:
		switch {
		case s.Unanswered:
			return Answer, ""
		case s.State != protocol.RecordDeleted:
		case s.Erase && old, !s.Erase && !s.EraseAgain.IsZero() && now.After(s.EraseAgain):
			return Erase, ""
		}
	}
	return Nothing, ""
}

// wants is why an owner that nobody holds needs a worker, if it does.
func (s Seen) wants(now time.Time) (Todo, string) {
	switch {
	case s.Unanswered:
		return Place, Wake
	case now.Before(s.Wanted):
		return Place, Acquired
	}
	return Nothing, ""
}

// Needless reports whether the record of an owner that was to be woken says that
// nothing of it waits any more: q and c were answered, which are the newest
// requests that were seen of it, and nobody wants it open. The cursors must be of
// the present stream.
func Needless(rec *protocol.OwnerRecord, reason string, q, c protocol.Seq, now time.Time) bool {
	if rec == nil || (reason != Wake && reason != Acquired) {
		return false
	}
	switch rec.State {
	case protocol.RecordUnassigned, protocol.RecordHibernated, protocol.RecordAnswering:
		return rec.CursorQ >= q && rec.CursorC >= c && !now.Before(rec.WantedUntil())
	}
	return false
}

// Placeable reports whether the record, as its stream's leader has it, may be
// assigned. refused are workers that certainly did not take the owner.
func Placeable(rec *protocol.OwnerRecord, refused []protocol.WorkerID, alive func(protocol.WorkerID) bool, now time.Time) bool {
	if rec == nil {
		return true
	}
	switch rec.State {
	case protocol.RecordUnassigned, protocol.RecordHibernated, protocol.RecordMoving:
		return true
	case protocol.RecordAnswering:
		return now.Sub(rec.Since.Time) > Restless
	case protocol.RecordAssigned:
		return slices.Contains(refused, rec.Worker) || !alive(rec.Worker)
	}
	return false
}

// Answerable reports whether a coordinator may make itself the holder.
func Answerable(rec *protocol.OwnerRecord, alive func(protocol.WorkerID) bool) bool {
	return rec == nil || rec.State != protocol.RecordAssigned || !alive(rec.Worker)
}
