package weburl

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// measured is one line of what `new URL(input)` gave in Chromium 156.
type measured struct {
	Input    string `json:"input"`
	Error    bool   `json:"error"`
	Protocol string `json:"protocol"`
	Hostname string `json:"hostname"`
	Port     string `json:"port"`
	Username string `json:"username"`
	Password string `json:"password"`
}

func readMeasured(tb testing.TB) []measured {
	tb.Helper()
	data, err := os.ReadFile("testdata/chromium156_urls.json")
	if err != nil {
		tb.Fatal(err)
	}
	var lines []measured
	if err := json.Unmarshal(data, &lines); err != nil {
		tb.Fatal(err)
	}
	return lines
}

// refusedOnPurpose says whether doc.go declares this host as refused although
// Chromium accepts it.
func refusedOnPurpose(m measured) bool {
	if strings.ContainsRune(m.Input, 0x1806) { // valid since Unicode 16, refused by older tables
		return true
	}
	host := strings.TrimSuffix(m.Hostname, ".")
	if strings.HasPrefix(host, "[") {
		return !isASCII(m.Input)
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
		return true
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabel {
			return true
		}
	}
	return len(host) > maxName
}

func TestParseAgreesWithChromium(t *testing.T) {
	t.Parallel()
	for _, m := range readMeasured(t) {
		t.Run(strconv.QuoteToASCII(m.Input), func(t *testing.T) {
			t.Parallel()
			got, err := Parse(m.Input)
			switch {
			case m.Error:
				if err == nil {
					t.Fatalf("accepted as %q; Chromium refuses it", got)
				}
				return
			case err != nil:
				if !refusedOnPurpose(m) {
					t.Fatalf("refused (%v); Chromium reads host %q", err, m.Hostname)
				}
				return
			}
			want := m
			want.Input = ""
			if diff := cmp.Diff(want, describe(got, m)); diff != "" {
				t.Errorf("differs from Chromium (-want +got):\n%s", diff)
			}
		})
	}
}

// describe brings a URL into the form of the measurement. User names are not
// kept, so the measured ones stand in when their presence was noticed.
func describe(u URL, m measured) measured {
	d := measured{Protocol: u.Scheme + ":"}
	if DefaultPort(u.Scheme) == 0 {
		d.Hostname, d.Port, d.Username, d.Password = m.Hostname, m.Port, m.Username, m.Password
		return d
	}
	d.Hostname = u.Host.String()
	if u.Port != DefaultPort(u.Scheme) {
		d.Port = strconv.Itoa(int(u.Port))
	}
	if u.Userinfo {
		d.Username, d.Password = m.Username, m.Password
	}
	return d
}

func TestURLStringIsStable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		` http:\\A.example:080\x y?a b#c` + "\n": "http://a.example/x%20y?a%20b#c",
		"https://0x7f.1:8443":                    "https://127.0.0.1:8443/",
		"http://u:p@[::FFFF:127.0.0.1]?q":        "http://[::ffff:7f00:1]/?q",
		"wss://a.example:443/s":                  "wss://a.example/s",
	} {
		u, err := Parse(in)
		if err != nil {
			t.Errorf("Parse(%q): %v", in, err)
			continue
		}
		if got := u.String(); got != want {
			t.Errorf("Parse(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHostForms(t *testing.T) {
	t.Parallel()
	host, err := ParseHost("Foo.LocalHost.")
	if err != nil {
		t.Fatal(err)
	}
	if host.String() != "foo.localhost." || host.Name() != "foo.localhost" || !host.IsLocalhost() || host.IsAddr() {
		t.Errorf("got %q, %q, %v, %v", host.String(), host.Name(), host.IsLocalhost(), host.IsAddr())
	}
	if h, err := ParseHost("notlocalhost"); err != nil || h.IsLocalhost() {
		t.Errorf("notlocalhost: %v, %v", h, err)
	}
}

// FuzzHost: what is accepted is canonical: parsing it again changes nothing, and
// it holds only characters that a request line and a resolver take.
func FuzzHost(f *testing.F) {
	for _, m := range readMeasured(f) {
		if u, err := Parse(m.Input); err == nil && DefaultPort(u.Scheme) != 0 {
			f.Add(u.Host.String())
		}
		f.Add(strings.Trim(strings.TrimPrefix(m.Input, "http://"), "/"))
	}
	f.Fuzz(func(t *testing.T, raw string) {
		host, err := ParseHost(raw)
		if err != nil {
			return
		}
		again, err := ParseHost(host.String())
		if err != nil || again != host {
			t.Fatalf("ParseHost(%q) = %q, again %q (%v)", raw, host, again, err)
		}
		if strings.Trim(host.String(), "abcdefghijklmnopqrstuvwxyz0123456789-._:[]") != "" {
			t.Fatalf("ParseHost(%q) = %q", raw, host)
		}
		if host.IsAddr() && host.Addr().Zone() != "" {
			t.Fatalf("zone in %q", host)
		}
		u, err := Parse("http://" + host.String() + ":81/")
		if err != nil || u.Host != host || u.Port != 81 {
			t.Fatalf("as URL: %+v, %v", u, err)
		}
	})
}
