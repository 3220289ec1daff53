package coordinator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/coordinator/decide"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestQuotas(t *testing.T) {
	t.Parallel()
	b := newQuotaBook(protocol.Quotas{Environments: 3})
	b.set("a", &protocol.Quotas{Owners: 2, QueueBytes: protocol.Unlimited})
	want := protocol.Quotas{Owners: 2, Environments: 3, QueueBytes: protocol.Unlimited}
	if diff := cmp.Diff(want, b.of("a")); diff != "" {
		t.Errorf("what a document leaves open is the default (-want +got):\n%s", diff)
	}
	if got := b.of("b"); got.Owners != DefaultQuotas.Owners || got.Environments != 3 {
		t.Errorf("%+v", got)
	}
	b.set("a", nil)
	if b.of("a").Owners != DefaultQuotas.Owners {
		t.Error("a removed document holds on")
	}
	for name, tc := range map[string]struct {
		used  protocol.TenantUsage
		fresh bool
		over  bool
	}{
		"nothing":                    {fresh: true},
		"a new owner too many":       {used: protocol.TenantUsage{Owners: 2}, fresh: true, over: true},
		"an owner that there is":     {used: protocol.TenantUsage{Owners: 2}},
		"an environment too many":    {used: protocol.TenantUsage{Environments: 3}, over: true},
		"bytes without a limit":      {used: protocol.TenantUsage{QueueBytes: 1 << 60}},
		"the last that is permitted": {used: protocol.TenantUsage{Owners: 1, Environments: 2}, fresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why := decide.Over(want, tc.used, tc.fresh)
			if (why != nil) != tc.over {
				t.Fatalf("%v", why)
			}
			if why != nil && (why.Code != protocol.CodeQuotaExceeded || why.RetryAfterMS == 0 || !why.Retryable) {
				t.Errorf("%+v", why)
			}
		})
	}
	if decide.Over(protocol.Quotas{Owners: 1, Environments: 1, QueueBytes: 10}, protocol.TenantUsage{QueueBytes: 11}, false) == nil {
		t.Error("bytes have no limit")
	}
}
