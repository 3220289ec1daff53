package coordinator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/browserfleet/browserfleet/coordinator"
	"github.com/browserfleet/browserfleet/protocol"
)

// One tenant floods; the other one's few owners are placed as if it did not. The
// turns are in the leader's memory: where the machine stalls for so long that the
// leadership is lost, it is tried again.
func TestAFloodDelaysOnlyItsOwnTenant(t *testing.T) {
	t.Parallel()
	for range 5 {
		got, terms := flood(t)
		if got["a"] == got["b"] {
			return
		}
		if terms == 1 {
			t.Fatalf("placed %v", got)
		}
		t.Logf("placed %v, in %d terms", got, terms)
	}
	t.Fatal("nobody led for long enough")
}

// flood lets both tenants wait for the slots of one worker, and says who got how
// many, and how many terms of leadership that took.
func flood(t *testing.T) (map[protocol.Tenant]int, int64) {
	b := newBench(t)
	terms := &counter{word: "leads", n: new(atomic.Int64), Handler: slog.NewTextHandler(t.Output(), nil)}
	stop := b.coordinate("c-1", b.conn, func(c *coordinator.Config) { c.Logger = slog.New(terms) })
	defer stop()
	b.led()
	const many, quiet = 40, 4
	for i := range many {
		b.open(key(i))
	}
	b.eventually("the flood to wait", func() bool { return b.explain(key(many-1)).Position == many })
	other := b.Tenant(b.t, "b")
	for i := range 2 * quiet { // more than can be placed
		b.openAs(other, protocol.OwnerKey{Tenant: "b", Owner: protocol.Owner(fmt.Sprintf("o%d", i))})
	}
	b.eventually("the others to wait", func() bool {
		return b.explain(protocol.OwnerKey{Tenant: "b", Owner: "o7"}).Position == 4*quiet
	})
	w := b.puppet("w-1", 2*quiet, nil)
	got := map[protocol.Tenant]int{}
	seen := map[protocol.OwnerKey]bool{}
	for len(seen) < 2*quiet {
		if a := b.told(w); !seen[a.Key] {
			seen[a.Key] = true
			got[a.Key.Tenant]++
		}
	}
	return got, terms.n.Load()
}

// counter counts the log lines of one message.
type counter struct {
	slog.Handler
	word string
	n    *atomic.Int64
}

func (c *counter) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == c.word {
		c.n.Add(1)
	}
	return c.Handler.Handle(ctx, r)
}

func (c *counter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &counter{Handler: c.Handler.WithAttrs(attrs), word: c.word, n: c.n}
}

// openAs stores an action as another tenant's agent.
func (b *bench) openAs(nc *nats.Conn, k protocol.OwnerKey) {
	b.t.Helper()
	r, err := protocol.NewRequest(protocol.KindOpen, &protocol.OpenArgs{URL: "http://x.invalid/"}, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := json.Marshal(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.request(nc, protocol.AgentActSubject(k.Owner, protocol.LaneQueue), body)
}
