package egressproxy

import (
	"encoding/json"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// reported is a case built from public bug reports: inputs and verdicts.
type reported struct {
	Inputs []struct {
		Input     string `json:"input"`
		Canonical string `json:"canonical_host"`
		Verdict   string `json:"verdict"`
		Policy    string `json:"policy"`
	} `json:"inputs"`
}

func readCase(t *testing.T, name string) reported {
	t.Helper()
	data, err := os.ReadFile("testdata/cases/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var c reported
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNumericIPv4Spellings(t *testing.T) {
	t.Parallel()
	strict := mustCompile(t, Policy{})
	for _, in := range readCase(t, "200-numeric-ipv4-spellings").Inputs {
		checked, err := strict.CheckNavigation(in.Input)
		switch {
		case in.Verdict == "bad_url":
			if DenialReason(err) != ReasonBadURL {
				t.Errorf("%s: %v, %v", in.Input, checked, err)
			}
		case strings.HasPrefix(in.Verdict, "allow"):
			if err != nil || checked.Host != in.Canonical {
				t.Errorf("%s: %v, %v; want %s", in.Input, checked, err, in.Canonical)
			}
		default:
			if reason := DenialReason(err); reason == "" || reason == ReasonBadURL {
				t.Errorf("%s: %v, %v; want a denial of its class", in.Input, checked, err)
			}
			if u, err := CheckURL(in.Input); err != nil || u.Host != in.Canonical {
				t.Errorf("%s: read as %v, %v; want %s", in.Input, u, err, in.Canonical)
			}
		}
	}
}

// The names of the case resolve to what they mean where such a name exists.
func answersOfCase202(host weburl.Host) []netip.Addr {
	switch name := host.Name(); {
	case host.IsLocalhost():
		return loopbackAddrs
	case strings.HasSuffix(name, "shop.example"), strings.HasSuffix(name, "cdn.example"), strings.HasSuffix(name, ".test"), strings.HasPrefix(name, "xn--"):
		return addrsOf("8.8.8.8")
	case name == "localhost.localdomain":
		return addrsOf("127.0.0.1")
	}
	return addrsOf("10.96.0.1") // a cluster's or a container host's network
}

func TestHostNameSpellings(t *testing.T) {
	t.Parallel()
	list := mustCompile(t, Policy{Mode: ModeAllowlist, AllowHosts: []string{"shop.example", "*.cdn.example"}, Public: ptr(false)})
	strict := mustCompile(t, Policy{})
	for _, in := range readCase(t, "202-host-name-spellings").Inputs {
		policy := strict
		if in.Policy == "allowlist" {
			policy = list
		}
		u, err := weburl.Parse(in.Input)
		if strings.HasPrefix(in.Verdict, "bad_url") {
			if err == nil {
				t.Errorf("%s: read as %s", in.Input, u)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", in.Input, err)
			continue
		}
		got := policy.Decide(u.Scheme, u.Host.String(), u.Port, answersOfCase202(u.Host))
		want := !strings.HasPrefix(in.Verdict, "deny") && !strings.HasSuffix(in.Verdict, ": deny")
		if got.Allow != want {
			t.Errorf("%s: %+v, want %q", in.Input, got, in.Verdict)
		}
		_, err = policy.CheckNavigation(in.Input)
		if want && err != nil {
			t.Errorf("%s: navigation refused: %v", in.Input, err)
		}
	}
}

func TestSchemes(t *testing.T) {
	t.Parallel()
	for _, in := range readCase(t, "204-schemes").Inputs {
		u, err := CheckURL(in.Input)
		if in.Verdict == "allow" {
			if err != nil || u.String() != in.Input {
				t.Errorf("%q: %v, %v", in.Input, u, err)
			}
			continue
		}
		if DenialReason(err) != ReasonScheme {
			t.Errorf("%q: %v, %v; want it refused for its scheme", in.Input, u, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"HTTP://Shop.Example.:80/a b?q=%zz#100%": "http://shop.example./a%20b?q=%zz#100%25",
		"https://a.test/50%":                     "https://a.test/50%25",
		"http:a.test":                            "http://a.test/",
		`http:\\a.test\x`:                        "http://a.test/x",
		"https://bücher.example/ü":               "https://xn--bcher-kva.example/%C3%BC",
		"http://[::FFFF:8.8.8.8]:8080":           "http://[::ffff:808:808]:8080/",
		" about:blank\n":                         "about:blank",
	} {
		if u, err := CheckURL(in); err != nil || u.String() != want {
			t.Errorf("%q: got %v, %v; want %s", in, u, err, want)
		}
	}
	for in, want := range map[string]Reason{
		"http://u:p@a.test/":                  ReasonUserinfo,
		"http://a.test@b.test/":               ReasonUserinfo,
		"http://a.test:80@b.test/":            ReasonUserinfo,
		"about:blank#x":                       ReasonScheme,
		"about:config":                        ReasonScheme,
		"a.test":                              ReasonBadURL,
		"":                                    ReasonBadURL,
		"http://":                             ReasonBadURL,
		"http://a.test:0/":                    ReasonBadURL,
		"http://[fe80::1%25eth0]/":            ReasonBadURL,
		"http://a\u200cb.test/":               ReasonBadURL,
		"http://a.test:65536/":                ReasonBadURL,
		"mailto:a@b.test":                     ReasonScheme,
		"wss://a.test/":                       ReasonScheme,
		"http://" + strings.Repeat("a", 3000): ReasonBadURL,
	} {
		u, err := CheckURL(in)
		if DenialReason(err) != want {
			t.Errorf("%q: got %v, %v; want %s", in, u, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: the error repeats user information: %v", in, err)
		}
	}
}

// What CheckURL returns reads as the same host in this package, in net/url and,
// as weburl's own test shows, in Chromium.
func TestCheckedURLIsStable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"200-numeric-ipv4-spellings", "202-host-name-spellings", "204-schemes"} {
		for _, in := range readCase(t, name).Inputs {
			u, err := CheckURL(in.Input)
			if err != nil {
				continue
			}
			again, err := CheckURL(u.String())
			if err != nil || again.String() != u.String() {
				t.Errorf("%s: %s, again %v (%v)", strconv.QuoteToASCII(in.Input), u, again, err)
			}
		}
	}
}
