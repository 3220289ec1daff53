package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/browserfleet/browserfleet/protocol"
)

// quotasWithin is how long a coordinator waits for them before it leads.
const quotasWithin = 3 * time.Second

// DefaultQuotas are those of a tenant for which no operator wrote any. They keep
// one tenant from filling the fleet's streams by mistake, no more.
var DefaultQuotas = protocol.Quotas{Owners: 50_000, Environments: 5_000, QueueBytes: 1 << 30}

// quotaBook is what the tenants may use, as the operators wrote it.
type quotaBook struct {
	defaults protocol.Quotas
	mu       sync.Mutex // guards tenants and policies
	tenants  map[protocol.Tenant]protocol.Quotas
	// policies are the keys of those that an agent may name.
	policies map[string]bool
	// read is closed when every document was read once.
	read     chan struct{}
	readOnce sync.Once
}

func newQuotaBook(defaults protocol.Quotas) *quotaBook {
	return &quotaBook{
		defaults: fill(defaults, DefaultQuotas), tenants: map[protocol.Tenant]protocol.Quotas{}, policies: map[string]bool{},
		read: make(chan struct{}),
	}
}

// lacks reports whether the tenant has no policy of that name. Before the documents
// were read nobody knows: then the worker decides.
func (b *quotaBook) lacks(t protocol.Tenant, policy string) bool {
	select {
	case <-b.read:
	default:
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.policies[protocol.PolicyKey(t, policy)]
}

// await waits until the documents were read: a leader that does not know them
// would place what it must refuse. It does not wait for ever; owners come first.
func (b *quotaBook) await(ctx context.Context) {
	limit := time.NewTimer(quotasWithin)
	defer limit.Stop()
	select {
	case <-b.read:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// fill puts what others has in place of what q leaves open.
func fill(q, others protocol.Quotas) protocol.Quotas {
	q.Owners = cmp.Or(q.Owners, others.Owners)
	q.Environments = cmp.Or(q.Environments, others.Environments)
	q.QueueBytes = cmp.Or(q.QueueBytes, others.QueueBytes)
	return q
}

// of are the tenant's quotas; Unlimited where there is no limit.
func (b *quotaBook) of(t protocol.Tenant) protocol.Quotas {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fill(b.tenants[t], b.defaults)
}

func (b *quotaBook) set(t protocol.Tenant, q *protocol.Quotas) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q == nil {
		delete(b.tenants, t)
		return
	}
	q.Labels = maps.Clone(q.Labels)
	b.tenants[t] = *q
}

// runQuotas follows the operators' documents. While the bucket cannot be
// reached, what was read last holds.
func (c *Coordinator) runQuotas(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.followQuotas(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("cannot follow the tenants' quotas", "error", err)
		}
		pause(ctx, time.Second)
	}
}

func (c *Coordinator) followQuotas(ctx context.Context) error {
	bucket, err := c.cfg.Conn.JS.KeyValue(ctx, protocol.PolicyBucket)
	if err != nil {
		return fmt.Errorf("open %s: %w", protocol.PolicyBucket, err)
	}
	watch, err := bucket.WatchFiltered(ctx, []string{"tenant.*.quotas", "tenant.*.policy.*"})
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
				c.quotas.readOnce.Do(func() { close(c.quotas.read) })
				continue
			}
			c.onQuotas(entry)
		case <-ctx.Done():
			return nil
		}
	}
}

// onQuotas takes a document. One that cannot be read changes nothing: an
// operator's slip must neither open a tenant nor stop it.
func (c *Coordinator) onQuotas(entry jetstream.KeyValueEntry) {
	if _, _, err := protocol.ParsePolicyKey(entry.Key()); err == nil {
		c.quotas.mu.Lock()
		defer c.quotas.mu.Unlock()
		c.quotas.policies[entry.Key()] = entry.Operation() == jetstream.KeyValuePut
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(entry.Key(), "tenant."), ".quotas")
	tenant, err := protocol.ParseTenant(name)
	if err != nil {
		return
	}
	var q *protocol.Quotas
	if entry.Operation() == jetstream.KeyValuePut {
		q = &protocol.Quotas{}
		if err := json.Unmarshal(entry.Value(), q); err != nil || q.V != protocol.Version {
			c.log.Error("a tenant's quotas cannot be read; the former ones hold", "tenant", tenant, "version", q.V, "error", err)
			return
		}
	}
	c.quotas.set(tenant, q)
	for _, s := range c.shards {
		s.roomFound()
	}
}
