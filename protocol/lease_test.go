package protocol_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestALeaseLivesFromGrantToExpiryAndUseRenewsIt(t *testing.T) {
	t.Parallel()
	var r protocol.OwnerRecord
	if _, err := r.Grant("one", time.Minute, noon); err != nil {
		t.Fatal(err)
	}
	r.Use(noon.Add(50*time.Second), noon.Add(50*time.Second))
	if r.Lease("one", noon.Add(100*time.Second)) == nil {
		t.Fatal("use did not renew it")
	}
	r.Use(noon.Add(111*time.Second), noon.Add(111*time.Second))
	if r.Lease("one", noon.Add(112*time.Second)) != nil {
		t.Fatal("use revived an expired lease")
	}
	r.Use(noon.Add(100*time.Second), noon.Add(112*time.Second))
	if r.Lease("one", noon.Add(112*time.Second)) == nil {
		t.Fatal("it lived when the action began, and is gone at its end")
	}
	if !r.DropLeases(noon.Add(172*time.Second)) || r.Leases != nil {
		t.Fatalf("left: %v", r.Leases)
	}
}

func TestLeasesAreBounded(t *testing.T) {
	t.Parallel()
	var r protocol.OwnerRecord
	for i := range protocol.MaxLeases {
		if _, err := r.Grant(protocol.LeaseID(rune('a'+i)), time.Minute, noon); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Grant("more", time.Minute, noon); err == nil {
		t.Fatal("one too many")
	}
	if _, err := r.Grant("a", time.Minute, noon); err != nil {
		t.Fatalf("a renewal is no new lease: %v", err)
	}
	if _, err := r.Grant("more", time.Minute, noon.Add(time.Hour)); err != nil || len(r.Leases) != 1 {
		t.Fatalf("expired ones make room: %v %v", err, r.Leases)
	}
}

func TestThreeDeathsWithinTenMinutesAreTooMany(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		at   []time.Duration
		want bool
	}{
		{"two", []time.Duration{0, time.Minute}, false},
		{"three", []time.Duration{0, time.Minute, 9 * time.Minute}, true},
		{"three, the first long ago", []time.Duration{0, time.Minute, 10 * time.Minute}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var r protocol.OwnerRecord
			failed := false
			for _, at := range tc.at {
				failed = r.Strike(noon.Add(at))
			}
			if failed != tc.want {
				t.Fatalf("failed %v: %v", failed, r.Failures)
			}
		})
	}
}

