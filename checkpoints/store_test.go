package checkpoints

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

// richState has every field and the strings that encodings lose.
func richState() State {
	return State{
		Cookies: []Cookie{
			{
				Name: "chips", Value: "v", Domain: ".cdn.example", Path: "/p", Expires: -1, Session: true, Secure: true,
				SameSite: "None", Priority: "Medium", SourceScheme: "Secure", SourcePort: 443,
				Partition: &PartitionKey{TopLevelSite: "https://shop.example", HasCrossSiteAncestor: true},
			},
			{
				Name: "__Host-sid", Value: "a=b;\"\\", Domain: "shop.example", Path: "/", Expires: 4102444800.5,
				HTTPOnly: true, Secure: true, SameSite: "Lax", Priority: "High", SourceScheme: "Secure", SourcePort: 443,
			},
		},
		LocalStorage: []StorageArea{{
			StorageKey: "https://shop.example/", Origin: "https://shop.example",
			Items: []Item{
				{Key: "", Value: ""},
				{Key: "lone \xed\xa0\x80 surrogate", Value: "\xed\xbf\xbf\x00\u2028<script>"},
				{Key: "z", Value: "日本語 😀"},
			},
		}},
		Tabs: []Tab{{URL: "https://shop.example/cart?x=1", Title: "Cart", Active: true}, {URL: "about:blank"}},
	}
}

func TestWhatWasCommittedIsLoaded(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, s *Store) {
		env := envOf("rich")
		h := mustTake(t, s, env)
		meta := Meta{
			Reason: ReasonAfterAction, Generation: 7,
			LastAction: &LastAction{StreamSeq: 42, ActionID: "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
			Browser:    Browser{Product: "HeadlessChrome", Major: 156},
			Capture:    Capture{Consistent: true, StartedAt: time.Unix(1700000000, 0).UTC(), TookMS: 3},
		}
		want, err := h.Commit(t.Context(), richState(), meta)
		if err != nil {
			t.Fatal(err)
		}
		l := mustLoad(t, s, env)
		if diff := cmp.Diff(richState(), l.State); diff != "" {
			t.Errorf("state: %s", diff)
		}
		if diff := cmp.Diff(want, l.Manifest); diff != "" {
			t.Errorf("manifest: %s", diff)
		}
		if diff := cmp.Diff(meta, l.Manifest.Meta); diff != "" {
			t.Errorf("meta: %s", diff)
		}
		if l.Fresh() || l.NewestSeq != 2 || len(l.Skipped) != 0 || l.Manifest.ParentSeq != 1 {
			t.Errorf("loaded %+v", l)
		}
	})
}

func TestAnEnvironmentThatWasNeverWrittenIsFresh(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	l := mustLoad(t, s, envOf("new"))
	if !l.Fresh() || l.Manifest != nil || l.NewestSeq != 0 {
		t.Fatalf("loaded %+v", l)
	}
	// A seal alone does not make it a restored one.
	mustTake(t, s, envOf("new"))
	l = mustLoad(t, s, envOf("new"))
	if !l.Fresh() || l.Manifest == nil || l.Manifest.Kind != KindSeal {
		t.Fatalf("after a seal: %+v", l)
	}
}

func TestASealRepeatsTheStateUnderTheNextEpochAndGeneration(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	env := envOf("sealed")
	m, err := mustTake(t, s, env).Commit(t.Context(), stateNamed("a"), Meta{Generation: 4})
	if err != nil {
		t.Fatal(err)
	}
	h := mustTake(t, s, env)
	seal := h.Last()
	if seal.Kind != KindSeal || seal.Epoch != m.Epoch+1 || seal.Generation != 5 || seal.StateSeq != m.Seq ||
		!seal.StateAt.Equal(m.CreatedAt) || seal.ParentSeq != m.Seq {
		t.Errorf("seal %+v", seal)
	}
	l := mustLoad(t, s, env)
	if nameOf(l.State) != "a" || l.State.LastURL() != "https://example.org/a" || l.Fresh() {
		t.Errorf("loaded %+v", l)
	}
	// The seal's generation is the caller's when that is higher.
	h, err = s.Seal(t.Context(), env, l, Writer{Worker: "w", Generation: 9, Confirm: always})
	if err != nil || h.Last().Generation != protocol.Generation(9) {
		t.Errorf("generation %d, %v", h.Last().Generation, err)
	}
}

func TestUnchangedPartsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	h := mustTake(t, s, envOf("parts"))
	state := stateNamed("a")
	first := mustCommit(t, h, state)
	state.Cookies[0].Value = "b"
	second := mustCommit(t, h, state)
	mustTake(t, s, envOf("parts"))
	third := mustLoad(t, s, envOf("parts")).Manifest
	for _, m := range []*Manifest{second, third} {
		if diff := cmp.Diff(first.Parts[1].StoredSHA256, m.Parts[1].StoredSHA256); diff != "" {
			t.Errorf("storage was encrypted again: %s", diff)
		}
	}
	if first.Parts[0].StoredSHA256 == second.Parts[0].StoredSHA256 {
		t.Error("changed cookies kept their bytes")
	}
	if first.Parts[1].BornSeq != first.Seq || second.Parts[1].BornSeq != first.Seq {
		t.Error("born_seq moved")
	}
}

// A newer worker's parts must survive a visit to an older one.
func TestPartsOfAnUnknownKindAreCarriedOn(t *testing.T) {
	t.Parallel()
	s, m := memoryStore(t)
	env := envOf("future")
	part := sealPart(env, "idb:https://example.org/ db", "indexed_db", []byte("rows"), 1, storedPart{})
	cookie, err := splitState(env, stateNamed("a"), 1, []storedPart{part})
	if err != nil {
		t.Fatal(err)
	}
	header := Header{Env: env, Seq: 1, Epoch: 1, WriterID: "newer", CommitNonce: newNonce()}
	data, _, err := sealObject(header, Body{Kind: KindCheckpoint, SinceSeq: 1, StateSeq: 1}, cookie, s.keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.PutNew(t.Context(), slotKey(env, 1), data); err != nil {
		t.Fatal(err)
	}
	h := mustTake(t, s, env)
	if h.Loaded().Unread != 1 {
		t.Errorf("unread %d", h.Loaded().Unread)
	}
	mustCommit(t, h, stateNamed("b"))
	l := mustLoad(t, s, env)
	for _, p := range l.parts {
		if p.ID == part.ID {
			if raw, err := openPart(env, p); err != nil || string(raw) != "rows" {
				t.Errorf("carried part: %q, %v", raw, err)
			}
			return
		}
	}
	t.Errorf("the part is gone: %+v", l.Manifest.Parts)
}

func TestAStateOverTheLimitIsRefusedAndTheLastOneStays(t *testing.T) {
	t.Parallel()
	s, _ := memoryStore(t)
	env := envOf("large")
	h := mustTake(t, s, env)
	mustCommit(t, h, stateNamed("small"))
	large := stateNamed("large")
	large.LocalStorage[0].Items[0].Value = Text(make([]byte, maxPartRaw))
	_, err := h.Commit(t.Context(), large, Meta{})
	wantErr(t, err, ErrTooLarge)
	mustCommit(t, h, stateNamed("again"))
	if got := nameOf(mustLoad(t, s, env).State); got != "again" {
		t.Errorf("loaded %q", got)
	}
}

func TestErasedStateIsGone(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, s *Store) {
		env, neighbour := envOf("erased"), envOf("neighbour")
		mustCommit(t, mustTake(t, s, env), stateNamed("a"))
		mustCommit(t, mustTake(t, s, neighbour), stateNamed("b"))
		if n, err := s.Erase(t.Context(), env); err != nil || n != 2 {
			t.Fatalf("%d deleted, %v", n, err)
		}
		if l := mustLoad(t, s, env); !l.Fresh() {
			t.Error("something is left")
		}
		if nameOf(mustLoad(t, s, neighbour).State) != "b" {
			t.Error("the neighbour's state is gone")
		}
	})
}

func TestATombstoneIsNotAnEmptyEnvironment(t *testing.T) {
	t.Parallel()
	s, m := memoryStore(t)
	env := envOf("dead")
	data, _, err := sealObject(Header{Env: env, Seq: 1, Epoch: 1}, Body{Kind: KindTombstone, SinceSeq: 1}, nil, s.keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.PutNew(t.Context(), slotKey(env, 1), data); err != nil {
		t.Fatal(err)
	}
	_, err = s.Load(t.Context(), env)
	wantErr(t, err, ErrDeleted)
}
