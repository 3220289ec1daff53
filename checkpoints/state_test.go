package checkpoints

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestDigestTellsWhatARestoreWouldGive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change         func(*State)
		all, dataAlone bool // does Digest, does DataDigest change?
	}{
		"order":         {func(s *State) { slices.Reverse(s.Cookies); slices.Reverse(s.LocalStorage[0].Items) }, false, false},
		"an empty area": {func(s *State) { s.LocalStorage = append(s.LocalStorage, StorageArea{StorageKey: "https://e/"}) }, false, false},
		"a title":       {func(s *State) { s.Tabs[0].Title = "(1) Inbox" }, false, false},
		"a URL":         {func(s *State) { s.Tabs[0].URL += "#x" }, true, false},
		"a cookie":      {func(s *State) { s.Cookies[0].Value = "other" }, true, true},
		"an expiry":     {func(s *State) { s.Cookies[0].Expires++ }, true, true},
		"a partition":   {func(s *State) { s.Cookies[0].Partition = nil }, true, true},
		"an item":       {func(s *State) { s.LocalStorage[0].Items[0].Value = "x" }, true, true},
		"a surrogate":   {func(s *State) { s.LocalStorage[0].Items[1].Key = "lone \xed\xa0\x81 surrogate" }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := richState(), richState()
			tc.change(&after)
			if got := before.Digest() != after.Digest(); got != tc.all {
				t.Errorf("Digest changed: %v", got)
			}
			if got := before.DataDigest() != after.DataDigest(); got != tc.dataAlone {
				t.Errorf("DataDigest changed: %v", got)
			}
		})
	}
}

func TestDigestTakesAnyNumber(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := stateNamed("x")
		s.Cookies[0].Expires = f
		_ = s.Digest() // must not panic
	}
}

func TestMergeReplacesTheAreaOfTheSameKey(t *testing.T) {
	t.Parallel()
	s := stateNamed("a")
	other := StorageArea{StorageKey: "https://other/", Origin: "https://other", Items: []Item{{Key: "k", Value: "v"}}}
	if got := s.Merge(other); len(got.LocalStorage) != 2 || len(s.LocalStorage) != 1 {
		t.Errorf("merged %+v into %+v", got, s)
	}
	changed := s.LocalStorage[0]
	changed.Items = []Item{{Key: "name", Value: "b"}}
	if got := s.Merge(changed); len(got.LocalStorage) != 1 || got.LocalStorage[0].Items[0].Value != "b" {
		t.Errorf("merged %+v", got)
	}
	changed.Items = nil
	if got := s.Merge(changed); len(got.LocalStorage) != 0 {
		t.Errorf("a cleared area stays: %+v", got)
	}
}

// Every JavaScript string comes back, whatever its code units.
func TestTextKeepsEveryCodeUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		units := rapid.SliceOfN(rapid.OneOf(
			rapid.Uint16(), rapid.Uint16Range(0xd800, 0xdfff), rapid.Uint16Range(0, 0x7f),
		), 0, 40).Draw(rt, "units")
		var first Text
		if err := json.Unmarshal(escaped(units), &first); err != nil {
			rt.Fatal(err)
		}
		encoded, err := json.Marshal(first)
		if err != nil {
			rt.Fatal(err)
		}
		var second Text
		if err := json.Unmarshal(encoded, &second); err != nil {
			rt.Fatal(err)
		}
		if first != second {
			rt.Fatalf("%q became %q by way of %s", first, second, encoded)
		}
		if got := unitsOf(second); !slices.Equal(got, units) && len(units) > 0 {
			rt.Fatalf("units %x became %x", units, got)
		}
	})
}

// escaped is a JSON string of \uXXXX escapes alone.
func escaped(units []uint16) []byte {
	out := []byte{'"'}
	for _, u := range units {
		out = append(out, '\\', 'u', lowerHex[u>>12], lowerHex[u>>8&15], lowerHex[u>>4&15], lowerHex[u&15])
	}
	return append(out, '"')
}