func TestADifferingAcquireIsAConflict(t *testing.T) {
	t.Parallel()
	narrow := protocol.Setting{Viewport: &protocol.Viewport{Width: 400, Height: 800, Scale: 1}}
	wide := protocol.Setting{Viewport: &protocol.Viewport{Width: 1600, Height: 800}}
	for _, tc := range []struct {
		name string
		rec  protocol.OwnerRecord
		ask  protocol.AcquireQuery
		ok   bool
	}{
		{"new owner, ephemeral", protocol.OwnerRecord{}, protocol.AcquireQuery{Persistence: protocol.PersistEphemeral}, true},
		{"nothing asked", protocol.OwnerRecord{State: protocol.RecordAssigned}, protocol.AcquireQuery{}, true},
		{"the default by name", protocol.OwnerRecord{State: protocol.RecordAssigned}, protocol.AcquireQuery{Persistence: protocol.PersistResume}, true},
		{"lives otherwise", protocol.OwnerRecord{State: protocol.RecordAssigned}, protocol.AcquireQuery{Persistence: protocol.PersistEphemeral}, false},
		{"is kept", protocol.OwnerRecord{State: protocol.RecordHibernated, Generation: 2}, protocol.AcquireQuery{Persistence: protocol.PersistEphemeral}, false},
		{"was ephemeral", protocol.OwnerRecord{State: protocol.RecordUnassigned, Generation: 2, Persistence: protocol.PersistEphemeral}, protocol.AcquireQuery{Persistence: protocol.PersistResume}, true},
		{"lives under another policy", protocol.OwnerRecord{State: protocol.RecordAssigned, Policy: "a"}, protocol.AcquireQuery{Policy: "b"}, false},
		{"another viewport while it sleeps", protocol.OwnerRecord{State: protocol.RecordHibernated, Setting: narrow}, protocol.AcquireQuery{Setting: wide}, true},
		{"another viewport while it lives", protocol.OwnerRecord{State: protocol.RecordAssigned, Setting: narrow}, protocol.AcquireQuery{Setting: wide}, false},
		{"the same viewport", protocol.OwnerRecord{State: protocol.RecordAssigned, Setting: narrow}, protocol.AcquireQuery{Setting: narrow}, true},
		{"another locale than who waits", protocol.OwnerRecord{
			State: protocol.RecordUnassigned, Setting: protocol.Setting{Locale: "de-DE"}, Wanted: []protocol.Want{{Lease: "x", Until: protocol.At(noon.Add(time.Second))}},
		}, protocol.AcquireQuery{Setting: protocol.Setting{Locale: "fr-FR"}}, false},
		{"another time zone than who waited", protocol.OwnerRecord{
			State: protocol.RecordUnassigned, Setting: protocol.Setting{Timezone: "Asia/Tokyo"}, Wanted: []protocol.Want{{Lease: "x", Until: protocol.At(noon)}},
		}, protocol.AcquireQuery{Setting: protocol.Setting{Timezone: "Europe/Berlin"}}, true},
		{"another policy from now on", protocol.OwnerRecord{State: protocol.RecordHibernated, Policy: "a"}, protocol.AcquireQuery{Policy: "b"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := tc.rec
			err := tc.rec.Accommodate(&tc.ask, noon)
			if (err == nil) != tc.ok {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, tc.rec); !tc.ok && diff != "" {
				t.Fatalf("changed although refused: %s", diff)
			}
		})
	}
}

func TestControlBelongsToOnePersonUntilItExpires(t *testing.T) {
	t.Parallel()
	var r protocol.OwnerRecord
	take := func(holder string, at time.Duration) error {
		return r.SetControl(&protocol.ControlQuery{Op: protocol.ControlTake, Holder: holder, TTLMS: 60_000}, noon.Add(at))
	}
	if err := take("anna", 0); err != nil {
		t.Fatal(err)
	}
	if err := take("bert", time.Second); err == nil {
		t.Fatal("taken from anna")
	}
	if err := r.SetControl(&protocol.ControlQuery{Op: protocol.ControlGive, Holder: "bert"}, noon); err == nil {
		t.Fatal("given back by another")
	}
	if err := take("bert", time.Minute); err != nil || r.Control.Holder != "bert" {
		t.Fatalf("anna's has expired: %v", err)
	}
}

func TestTimesOfQueriesAreBounded(t *testing.T) {
	t.Parallel()
	for given, want := range map[int64]time.Duration{
		-1: protocol.DefaultLeaseTTL, 0: protocol.DefaultLeaseTTL, 1: protocol.MinLeaseTTL,
		60_000: time.Minute, math.MaxInt64: protocol.MaxLeaseTTL,
	} {
		if got := (&protocol.AcquireQuery{TTLMS: given}).TTL(); got != want {
			t.Errorf("%d: %s, want %s", given, got, want)
		}
	}
}

func TestUnsavedEffectsAreBounded(t *testing.T) {
	t.Parallel()
	var r protocol.OwnerRecord
	for i := range protocol.MaxUnsaved + 3 {
		r.AddUnsaved(protocol.Seq(i), "x")
	}
	if len(r.Unsaved) != protocol.MaxUnsaved || r.Unsaved[0].Seq != 3 {
		t.Fatalf("%d, from %d", len(r.Unsaved), r.Unsaved[0].Seq)
	}
}
