package decide

import (
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// eraseAgain is how long after an erasure of a deleted owner the next one follows;
// after the last there is none. A holder that was overtaken while it wrote a
// checkpoint may store it after the erasure, in a slot that is free again: nobody
// would ever read it, or remove it. A write ends within a minute of its process's
// time (package checkpoints), but a process can be stopped, and a machine suspended,
// for as long as anybody likes; who is woken after more than a day leaves something.
var eraseAgain = []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour}

// EraseAgain is when what may have been stored of a deleted owner since it was
// erased is to be removed; zero is never.
func EraseAgain(rec *protocol.OwnerRecord) time.Time {
	switch {
	case rec.State != protocol.RecordDeleted || rec.Erase || rec.Erasures > len(eraseAgain):
		return time.Time{}
	case rec.Erasures == 0: // erased before erasures were counted
		return rec.Since.Add(Restless)
	}
	return rec.Erased.Add(eraseAgain[rec.Erasures-1])
}
