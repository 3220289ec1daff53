package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Ledger collects, while a fleet runs, what nobody can read afterwards: which
// requests were stored (queues are purged) and what was pushed. Its methods are
// safe for concurrent use.
type Ledger struct {
	// created is each shard's BF_ACT creation: part of the names of requests
	// without an id.
	shards  protocol.ShardMap
	created []time.Time
	mine    func(protocol.OwnerKey) bool

	mu       sync.Mutex // guards everything below
	requests map[ID]*Request
	copies   map[copyOf]bool
	pushes   map[ID]*Pushes
	told     map[ID][]Told
	strange  int // pushes on bf.done that the server did not make
	watches  []*watch
}

// copyOf is one stored message.
type copyOf struct {
	key  protocol.OwnerKey
	lane protocol.Lane
	seq  protocol.Seq
}

// NewLedger is an empty ledger for the owners that mine accepts; a nil mine
// accepts all. It asks the streams how many shards there are.
func NewLedger(ctx context.Context, conn *natsx.Conn, mine func(protocol.OwnerKey) bool) (*Ledger, error) {
	l := &Ledger{
		mine: mine, requests: map[ID]*Request{}, copies: map[copyOf]bool{},
		pushes: map[ID]*Pushes{}, told: map[ID][]Told{},
	}
	if l.mine == nil {
		l.mine = func(protocol.OwnerKey) bool { return true }
	}
	var err error
	if l.shards, err = conn.Shards(ctx); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	for s := range l.shards.Total {
		created, err := conn.StreamCreated(ctx, protocol.ActStream(protocol.Shard(s)))
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		l.created = append(l.created, created)
	}
	return l, nil
}

// Shards is the number of shards.
func (l *Ledger) Shards() int { return l.shards.Total }

// Stored records a PubAck: the server stored this body for the owner at this
// sequence. It returns the name under which the request is answered.
func (l *Ledger) Stored(key protocol.OwnerKey, lane protocol.Lane, seq protocol.Seq, body []byte) protocol.RequestID {
	return l.stored(protocol.Stored{Key: key, Lane: lane, Seq: seq, StoredAt: time.Now(), Data: body})
}

func (l *Ledger) stored(m protocol.Stored) protocol.RequestID {
	a := protocol.Admit(m, l.created[l.shards.Of(m.Key)])
	if l.mine(m.Key) {
		l.add(Request{ID: ID{m.Key, a.ID}, Lane: m.Lane, Seq: m.Seq, Kind: a.Action.Kind, At: time.Now()})
	}
	return a.ID
}

// add takes one stored copy; the same one, seen twice, is one.
func (l *Ledger) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := copyOf{r.Key, r.Lane, r.Seq}
	if l.copies[at] {
		return
	}
	l.copies[at] = true
	have := l.requests[r.ID]
	if have == nil {
		r.Copies = 1
		l.requests[r.ID] = &r
		return
	}
	have.Copies++
	have.Seq = min(have.Seq, r.Seq)
}

// Told records what an agent took for its result, which also says that the
// request was stored.
func (l *Ledger) Told(res *protocol.Result) {
	id := ID{protocol.OwnerKey{Tenant: res.Tenant, Owner: res.Owner}, res.Request}
	l.add(Request{ID: id, Lane: res.Lane, Seq: res.Seq, Kind: res.Kind, At: time.Now()})
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Told{Nonce: res.Nonce, Status: res.Status}
	if !slices.Contains(l.told[id], t) {
		l.told[id] = append(l.told[id], t)
	}
}

// pushed records a push of a result.
func (l *Ledger) pushed(id ID, body []byte, repeat bool) {
	digest := DigestOf(body)
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pushes[id]
	if p == nil {
		p = &Pushes{Bodies: map[Digest]int{}, At: time.Now()}
		l.pushes[id] = p
	}
	p.Bodies[digest]++
	if !repeat {
		p.First++
	}
}

// Requests are the stored requests so far, in no order.
func (l *Ledger) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Request, 0, len(l.requests))
	for _, r := range l.requests {
		all = append(all, *r)
	}
	return all
}

// Owners are the owners of the stored requests.
func (l *Ledger) Owners() []protocol.OwnerKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	owners := map[protocol.OwnerKey]bool{}
	for id := range l.requests {
		owners[id.Key] = true
	}
	return slices.Collect(maps.Keys(owners))
}

// unanswered are the requests whose result was not pushed, as far as is known.
func (l *Ledger) unanswered() []ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []ID
	for id := range l.requests {
		if p := l.pushes[id]; p == nil || p.First == 0 {
			open = append(open, id)
		}
	}
	return open
}

// into adds what was collected to the evidence.
func (l *Ledger) into(e *Evidence) {
	e.Requests = l.Requests()
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Pushes = make(map[ID]Pushes, len(l.pushes))
	for id, p := range l.pushes {
		e.Pushes[id] = Pushes{First: p.First, Bodies: maps.Clone(p.Bodies), At: p.At}
	}
	e.Told = maps.Clone(l.told)
	if l.strange > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%d messages on bf.done that no stream pushed; clients drop them", l.strange))
	}
	for _, w := range l.watches {
		e.Notes = append(e.Notes, w.gaps()...)
	}
}
