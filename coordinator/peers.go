package coordinator

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/protocol"
)

const (
	beatEvery = time.Second
	// peerGone is when a coordinator that is not heard of counts no more, and when
	// a shard that nobody seems to lead is anybody's.
	peerGone = 5 * time.Second
	// yieldEvery bounds how fast a coordinator gives shards away: each costs the
	// shard about two seconds without a leader.
	yieldEvery = 3 * time.Second
)

// peers is what the coordinators tell each other. It only spreads the work and
// sums up quotas: leases and records decide, whatever is heard here.
type peers struct {
	shards int
	mu     sync.Mutex // guards all below
	heard  map[protocol.WorkerID]peer
	// own are the shards that this coordinator leads, with what their loops say.
	own map[protocol.Shard]protocol.ShardLead
	// orphan is since when nobody seems to lead a shard.
	orphan  map[protocol.Shard]time.Time
	yielded time.Time
}

type peer struct {
	beat protocol.CoordinatorBeat
	seen time.Time
}

func newPeers(shards int) *peers {
	return &peers{
		shards: shards, heard: map[protocol.WorkerID]peer{}, own: map[protocol.Shard]protocol.ShardLead{},
		orphan: map[protocol.Shard]time.Time{},
	}
}

// runBeats tells the others what this coordinator leads.
func (c *Coordinator) runBeats(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		beat := protocol.CoordinatorBeat{V: protocol.Version, Coordinator: c.cfg.ID, Leads: c.peers.leads()}
		if data, err := json.Marshal(beat); err == nil {
			_ = c.cfg.Conn.NC.Publish(protocol.CoordinatorSubject(c.cfg.ID), data)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Coordinator) onBeat(m *nats.Msg) {
	var beat protocol.CoordinatorBeat
	if json.Unmarshal(m.Data, &beat) == nil && beat.V == protocol.Version && beat.Coordinator != c.cfg.ID &&
		protocol.CoordinatorSubject(beat.Coordinator) == m.Subject {
		c.peers.hear(beat, time.Now())
	}
}

func (p *peers) hear(beat protocol.CoordinatorBeat, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard[beat.Coordinator] = peer{beat, now}
}

// report takes what a leader's loop says; begins and ends are the leadership.
func (p *peers) report(l protocol.ShardLead) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, leads := p.own[l.Shard]; leads {
		p.own[l.Shard] = l
	}
}

func (p *peers) begins(s protocol.Shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own[s] = protocol.ShardLead{Shard: s}
}

func (p *peers) ends(s protocol.Shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.own, s)
}

// leading reports whether this coordinator leads the shard.
func (p *peers) leading(s protocol.Shard) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.own[s]
	return ok
}

func (p *peers) leads() []protocol.ShardLead {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]protocol.ShardLead, 0, len(p.own))
	for s := range p.shards {
		if l, ok := p.own[protocol.Shard(s)]; ok {
			all = append(all, l)
		}
	}
	return all
}

// living forgets who is not heard of. Callers hold mu.
func (p *peers) living(now time.Time) map[protocol.WorkerID]peer {
	for id, o := range p.heard {
		if now.Sub(o.seen) > peerGone {
			delete(p.heard, id)
		}
	}
	return p.heard
}

// fair is how many shards each of the living may lead.
func (p *peers) fair(now time.Time) int {
	n := 1 + len(p.living(now))
	return (p.shards + n - 1) / n
}

// mayLead reports whether this coordinator should try to lead a shard: while it
// leads less than its part, or when nobody else has led the shard for a while.
func (p *peers) mayLead(s protocol.Shard, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.own) < p.fair(now) {
		delete(p.orphan, s)
		return true
	}
	for _, o := range p.heard {
		for _, l := range o.beat.Leads {
			if l.Shard == s {
				delete(p.orphan, s)
				return false
			}
		}
	}
	since, ok := p.orphan[s]
	if !ok {
		p.orphan[s] = now
		return false
	}
	return now.Sub(since) > peerGone
}

// yields reports whether this coordinator should give the shard to another one,
// which leads too few. It gives one at a time, the last of its own.
func (p *peers) yields(s protocol.Shard, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	fair := p.fair(now)
	if len(p.own) <= fair || now.Sub(p.yielded) < yieldEvery {
		return false
	}
	for other := range p.own {
		if other > s {
			return false
		}
	}
	for _, o := range p.heard {
		if len(o.beat.Leads) < fair {
			p.yielded = now
			return true
		}
	}
	return false
}

// elsewhere is what a tenant uses of other shards than s, as their leaders said
// within the last seconds: a quota over several shards may be passed by what
// they take in a second.
func (p *peers) elsewhere(t protocol.Tenant, s protocol.Shard, now time.Time) protocol.TenantUsage {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := protocol.TenantUsage{Tenant: t}
	seen := map[protocol.Shard]bool{s: true}
	add := func(l protocol.ShardLead) {
		if seen[l.Shard] {
			return
		}
		seen[l.Shard] = true
		for _, u := range l.Tenants {
			if u.Tenant == t {
				sum.Owners += u.Owners
				sum.Environments += u.Environments
				sum.QueueBytes += u.QueueBytes
			}
		}
	}
	for _, l := range p.own {
		add(l)
	}
	for _, o := range p.living(now) {
		for _, l := range o.beat.Leads {
			add(l)
		}
	}
	return sum
}

// mismatches are those that all leaders found, by worker.
func (p *peers) mismatches(now time.Time) map[protocol.WorkerID][]protocol.HeldMismatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[protocol.WorkerID][]protocol.HeldMismatch{}
	seen := map[protocol.Shard]bool{}
	add := func(l protocol.ShardLead) {
		if !seen[l.Shard] {
			for _, m := range l.Mismatches {
				all[m.Worker] = append(all[m.Worker], m)
			}
		}
		seen[l.Shard] = true
	}
	for _, l := range p.own {
		add(l)
	}
	for _, o := range p.living(now) {
		for _, l := range o.beat.Leads {
			add(l)
		}
	}
	return all
}
