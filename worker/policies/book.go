package policies

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
)

// Effective is a policy as a browser needs it.
type Effective struct {
	// Egress nil denies everything.
	Egress *egressproxy.Compiled
	// Popups is deny or adopt, empty for the worker's; Dialogs likewise.
	Popups  string
	Dialogs protocol.DialogPolicy
}

// name is a policy's place.
type name struct {
	tenant protocol.Tenant
	policy string
}

type holder struct {
	name  name
	apply func(Effective)
}

// Book is the policies that a worker knows.
type Book struct {
	fallback  Effective
	listeners []netip.AddrPort
	log       *slog.Logger

	mu        sync.Mutex // guards documents and holders
	documents map[name]Effective
	holders   map[*holder]bool

	// read is closed when every document was read once.
	read     chan struct{}
	readOnce sync.Once
}

// Fixed is a book with nothing but the worker's own policy.
func Fixed(own *egressproxy.Compiled) *Book {
	b := New(own, nil, slog.New(slog.DiscardHandler))
	b.ready()
	return b
}

// New is a book that Run fills. Own is what holds where a tenant has no default;
// fleet are listeners that no policy opens.
func New(own *egressproxy.Compiled, fleet []netip.AddrPort, log *slog.Logger) *Book {
	return &Book{
		fallback: Effective{Egress: own}, listeners: fleet, log: log,
		documents: map[name]Effective{}, holders: map[*holder]bool{}, read: make(chan struct{}),
	}
}

func (b *Book) ready() { b.readOnce.Do(func() { close(b.read) }) }

// Hold calls apply with the policy of that name, and with each later version, until
// release. A name that is not there is policy_denied.
func (b *Book) Hold(ctx context.Context, tenant protocol.Tenant, policy string, apply func(Effective)) (release func(), err error) {
	select {
	case <-b.read:
	case <-ctx.Done():
		return nil, fmt.Errorf("the policies were not read yet: %w", context.Cause(ctx))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	h := &holder{name: name{tenant, policy}, apply: apply}
	effective, ok := b.find(h.name)
	if !ok {
		return nil, protocol.Errorf(protocol.CodePolicyDenied, "tenant %s has no policy %q", tenant, policy)
	}
	b.holders[h] = true
	apply(effective)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.holders, h)
	}, nil
}

func (b *Book) find(n name) (Effective, bool) {
	if n.policy != "" {
		e, ok := b.documents[n]
		return e, ok
	}
	if e, ok := b.documents[name{n.tenant, protocol.DefaultPolicy}]; ok {
		return e, true
	}
	return b.fallback, true
}

// set takes a version of a document; nil for a deleted one.
func (b *Book) set(n name, e *Effective) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e == nil {
		delete(b.documents, n)
	} else {
		b.documents[n] = *e
	}
	for h := range b.holders {
		if h.name == n || (h.name.tenant == n.tenant && h.name.policy == "" && n.policy == protocol.DefaultPolicy) {
			now, _ := b.find(h.name) // what is not there any more denies everything
			h.apply(now)
		}
	}
}

// Run follows the operators' documents until ctx ends. While the bucket cannot be
// reached, what was read last holds.
func (b *Book) Run(ctx context.Context, conn *natsx.Conn) {
	for ctx.Err() == nil {
		if err := b.follow(ctx, conn); err != nil && ctx.Err() == nil {
			b.log.Warn("cannot follow the policies", "error", err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (b *Book) follow(ctx context.Context, conn *natsx.Conn) error {
	bucket, err := conn.JS.KeyValue(ctx, protocol.PolicyBucket)
	if err != nil {
		return fmt.Errorf("open %s: %w", protocol.PolicyBucket, err)
	}
	watch, err := bucket.Watch(ctx, "tenant.*.policy.*")
	if err != nil {
		return fmt.Errorf("watch %s: %w", protocol.PolicyBucket, err)
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case entry, open := <-watch.Updates():
			if !open {
				return fmt.Errorf("watch %s: it ended", protocol.PolicyBucket)
			}
			if entry == nil { // everything that was there has come
				b.ready()
				continue
			}
			b.take(entry)
		case <-ctx.Done():
			return nil
		}
	}
}

// take reads a document. One that cannot be read changes nothing: an operator's slip
// must neither open a tenant nor stop it.
func (b *Book) take(entry jetstream.KeyValueEntry) {
	tenant, policy, err := protocol.ParsePolicyKey(entry.Key())
	if err != nil {
		return
	}
	n := name{tenant, policy}
	if entry.Operation() != jetstream.KeyValuePut {
		b.set(n, nil)
		return
	}
	e, err := Compile(entry.Value(), b.listeners)
	if err != nil {
		b.log.Error("a policy cannot be read; its former version holds", "tenant", tenant, "policy", policy, "revision", entry.Revision(), "error", err)
		return
	}
	b.set(n, e)
}
