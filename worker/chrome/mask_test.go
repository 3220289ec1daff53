package chrome

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/checkpoints"
	"github.com/browserfleet/browserfleet/internal/natsx"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/worker/environment"
)

// TestNoFieldOfAnOutcomeShowsASecret fills every string of an outcome.
func TestNoFieldOfAnOutcomeShowsASecret(t *testing.T) {
	t.Parallel()
	const password = "pass@word <1>"
	for _, spelled := range []string{password, url.QueryEscape(password), url.PathEscape(password), "pass@word &lt;1&gt;", password[:8]} {
		out := &environment.Outcome{}
		fillStrings(reflect.ValueOf(out).Elem(), "x "+spelled, 0)
		shown, err := json.Marshal(newMasker([]natsx.Secret{"pass@word", password}).outcome(out))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(shown), "pass") || strings.Contains(string(shown), "word") {
			t.Errorf("%q is shown: %s", spelled, shown)
		}
		if n := strings.Count(string(shown), masked); n < 40 {
			t.Errorf("only %d strings were filled", n)
		}
	}
}

// fillStrings puts s into every string, one level of every list and map.
func fillStrings(v reflect.Value, s string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Pointer:
		if depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			fillStrings(v.Elem(), s, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type() != reflect.TypeFor[protocol.Time]() {
				fillStrings(v.Field(i), s, depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillStrings(v.Index(0), s, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillStrings(key, s, depth+1)
		fillStrings(value, s, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// echo is a page that shows what is typed into it, and keeps it.
func echo() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<!doctype html><title>Echo</title>
			<input type=password aria-label=Password oninput="localStorage.p=value;show()"><p id=u></p>
			<script>function show(){u.textContent="saved "+(localStorage.p||"nothing")} show()</script>`))
	})
	return mux
}

// TestASecretIsNotShownByCuttingTheText: neither the cut nor what comes after it, in
// later slices, has a part of it.
func TestASecretIsNotShownByCuttingTheText(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, echo())
	browser, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	fillSecret(t, b, browser)
	info, _ := protocol.KindObserve.Lookup()
	for limit := range len("saved ") + len(secret) + 2 {
		out := b.ok(browser.Run(ctx, &protocol.Action{
			Request: protocol.Request{V: 1, Kind: protocol.KindObserve, Observe: &protocol.ObserveOptions{MaxTextChars: &limit}},
			Info:    info, Args: &protocol.ObserveArgs{},
		}, func() error { return nil }))
		text := out.Observation.Text
		for next := out.Observation.Continuation; next != ""; next = out.Observation.Continuation {
			out = b.ok(b.do(ctx, browser, protocol.KindObserveNext, &protocol.ObserveNextArgs{Continuation: next}))
			text += out.Observation.Text
		}
		if want := "saved " + masked; limit > 0 && text != want || limit == 0 && text != "" {
			t.Fatalf("%d characters at a time show %q, want %q", limit, text, want)
		}
	}
}

func TestASecretIsNotShownAfterARestore(t *testing.T) {
	t.Parallel()
	ctx, b := context60(t), newBench(t, echo())
	first, _ := b.open(ctx, &checkpoints.Loaded{}, 1)
	fillSecret(t, b, first)
	state, err := first.Capture(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := b.open(ctx, &checkpoints.Loaded{State: state}, 2)
	out := b.ok(b.do(ctx, second, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	if out.Observation.Text != "saved "+masked {
		t.Fatalf("shown: %q", out.Observation.Text)
	}
}

func fillSecret(t *testing.T, b *bench, browser *Browser) {
	t.Helper()
	ctx := context60(t)
	out := b.ok(b.do(ctx, browser, protocol.KindOpen, &protocol.OpenArgs{URL: b.site.URL + "/"}))
	b.ok(b.do(ctx, browser, protocol.KindFillCredential, &protocol.FillCredentialArgs{
		Target: ref(t, out.Observation, "textbox", "Password"), CredentialRef: "shop",
	}))
}

// TestACutValueShowsNoBeginningOfASecret: an extraction's cuts are the agent's choice.
func TestACutValueShowsNoBeginningOfASecret(t *testing.T) {
	t.Parallel()
	m := newMasker([]natsx.Secret{"pass@word"})
	for n := 1; n < len("pass@word"); n++ {
		out := m.outcome(&environment.Outcome{Extraction: &protocol.Extraction{
			Rows: []map[string]string{{"text": "x pass@word"[:2+n]}}, Cut: []protocol.CutValue{{Row: 0, Column: "text"}},
		}})
		if got := out.Extraction.Rows[0]["text"]; got != "x "+masked {
			t.Errorf("%d characters: %q", n, got)
		}
	}
}
