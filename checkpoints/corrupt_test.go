package checkpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/internal/objectstore"
)

// twoCheckpoints writes "older" to slot 2 and "newer" to slot 3.
func twoCheckpoints(t testing.TB, owner string) (*Store, *objectstore.Memory, EnvID) {
	s, m := memoryStore(t)
	env := envOf(owner)
	h := mustTake(t, s, env)
	mustCommit(t, h, stateNamed("older"))
	mustCommit(t, h, stateNamed("newer"))
	return s, m, env
}

func mustGet(t testing.TB, m *objectstore.Memory, key string) []byte {
	t.Helper()
	data, err := m.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustPut(t testing.TB, m *objectstore.Memory, key string, data []byte) {
	t.Helper()
	if err := m.Put(t.Context(), key, data, ""); err != nil {
		t.Fatal(err)
	}
}

// Every single flipped bit is noticed, and never gives another state.
func TestAnyFlippedBitIsNoticed(t *testing.T) {
	t.Parallel()
	s, m, env := twoCheckpoints(t, "flip")
	whole := mustGet(t, m, slotKey(env, 3))
	header := bytes.IndexByte(whole, '\n')
	for i := range whole {
		data := bytes.Clone(whole)
		data[i] ^= 1 << (i % 8)
		mustPut(t, m, slotKey(env, 3), data)
		l, err := s.Load(t.Context(), env)
		switch {
		case err == nil && nameOf(l.State) == "older" && len(l.Skipped) == 1 && l.Skipped[0].Seq == 3:
		case i <= header && (errors.Is(err, ErrUnknownKey) || errors.Is(err, ErrSchemaTooNew)):
			// The clear header may come to name another key or schema: refused, not passed over.
		default:
			t.Fatalf("byte %d of %d: %v, %+v", i, len(whole), err, l)
		}
	}
}

func TestDamageIsReportedByStageAndPassedOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		damage func(t *testing.T, m *objectstore.Memory, env EnvID) []byte
		want   Stage
	}{
		"empty":    {func(*testing.T, *objectstore.Memory, EnvID) []byte { return nil }, StageHeader},
		"not ours": {func(*testing.T, *objectstore.Memory, EnvID) []byte { return []byte("{}\nx") }, StageHeader},
		"cut":      {func(t *testing.T, m *objectstore.Memory, e EnvID) []byte { return mustGet(t, m, slotKey(e, 3))[:500] }, StageHeader},
		"longer": {func(t *testing.T, m *objectstore.Memory, e EnvID) []byte {
			return append(mustGet(t, m, slotKey(e, 3)), 0)
		}, StageHeader},
		"older slot's":  {func(t *testing.T, m *objectstore.Memory, e EnvID) []byte { return mustGet(t, m, slotKey(e, 2)) }, StageName},
		"neighbour's":   {neighbours, StageName},
		"renamed":       {renamed, StageKey},
		"swapped parts": {swappedParts, StagePart},
		"body":          {bodyFlip, StageBody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m, env := twoCheckpoints(t, "damage")
			mustPut(t, m, slotKey(env, 3), tc.damage(t, m, env))
			l := mustLoad(t, s, env)
			if diff := cmp.Diff([]Skipped{{Seq: 3, Reason: tc.want}}, l.Skipped); diff != "" {
				t.Error(diff)
			}
			if nameOf(l.State) != "older" || l.NewestSeq != 3 {
				t.Errorf("loaded %q, newest %d", nameOf(l.State), l.NewestSeq)
			}
			// The next holder goes on above the damage.
			h := mustTake(t, s, env)
			if h.Last().Seq != 4 || nameOf(h.Loaded().State) != "older" {
				t.Errorf("sealed %d with %q", h.Last().Seq, nameOf(h.Loaded().State))
			}
		})
	}
}

// neighbours is slot 3 of another environment.
func neighbours(t *testing.T, m *objectstore.Memory, _ EnvID) []byte {
	s := New(m, keyring(t, keyOne))
	h := mustTake(t, s, envOf("neighbour"))
	mustCommit(t, h, stateNamed("n1"))
	mustCommit(t, h, stateNamed("n2"))
	return mustGet(t, m, slotKey(envOf("neighbour"), 3))
}

// renamed is slot 2 with a header that says 3.
func renamed(t *testing.T, m *objectstore.Memory, env EnvID) []byte {
	return bytes.Replace(mustGet(t, m, slotKey(env, 2)), []byte(`"seq":2`), []byte(`"seq":3`), 1)
}

// swappedParts has the parts of slot 2 behind the body of slot 3.
func swappedParts(t *testing.T, m *objectstore.Memory, env EnvID) []byte {
	other, data := mustGet(t, m, slotKey(env, 2)), mustGet(t, m, slotKey(env, 3))
	_, h, rest, err := splitHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	_, _, otherRest, err := splitHeader(other)
	if err != nil {
		t.Fatal(err)
	}
	n := min(h.InlineLen, len(otherRest))
	copy(rest[len(rest)-n:], otherRest[len(otherRest)-n:])
	return data
}

func bodyFlip(t *testing.T, m *objectstore.Memory, env EnvID) []byte {
	data := mustGet(t, m, slotKey(env, 3))
	data[bytes.IndexByte(data, '\n')+20] ^= 1
	return data
}

