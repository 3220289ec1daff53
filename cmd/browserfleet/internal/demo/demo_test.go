package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestParseKill(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Kill{
		"worker@login":         {Child: "worker", Step: "login"},
		"nats@search:20ms":     {Child: "nats", Step: "search", After: 20 * time.Millisecond},
		"coordinator@kill:2s":  {Child: "coordinator", Step: "kill", After: 2 * time.Second},
		"store@account":        {Child: "store", Step: "account"},
		"":                     {},
		"worker":               {},
		"worker@":              {},
		"worker@nowhere":       {},
		"shop@login":           {},
		"worker@login:quickly": {},
	} {
		got, err := ParseKill(text)
		if want == (Kill{}) {
			if err == nil {
				t.Errorf("%q: got %+v", text, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
}

// Both scripts have the same steps: a fault names one.
func TestScriptsHaveTheSameSteps(t *testing.T) {
	t.Parallel()
	names := func(steps []step) (out []string) {
		for _, s := range steps {
			out = append(out, s.name)
		}
		return out
	}
	if diff := cmp.Diff(names(shopSteps("http://shop")), names(simulatedSteps())); diff != "" {
		t.Error(diff)
	}
}

// The checks find what they are for.
func TestNoneTwice(t *testing.T) {
	t.Parallel()
	entry := func(id string, e protocol.Effect) protocol.DispatchEntry {
		return protocol.DispatchEntry{Request: protocol.RequestID(id), Effect: e, Kind: protocol.KindClick}
	}
	fine := []protocol.DispatchEntry{entry("a", protocol.EffectWrite), entry("b", protocol.EffectRead), entry("b", protocol.EffectRead)}
	if err := noneTwice(fine); err != nil {
		t.Error(err)
	}
	if err := noneTwice(append(fine, entry("a", protocol.EffectWrite))); err == nil || !strings.Contains(err.Error(), "a") {
		t.Errorf("a write twice: %v", err)
	}
	if err := noneTwice(append(fine, entry("b", protocol.EffectRead))); err == nil {
		t.Error("a read three times")
	}
}

func TestIndent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if _, err := (indent{&b}).Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	if b.String() != "    one\n    two\n" {
		t.Errorf("got %q", b.String())
	}
}
