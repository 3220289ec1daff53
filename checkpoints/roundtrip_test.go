package checkpoints

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/browserfleet/browserfleet/internal/testkit"
)

// drawState makes any state that a browser could be in.
func drawState(t *rapid.T) State {
	text := rapid.Custom(func(t *rapid.T) Text {
		var decoded Text
		units := rapid.SliceOfN(rapid.Uint16(), 0, 12).Draw(t, "units")
		if err := decoded.UnmarshalJSON(escaped(units)); err != nil {
			t.Fatal(err)
		}
		return decoded
	})
	var s State
	for i := range rapid.IntRange(0, 6).Draw(t, "cookies") {
		s.Cookies = append(s.Cookies, Cookie{
			Name: Text(fmt.Sprint("c", i)), Value: text.Draw(t, "value"), Path: "/",
			Domain:  rapid.SampledFrom([]string{"a.example", ".b.example"}).Draw(t, "domain"),
			Expires: rapid.Float64Range(-1, 1e10).Draw(t, "expires"), Secure: rapid.Bool().Draw(t, "secure"),
		})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "areas") {
		origin := fmt.Sprintf("https://o%d.example", i)
		area := StorageArea{StorageKey: StorageKey(origin + "/"), Origin: origin}
		for j := range rapid.IntRange(1, 5).Draw(t, "items") {
			area.Items = append(area.Items, Item{Key: Text(fmt.Sprint(j)) + text.Draw(t, "key"), Value: text.Draw(t, "item")})
		}
		s.LocalStorage = append(s.LocalStorage, area)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "tabs") {
		s.Tabs = append(s.Tabs, Tab{URL: fmt.Sprintf("https://o%d.example/", i), Active: i == 0})
	}
	return s
}

// Any sequence of states, with takeovers in between: the last one is loaded.
func TestAnyStateComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, _ := memoryStore(t)
		env := envOf("any")
		h := mustTake(t, s, env)
		for range rapid.IntRange(1, 4).Draw(rt, "commits") {
			want := drawState(rt)
			mustCommit(t, h, want)
			if rapid.Bool().Draw(rt, "takeover") {
				h = mustTake(t, s, env)
			}
			got := mustLoad(t, s, env).State
			if diff := cmp.Diff(want.canonical(), got, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatal(diff)
			}
			if want.Digest() != got.Digest() {
				rt.Fatal("the digest changed on the way")
			}
		}
	})
}

// benchState is the mix that figures are given for: 10 KB of cookies, eight
// origins of 10 KB, one of 200 KB.
func benchState() State {
	var s State
	for i := range 40 {
		s.Cookies = append(s.Cookies, Cookie{Name: Text(fmt.Sprint("c", i)), Value: Text(strings.Repeat("v", 250)), Domain: "a.example", Path: "/"})
	}
	for i := range 9 {
		n := 10
		if i == 8 {
			n = 200
		}
		area := StorageArea{StorageKey: StorageKey(fmt.Sprintf("https://o%d/", i)), Origin: fmt.Sprintf("https://o%d", i)}
		for j := range n {
			area.Items = append(area.Items, Item{Key: Text(fmt.Sprint(i, j)), Value: Text(strings.Repeat(fmt.Sprintf("%x", i*j*7919), 1000)[:1000])})
		}
		s.LocalStorage = append(s.LocalStorage, area)
	}
	return s
}

func BenchmarkCommit(b *testing.B) {
	s := New(openObjects(b, testkit.Store(b).Config()), keyring(b, keyOne))
	h := mustTake(b, s, envOf("bench"))
	state := benchState()
	mustCommit(b, h, state)
	for i := 0; b.Loop(); i++ {
		state.Cookies[0].Value = Text(fmt.Sprint(i)) // two dirty parts
		state.LocalStorage[0].Items[0].Value = Text(fmt.Sprint(i))
		mustCommit(b, h, state)
	}
}

func BenchmarkTakeOver(b *testing.B) {
	s := New(openObjects(b, testkit.Store(b).Config()), keyring(b, keyOne))
	env := envOf("bench")
	mustCommit(b, mustTake(b, s, env), benchState())
	for b.Loop() {
		mustTake(b, s, env)
	}
}