func TestWhenNoManifestVerifiesThereIsNoEmptyBrowser(t *testing.T) {
	t.Parallel()
	s, m, env := twoCheckpoints(t, "ruin")
	for seq := range uint64(3) {
		mustPut(t, m, slotKey(env, seq+1), []byte("ruin"))
	}
	l, err := s.Load(t.Context(), env)
	wantErr(t, err, ErrCorrupt)
	if len(l.Skipped) != 3 || l.Manifest != nil {
		t.Errorf("loaded %+v", l)
	}
	_, err = s.Seal(t.Context(), env, l, Writer{Worker: "w", Confirm: always})
	wantErr(t, err, ErrCorrupt)
}

func TestAMissingKeyIsNamedAndNothingIsPassedOver(t *testing.T) {
	t.Parallel()
	s, m, env := twoCheckpoints(t, "keys")
	rotated := New(m, keyring(t, keyTwo+"\n"+keyOne))
	h, err := takeOver(t.Context(), rotated, env, always)
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, h, stateNamed("rotated"))

	_, err = s.Load(t.Context(), env)
	wantErr(t, err, ErrUnknownKey)
	if !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("the error does not name the key: %v", err)
	}
	if _, err := s.Collect(t.Context(), env, Keep{Checkpoints: 1}); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("collect: %v", err)
	}
	// Parts that moved on unchanged are readable with the new key alone.
	if got := nameOf(mustLoad(t, New(m, keyring(t, keyTwo)), env).State); got != "rotated" {
		t.Errorf("loaded %q", got)
	}
}

func TestANewerSchemaIsRefusedAndNothingIsPassedOver(t *testing.T) {
	t.Parallel()
	s, m, env := twoCheckpoints(t, "schema")
	data := mustGet(t, m, slotKey(env, 3))
	mustPut(t, m, slotKey(env, 3), bytes.Replace(data, []byte(`"schema":1`), []byte(`"schema":2`), 1))
	_, err := s.Load(t.Context(), env)
	wantErr(t, err, ErrSchemaTooNew)
}

func TestABodyForNewerReadersIsRefused(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]any{
		"reader":     map[string]any{"kind": "checkpoint", "min_reader_schema": 2, "parts": "a new shape"},
		"blob":       map[string]any{"kind": "checkpoint", "parts": []any{map[string]any{"where": map[string]any{"blob": "b/1"}}}},
		"unknown ok": map[string]any{"kind": "checkpoint", "since_seq": 1, "state_seq": 1, "novelty": []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := memoryStore(t)
			env := envOf("newer")
			raw, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			mustPut(t, m, slotKey(env, 1), sealRaw(t, s.keys, env, 1, raw))
			_, err = s.Load(t.Context(), env)
			if name == "unknown ok" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantErr(t, err, ErrSchemaTooNew)
		})
	}
}

// sealRaw makes an authentic object with any body.
func sealRaw(t testing.TB, keys *Keyring, env EnvID, seq uint64, body []byte) []byte {
	t.Helper()
	packed := compress(body)
	h := Header{
		Format: formatName, Schema: Schema, Env: env, Seq: seq, Epoch: 1, Alg: algAES256GCM, Comp: compZstd,
		BodyLen: len(packed) + boxOverhead,
	}
	key := newKey()
	h.KeyID, h.WrappedKey = keys.wrap(key, keyAAD(env, seq, 1))
	line, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "%s\n%s", line, sealBox(key, packed, line))
}

func TestErrorsHoldNoContentOfPages(t *testing.T) {
	t.Parallel()
	s, m, env := twoCheckpoints(t, "quiet")
	for seq := range uint64(3) {
		mustPut(t, m, slotKey(env, seq+1), bodyFlip(t, m, env))
	}
	_, err := s.Load(t.Context(), env)
	if err == nil || strings.Contains(err.Error(), "example") {
		t.Errorf("got %v", err)
	}
}

// What anybody may put into the bucket must neither crash nor fill a reader.
func FuzzManifest(f *testing.F) {
	s, m, env := twoCheckpoints(f, "fuzz")
	whole := mustGet(f, m, slotKey(env, 3))
	f.Add(whole, []byte(`{"kind":"checkpoint","parts":[]}`))
	f.Add(whole[:200], []byte(`{"parts":[{"where":{"inline":{"off":-1,"len":9223372036854775807}}}]}`))
	f.Add([]byte("{}\n"), []byte(`{"parts":[{"id":"cookies","kind":"cookies","enc_version":1,"raw_size":-1,"where":{"inline":{}}}]}`))
	f.Fuzz(func(t *testing.T, object, body []byte) {
		if o, err := openObject(env, 3, object, s.keys); err == nil {
			// Authentic: the seed, perhaps as another fuzz worker sealed it.
			if st, _, err := joinState(env, nil, o.parts); err != nil || nameOf(st) != "newer" {
				t.Fatalf("opened as %q, %v", nameOf(st), err)
			}
		}
		// Behind the authentication: a holder of the key that went mad.
		if o, err := openObject(env, 1, sealRaw(t, s.keys, env, 1, body), s.keys); err == nil {
			_, _, _ = joinState(env, o.manifest.Tabs, o.parts)
		}
	})
}