// unitsOf are the UTF-16 code units of a Text.
func unitsOf(t Text) (units []uint16) {
	for i := 0; i < len(t); {
		if s, ok := surrogateAt(string(t[i:])); ok {
			units, i = append(units, s), i+3
			continue
		}
		for _, r := range string(t[i:]) {
			n := len(string(r))
			if r > 0xffff {
				units = append(units, uint16(0xd800+(r-0x10000)>>10), uint16(0xdc00+(r-0x10000)&0x3ff))
			} else {
				units = append(units, uint16(r))
			}
			i += n
			break
		}
	}
	return units
}

func TestCookieExpiry(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		cookie Cookie
		want   bool
	}{
		"session":         {Cookie{Expires: -1, Session: true}, false},
		"past":            {Cookie{Expires: 999}, true},
		"now":             {Cookie{Expires: 1000}, true},
		"future":          {Cookie{Expires: 1000.5}, false},
		"session with 0s": {Cookie{Session: true}, false},
	} {
		if got := tc.cookie.Expired(now); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// goldenEnvID was computed by other means.
const goldenEnvID EnvID = "7ptz5ho2m4e7ybz3uuscwuk5ksqvg7b2ccerf6xkpqnyalavsl2a"

func TestEnvIDHidesAndSeparatesOwners(t *testing.T) {
	t.Parallel()
	seen := map[EnvID]protocol.OwnerKey{}
	for _, k := range []protocol.OwnerKey{{Tenant: "a", Owner: "bc"}, {Tenant: "ab", Owner: "c"}, {Tenant: "A", Owner: "bc"}} {
		id := EnvIDOf(k)
		if other, have := seen[id]; have {
			t.Errorf("%v and %v share %s", k, other, id)
		}
		seen[id] = k
		if parsed, err := ParseEnvID(string(id)); err != nil || parsed != id {
			t.Errorf("parse %s: %v", id, err)
		}
	}
	// The id is part of the format: it must never change.
	if got := EnvIDOf(protocol.OwnerKey{Tenant: "acme", Owner: "me"}); got != goldenEnvID {
		t.Errorf("the id of acme/me is %s", got)
	}
	for _, bad := range []string{"", "../../etc", string(goldenEnvID) + "a", "A" + string(goldenEnvID)[1:], "1" + string(goldenEnvID)[1:]} {
		if _, err := ParseEnvID(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestSlotNamesOfStrangersAreIgnored(t *testing.T) {
	t.Parallel()
	env := envOf("names")
	if seq, ok := slotSeq(env, slotKey(env, 12345)); !ok || seq != 12345 {
		t.Errorf("%d, %v", seq, ok)
	}
	for _, key := range []string{
		slotKey(envOf("other"), 1), slotPrefix(env) + "1", slotPrefix(env) + "+0000000000000000001",
		slotKey(env, 0), slotKey(env, 1) + "0", slotPrefix(env) + "99999999999999999999",
	} {
		if seq, ok := slotSeq(env, key); ok {
			t.Errorf("%s is slot %d", key, seq)
		}
	}
}

func TestFidelityReport(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	env := envOf("report")
	now := time.Now()
	if r := NewFidelityReport(mustLoad(t, s, env), 1, now); r.From != FromClean || r.CheckpointAt != nil {
		t.Errorf("of nothing: %+v", r)
	}
	m := mustCommit(t, mustTake(t, s, env), stateNamed("a"))
	h := mustTake(t, s, env)
	r := NewFidelityReport(h.Loaded(), 2, m.CreatedAt.Add(3*time.Second))
	want := &FidelityReport{
		From: FromCheckpoint, Generation: 2, CheckpointSeq: 2, CheckpointAt: &m.StateAt, CheckpointAgeMS: 3000,
		Survived: map[string]int{}, NewestSeq: 2, LastURL: "https://example.org/a",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	for range maxLosses + 3 {
		r.Lose(KindCookies, "n", "r")
	}
	if len(r.Lost) != maxLosses || r.LostMore != 3 {
		t.Errorf("%d losses named, %d counted", len(r.Lost), r.LostMore)
	}
}
