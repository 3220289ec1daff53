package chrome

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/testkit"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
	"github.com/browserfleet/browserfleet/worker/policies"
)

// TestAPolicyMeetsABrowserThatIsOpen: an owner under a named policy reaches what it
// names, popups and dialogs are as it says, and a tighter version holds at once.
func TestAPolicyMeetsABrowserThatIsOpen(t *testing.T) {
	t.Parallel()
	ctx, b, nats := context60(t), newBench(t, shop()), testkit.NATS(t)
	bucket, err := nats.Operator(t).JS.KeyValue(ctx, protocol.PolicyBucket)
	if err != nil {
		t.Fatal(err)
	}
	put := func(hosts ...string) {
		t.Helper()
		document := `{"v":1,"egress":{"mode":"allowlist","public":false,"allow_hosts":["` + strings.Join(hosts, `","`) + `"]}}`
		if _, err := bucket.PutString(ctx, protocol.PolicyKey(key.Tenant, "narrow"), document); err != nil {
			t.Fatal(err)
		}
	}
	site, elsewhere := strings.TrimPrefix(b.site.URL, "http://"), strings.TrimPrefix(b.elsewhere(), "http://")
	put(site, elsewhere)

	book := policies.New(b.launcher.cfg.Policy, nil, slog.New(slog.DiscardHandler))
	b.launcher.cfg.Policies = book
	life, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	worker := nats.Worker(t)
	done.Go(func() { book.Run(life, worker) })
	defer done.Wait()
	defer stop()

	_, _, err = b.launcher.Open(ctx, environment.Spec{Key: key, Generation: 1, Loaded: &checkpoints.Loaded{}, Policy: "missing"})
	if failed := (*protocol.Error)(nil); !errors.As(err, &failed) || failed.Code != protocol.CodePolicyDenied {
		t.Fatalf("a policy that is not there: %v", err)
	}
	opened, _, err := b.launcher.Open(ctx, environment.Spec{Key: key, Generation: 1, Loaded: &checkpoints.Loaded{}, Policy: "narrow"})
	if err != nil {
		t.Fatal(err)
	}
	browser := opened.(*Browser)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := browser.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.elsewhere() + "/"}))
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))

	before := browser.policy.Load()
	put(site)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for browser.policy.Load() == before {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the new version never came")
		}
	}
	out := b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.elsewhere() + "/"})
	if out.Err == nil || out.Err.Code != protocol.CodePolicyDenied || out.Err.Dispatched != protocol.DispatchedNo {
		t.Errorf("what the new version no longer names: %v", out.Err)
	}
	b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/account"}))
}
