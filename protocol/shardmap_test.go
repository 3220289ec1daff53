package protocol_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestShardMapsAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]protocol.ShardMap{
		"1":                {Total: 1},
		"4":                protocol.Shards(4),
		"6,acme=4,zed=5":   {Total: 6, Dedicated: map[protocol.Tenant]protocol.Shard{"acme": 4, "zed": 5}},
		"2, acme=1":        {Total: 2, Dedicated: map[protocol.Tenant]protocol.Shard{"acme": 1}},
		"3,zed=1,acme-2=2": {Total: 3, Dedicated: map[protocol.Tenant]protocol.Shard{"acme-2": 2, "zed": 1}},
	} {
		got, err := protocol.ParseShards(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		again, err := protocol.ParseShards(got.String())
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%q became %q: %v %s", text, got, err, diff)
		}
	}
}

func TestShardMapsThatWouldLoseOwnersAreRefused(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                "want a number",
		"four":            "want a number",
		"0":               "want 1 to 256",
		"-1":              "want 1 to 256",
		"257":             "want 1 to 256",
		"1,acme=0":        "at least one that the others share",
		"2,acme=0":        "want 1 to 1",
		"3,acme=1":        "want 2 to 2",
		"3,acme=3":        "want 2 to 2",
		"4,acme=3,zed=3":  "of two tenants",
		"4,acme=2,acme=3": "twice",
		"2,acme":          "TENANT=SHARD",
		"2,acme=-1":       "TENANT=SHARD",
		"2,a.b=1":         "a.b",
		"2,=1":            "",
		"2,*=1":           "",
	} {
		if _, err := protocol.ParseShards(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

func TestATenantsOwnShardIsItsAlone(t *testing.T) {
	t.Parallel()
	m, err := protocol.ParseShards("5,acme=4,zed=3")
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []protocol.Owner{"one", "two", "three", "four", "five", "six"} {
		for tenant, want := range map[protocol.Tenant]protocol.Shard{
			"acme": 4, "zed": 3, "other": protocol.ShardOf(owner, 3),
		} {
			if got := m.Of(protocol.OwnerKey{Tenant: tenant, Owner: owner}); got != want {
				t.Errorf("%s/%s: shard %s, want %s", tenant, owner, got, want)
			}
		}
	}
}

func TestOnlyNewTenantsMayGetShards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, now string
		grown    []protocol.Tenant
		ok       bool
	}{
		{"4", "4", nil, true},
		{"4", "5,acme=4", []protocol.Tenant{"acme"}, true},
		{"5,acme=4", "7,acme=4,zed=5,b=6", []protocol.Tenant{"b", "zed"}, true},
		{"4", "5", nil, false},
		{"4", "3", nil, false},
		{"4", "4,acme=3", nil, false},
		{"5,acme=4", "5", nil, false},
		{"5,acme=4", "4", nil, false},
		{"6,acme=4,zed=5", "6,acme=5,zed=4", nil, false},
	} {
		old, err := protocol.ParseShards(c.old)
		if err != nil {
			t.Fatal(err)
		}
		now, err := protocol.ParseShards(c.now)
		if err != nil {
			t.Fatal(err)
		}
		grown, err := now.Grown(old)
		if (err == nil) != c.ok {
			t.Errorf("%s -> %s: %v", c.old, c.now, err)
		}
		if diff := cmp.Diff(c.grown, grown); diff != "" {
			t.Errorf("%s -> %s: %s", c.old, c.now, diff)
		}
	}
}
