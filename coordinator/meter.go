package coordinator

import (
	"github.com/browserfleet/browserfleet/protocol"
)

// Meter counts what the leaders see. Each thing is seen by one of them: a change
// of which nobody was the leader is not counted. Its methods wait for nothing.
type Meter interface {
	Saw(what Event)
	// Stands is how a shard stands, told every second by its leader, and with
	// nothing in it by one that stops to lead.
	Stands(s protocol.Shard, now Standing)
}

// Event is something that a leader sees.
type Event string

// The events.
const (
	SawHibernation Event = "hibernated" // an environment was saved and closed
	SawWake        Event = "woken"      // one that slept was given to a worker
	SawStrike      Event = "struck"     // a death without a completed action was counted
	SawUnroutable  Event = "unroutable" // a request under a name that is no owner's
)

// Standing is a shard's figures.
type Standing struct {
	// Leases are the agents' handles that the records have.
	Leases int
	// Line is how many owners of each tenant wait for a worker.
	Line map[protocol.Tenant]int
}

type noMeter struct{}

func (noMeter) Saw(Event)                       {}
func (noMeter) Stands(protocol.Shard, Standing) {}

// saw counts what a newer record of an owner says that the former did not.
func (l *loop) saw(old, e *entry) {
	meter := l.s.c.cfg.Meter
	switch {
	case old == nil || old.fence >= e.fence:
		return
	case e.state == protocol.RecordHibernated && old.state != e.state:
		meter.Saw(SawHibernation)
	case e.state == protocol.RecordAssigned && old.state == protocol.RecordHibernated:
		meter.Saw(SawWake)
	}
	for range e.failures - old.failures {
		meter.Saw(SawStrike)
	}
}

// standing is what is true now.
func (l *loop) standing() Standing {
	now := Standing{Line: map[protocol.Tenant]int{}}
	for _, e := range l.view {
		now.Leases += e.leases
	}
	for tenant, w := range l.line.tenants {
		if n := w.len(); n > 0 {
			now.Line[tenant] = n
		}
	}
	return now
}
