package coordinator

import (
	"slices"

	"github.com/browserfleet/browserfleet/protocol"
)

// usage is what tenants use of one shard, kept up to date with the leader's view.
// The loop owns it.
type usage struct {
	tenants  map[protocol.Tenant]*protocol.TenantUsage
	backlogs map[protocol.OwnerKey]*backlog
}

func newUsage() *usage {
	return &usage{tenants: map[protocol.Tenant]*protocol.TenantUsage{}, backlogs: map[protocol.OwnerKey]*backlog{}}
}

// counted reports how a record counts: whether there is an owner, and whether it
// has, or is about to have, an environment.
func counted(s protocol.RecordState) (owner, live bool) {
	owner = s != protocol.RecordNone && s != protocol.RecordDeleted
	return owner, s == protocol.RecordAssigned || s == protocol.RecordMoving
}

// moved counts a record that went from one state to another.
func (u *usage) moved(t protocol.Tenant, from, to protocol.RecordState) {
	had, lived := counted(from)
	has, lives := counted(to)
	of := u.tenant(t)
	of.Owners += b2i(has) - b2i(had)
	of.Environments += b2i(lives) - b2i(lived)
	u.tidy(t)
}

// backlog is the sizes of an owner's stored requests.
type backlog struct {
	seen []sized
	// unseen estimates requests that were stored while nobody listened: as many
	// as the stream counts more, each as large as the newest.
	unseenQ, unseenC int64
}

type sized struct {
	lane protocol.Lane
	seq  protocol.Seq
	size int
}

func (b *backlog) bytes() int64 {
	n := b.unseenQ + b.unseenC
	for _, s := range b.seen {
		n += int64(s.size)
	}
	return n
}

// stored counts a request that was pushed.
func (u *usage) stored(k protocol.OwnerKey, l protocol.Lane, seq protocol.Seq, size int) {
	u.charge(k, func(b *backlog) { b.seen = append(b.seen, sized{l, seq, size}) })
}

// trimmed forgets what lies at or before a cursor: it is answered.
func (u *usage) trimmed(k protocol.OwnerKey, l protocol.Lane, upto protocol.Seq) {
	if u.backlogs[k] == nil {
		return
	}
	u.charge(k, func(b *backlog) {
		b.seen = slices.DeleteFunc(b.seen, func(s sized) bool { return s.lane == l && s.seq <= upto })
	})
}

// counted takes what the stream says of a lane: how many requests it holds, and
// the size of the newest.
func (u *usage) listed(k protocol.OwnerKey, l protocol.Lane, count uint64, newest int) {
	u.charge(k, func(b *backlog) {
		known := 0
		for _, s := range b.seen {
			if s.lane == l {
				known++
			}
		}
		unseen := max(0, int64(count)-int64(known)) * int64(newest)
		if l == protocol.LaneControl {
			b.unseenC = unseen
		} else {
			b.unseenQ = unseen
		}
	})
}

// emptied forgets owners without a stored request.
func (u *usage) emptied(holds func(protocol.OwnerKey) bool) {
	for k := range u.backlogs {
		if !holds(k) {
			u.charge(k, func(b *backlog) { *b = backlog{} })
		}
	}
}

func (u *usage) charge(k protocol.OwnerKey, change func(*backlog)) {
	b := u.backlogs[k]
	if b == nil {
		b = &backlog{}
		u.backlogs[k] = b
	}
	before := b.bytes()
	change(b)
	after := b.bytes()
	u.tenant(k.Tenant).QueueBytes += after - before
	if after == 0 {
		delete(u.backlogs, k)
	}
	u.tidy(k.Tenant)
}

func (u *usage) tenant(t protocol.Tenant) *protocol.TenantUsage {
	of := u.tenants[t]
	if of == nil {
		of = &protocol.TenantUsage{Tenant: t}
		u.tenants[t] = of
	}
	return of
}

func (u *usage) tidy(t protocol.Tenant) {
	if *u.tenants[t] == (protocol.TenantUsage{Tenant: t}) {
		delete(u.tenants, t)
	}
}

// of is what one tenant uses.
func (u *usage) of(t protocol.Tenant) protocol.TenantUsage {
	if of := u.tenants[t]; of != nil {
		return *of
	}
	return protocol.TenantUsage{Tenant: t}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
