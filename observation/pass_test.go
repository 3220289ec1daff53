package observation

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHostileAnswersAreRefused(t *testing.T) {
	t.Parallel()
	args := passArgs{Elements: 2, Text: 5}
	good := func() *pass {
		return &pass{Doc: "d", Total: 1, TotalText: 9, Text: "hello", Elements: []passElement{{ID: 1, Tier: 1}}}
	}
	if err := good().check(args); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*pass){
		"no document":       func(p *pass) { p.Doc = "" },
		"long document":     func(p *pass) { p.Doc = strings.Repeat("x", 65) },
		"too many elements": func(p *pass) { p.Elements = make([]passElement, 3); p.Total = 3 },
		"total too small":   func(p *pass) { p.Total = 0 },
		"negative text":     func(p *pass) { p.TotalText = -1 },
		"no id":             func(p *pass) { p.Elements[0].ID = 0 },
		"tier out of range": func(p *pass) { p.Elements[0].Tier = 6 },
		"too many states":   func(p *pass) { p.Elements[0].States = make([]string, 17) },
		"long fingerprint":  func(p *pass) { p.Elements[0].Print = strings.Repeat("x", 17) },
	} {
		p := good()
		spoil(p)
		if p.check(args) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestLongAnswersAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("🦊", 10_000)
	p := &pass{
		Doc: "d", Total: 1, URL: long, Title: long, Text: long,
		Elements: []passElement{{ID: 1, Tier: 1, Name: long, Value: long, Href: long, Role: long, Type: long, Section: long}},
		Groups:   []passGroup{{Label: long}},
	}
	if err := p.check(passArgs{Elements: 1, Text: 7}); err != nil {
		t.Fatal(err)
	}
	e := p.Elements[0]
	for what, got := range map[string][2]int{
		"text": {chars(p.Text), 7}, "title": {chars(p.Title), maxTitle}, "name": {chars(e.Name), maxName},
		"value": {chars(e.Value), maxValue}, "label": {chars(p.Groups[0].Label), maxLabel}, "role": {chars(e.Role), 32},
	} {
		if got[0] != got[1] {
			t.Errorf("%s has %d characters, want %d", what, got[0], got[1])
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a🦊b", 2)
	f.Add("\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 0), 100)
		got := Cut(s, limit)
		if !utf8.ValidString(got) || chars(got) > limit {
			t.Errorf("Cut(%q, %d) = %q", s, limit, got)
		}
	})
}
