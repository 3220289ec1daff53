package egressproxy

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustCompile(tb testing.TB, policy Policy, fleet ...string) *Compiled {
	tb.Helper()
	listeners := make([]netip.AddrPort, len(fleet))
	for i, text := range fleet {
		listeners[i] = netip.MustParseAddrPort(text)
	}
	compiled, err := Compile(policy, listeners)
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}

func addrsOf(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func ptr[T any](v T) *T { return &v }

func TestAddressClasses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Reason{
		"8.8.8.8": ReasonPublic, "93.184.216.34": ReasonPublic, "2606:4700::1111": ReasonPublic,
		"192.0.1.1": ReasonPublic, "100.63.255.255": ReasonPublic, "100.128.0.1": ReasonPublic,
		"172.15.0.1": ReasonPublic, "172.32.0.1": ReasonPublic, "2001:4860::1": ReasonPublic,
		"0.0.0.0": ReasonUnspecified, "0.1.2.3": ReasonReserved, "::": ReasonUnspecified,
		"127.0.0.1": ReasonLoopback, "127.255.255.254": ReasonLoopback, "::1": ReasonLoopback,
		"::ffff:127.0.0.1": ReasonLoopback, "::ffff:8.8.8.8": ReasonPublic,
		"10.1.2.3": ReasonPrivate, "172.16.0.1": ReasonPrivate, "172.31.255.255": ReasonPrivate, "192.168.0.1": ReasonPrivate,
		"fec0::1": ReasonPrivate, "169.254.1.1": ReasonLinkLocal, "fe80::1": ReasonLinkLocal,
		"100.64.0.1": ReasonCGNAT, "100.127.255.255": ReasonCGNAT,
		"224.0.0.1": ReasonMulticast, "239.255.255.255": ReasonMulticast, "ff02::1": ReasonMulticast,
		"240.0.0.1": ReasonReserved, "255.255.255.255": ReasonReserved, "192.0.0.1": ReasonReserved,
		"192.0.2.1": ReasonDocumentation, "198.51.100.1": ReasonDocumentation, "203.0.113.1": ReasonDocumentation,
		"2001:db8::1": ReasonDocumentation, "3fff::1": ReasonDocumentation,
		"198.18.0.1": ReasonBenchmarking, "198.19.255.255": ReasonBenchmarking, "2001:2::1": ReasonBenchmarking,
		"fc00::1": ReasonUniqueLocal, "fd12:3456::1": ReasonUniqueLocal,
		"::7f00:1": ReasonIPv4Compatible, "::8.8.8.8": ReasonIPv4Compatible,
		"64:ff9b::7f00:1": ReasonNAT64, "64:ff9b::8.8.8.8": ReasonNAT64, "64:ff9b:1::1": ReasonNAT64,
		"2002:7f00:1::": Reason6to4, "192.88.99.1": Reason6to4, "2001::1": ReasonTeredo, "2001:20::1": ReasonReserved,
		"2606:4700::5efe:127.0.0.1": ReasonISATAP, "2606:4700::200:5efe:10.0.0.1": ReasonISATAP, "fe80::5efe:10.0.0.1": ReasonLinkLocal,
		"::ffff:0:127.0.0.1": ReasonReserved, "100::1": ReasonReserved, "5f00::1": ReasonReserved,
		"4000::1": ReasonReserved, "9000::1": ReasonReserved, "2620:4f:8000::1": ReasonReserved,
		"168.63.129.16": ReasonMetadata, "169.254.169.254": ReasonMetadata, "fd00:ec2::254": ReasonMetadata,
		"100.100.100.200": ReasonMetadata, "::ffff:169.254.169.254": ReasonMetadata, "64:ff9b::169.254.169.254": ReasonMetadata,
		"2002:a9fe:a9fe::": ReasonMetadata, "::169.254.169.254": ReasonMetadata, "::ffff:0:168.63.129.16": ReasonMetadata,
		"fe80::1%eth0": ReasonZoneID, "2606:4700::1111%1": ReasonZoneID,
	} {
		addr := netip.MustParseAddr(text)
		got := mustCompile(t, Policy{}).Decide("https", "host.example", 443, []netip.Addr{addr})
		if want == ReasonPublic != got.Allow || got.Reason != want {
			t.Errorf("%s: got %+v, want %s", text, got, want)
		}
	}
}

type decideCase struct {
	name   string
	policy Policy
	fleet  []string
	scheme string
	host   string
	port   uint16
	addrs  []netip.Addr
	want   Decision
}

func TestDecide(t *testing.T) {
	t.Parallel()
	list := Policy{
		Mode:       ModeAllowlist,
		AllowHosts: []string{" localhost ", ".apex.test", "*.below.test", "shop.test:8443", "10.9.9.9:9000"},
		AllowCIDRs: []string{"10.1.0.0/16", "64:ff9b::/96"},
		DenyHosts:  []string{"bad.apex.test", "half.test:443"},
		DenyCIDRs:  []string{"10.1.66.0/24", "7.7.7.0/24"},
	}
	only := Policy{Mode: ModeAllowlist, AllowHosts: []string{"shop.test"}, Public: ptr(false)}
	free := Policy{Mode: ModeUnrestricted, DenyHosts: []string{".bad.test"}, DenyCIDRs: []string{"10.66.0.0/16", "::1/128"}}
	public, private, loop := addrsOf("8.8.8.8"), addrsOf("10.2.0.1"), addrsOf("127.0.0.1", "::1")
	cases := []decideCase{
		{name: "strict public", host: "a.test", addrs: public, want: allow(ReasonPublic)},
		{name: "strict websocket", scheme: "wss", host: "a.test", addrs: public, want: allow(ReasonPublic)},
		{name: "strict websocket to loopback", scheme: "ws", host: "localhost", port: 80, addrs: loop, want: deny(ReasonLoopback)},
		{name: "strict one of several private", host: "a.test", addrs: addrsOf("8.8.8.8", "10.0.0.1"), want: deny(ReasonPrivate)},
		{name: "strict no address", host: "a.test", want: deny(ReasonNoAddress)},
		{name: "strict literal needs no answers", host: "8.8.8.8", want: allow(ReasonPublic)},
		{name: "strict literal is judged beside false answers", host: "0x7f.1", addrs: public, want: deny(ReasonLoopback)},
		{name: "strict port", host: "a.test", port: 22, addrs: public, want: deny(ReasonPort)},
		{name: "strict port zero is never open", host: "a.test", port: 65535, addrs: public, want: deny(ReasonPort)},
		{name: "strict own ports", policy: Policy{Ports: []uint16{8080}}, host: "a.test", port: 8080, addrs: public, want: allow(ReasonPublic)},
		{name: "strict own ports replace the default", policy: Policy{Ports: []uint16{8080}}, host: "a.test", addrs: public, want: deny(ReasonPort)},
		{name: "file scheme", scheme: "file", host: "a.test", addrs: public, want: deny(ReasonScheme)},
		{name: "userinfo in host", host: "u@a.test", addrs: public, want: deny(ReasonBadURL)},
		{name: "metadata name", policy: free, host: "METADATA.google.internal.", addrs: public, want: deny(ReasonMetadata)},
		{name: "metadata name below", policy: free, host: "x.metadata.google.internal", addrs: public, want: deny(ReasonMetadata)},
		{name: "name that only ends alike", host: "mymetadata.goog", addrs: public, want: allow(ReasonPublic)},
		{name: "single label metadata covers no names below", host: "www.metadata", addrs: public, want: allow(ReasonPublic)},

		{name: "listed localhost", policy: list, host: "LOCALHOST.", port: 80, addrs: loop, want: allow(ReasonAllowHost)},
		{name: "loopback literal is not the listed name", policy: list, host: "127.0.0.1", port: 80, want: deny(ReasonLoopback)},
		{name: "listed host on another port", policy: list, host: "localhost", port: 8080, addrs: loop, want: deny(ReasonPort)},
		{name: "apex", policy: list, host: "apex.test", addrs: private, want: allow(ReasonAllowHost)},
		{name: "below apex", policy: list, host: "a.b.apex.test", addrs: private, want: allow(ReasonAllowHost)},
		{name: "apex near miss", policy: list, host: "notapex.test", addrs: private, want: deny(ReasonPrivate)},
		{name: "star", policy: list, host: "a.b.below.test", addrs: private, want: allow(ReasonAllowHost)},
		{name: "star without apex", policy: list, host: "below.test", addrs: private, want: deny(ReasonPrivate)},
		{name: "listed but unresolvable", policy: list, host: "a.apex.test", want: deny(ReasonNoAddress)},
		{name: "denied below allowed", policy: list, host: "bad.apex.test", addrs: private, want: deny(ReasonDenyHost)},
		{name: "entry port", policy: list, host: "shop.test", port: 8443, addrs: private, want: allow(ReasonAllowHost)},
		{name: "entry port only", policy: list, host: "shop.test", addrs: private, want: deny(ReasonPrivate)},
		{name: "entry port for that host only", policy: list, host: "a.test", port: 8443, addrs: public, want: deny(ReasonPort)},
		{name: "address entry", policy: list, host: "[::ffff:10.9.9.9]", port: 9000, want: allow(ReasonAllowHost)},
		{name: "deny entry port", policy: list, host: "half.test", addrs: public, want: deny(ReasonDenyHost)},
		{name: "deny entry other port", policy: list, host: "half.test", port: 80, addrs: public, want: allow(ReasonPublic)},
		{name: "cidr inside", policy: list, host: "a.test", addrs: addrsOf("10.1.2.3"), want: allow(ReasonAllowCIDR)},
		{name: "cidr outside", policy: list, host: "a.test", addrs: private, want: deny(ReasonPrivate)},
		{name: "deny cidr beats allow cidr", policy: list, host: "a.test", addrs: addrsOf("10.1.66.1"), want: deny(ReasonDenyCIDR)},
		{name: "deny cidr beats allow host", policy: list, host: "apex.test", addrs: addrsOf("10.1.66.1"), want: deny(ReasonDenyCIDR)},
		{name: "deny cidr of a public address", policy: list, host: "a.test", addrs: addrsOf("7.7.7.7"), want: deny(ReasonDenyCIDR)},
		{name: "metadata beats allow host", policy: list, host: "apex.test", addrs: addrsOf("169.254.169.254"), want: deny(ReasonMetadata)},
		{name: "allowlist public", policy: list, host: "a.test", addrs: public, want: allow(ReasonPublic)},
		{name: "nat64 listed, public inside", policy: list, host: "a.test", addrs: addrsOf("64:ff9b::8.8.8.8"), want: allow(ReasonAllowCIDR)},
		{name: "nat64 listed, private inside", policy: list, host: "a.test", addrs: addrsOf("64:ff9b::192.168.0.1"), want: deny(ReasonPrivate)},
		{name: "nat64 listed, denied inside", policy: list, host: "a.test", addrs: addrsOf("64:ff9b::7.7.7.7"), want: deny(ReasonDenyCIDR)},

		{name: "not public: listed", policy: only, host: "shop.test", addrs: public, want: allow(ReasonAllowHost)},
		{name: "not public: other", policy: only, host: "a.test", addrs: public, want: deny(ReasonNotListed)},
		{name: "not public: literal", policy: only, host: "8.8.8.8", want: deny(ReasonNotListed)},

		{name: "unrestricted loopback", policy: free, host: "127.0.0.1", port: 3000, want: allow(ReasonUnrestricted)},
		{name: "unrestricted deny host", policy: free, host: "x.bad.test", addrs: public, want: deny(ReasonDenyHost)},
		{name: "unrestricted deny cidr", policy: free, host: "a.test", addrs: addrsOf("10.66.1.1"), want: deny(ReasonDenyCIDR)},
		{name: "unrestricted deny cidr, mapped", policy: free, host: "[::ffff:10.66.1.1]", want: deny(ReasonDenyCIDR)},
		{name: "unrestricted deny cidr, 6to4", policy: free, host: "[2002:a42:101::]", want: deny(ReasonDenyCIDR)},
		{name: "unrestricted deny cidr, teredo client", policy: free, host: "[2001:0:808:808::f5bd:fefe]", want: deny(ReasonDenyCIDR)},
		{name: "unrestricted deny cidr, isatap", policy: free, host: "[2606:4700::5efe:a42:101]", want: deny(ReasonDenyCIDR)},
		{name: "unrestricted deny cidr, local nat64", policy: free, host: "[64:ff9b:1:a42:1:100::]", want: deny(ReasonDenyCIDR)},
		{name: "unrestricted deny loopback by unspecified", policy: free, host: "[::]", want: deny(ReasonDenyCIDR)},
		{name: "unrestricted metadata", policy: free, host: "2852039166", want: deny(ReasonMetadata)},
		{name: "unrestricted scheme", policy: free, scheme: "ftp", host: "a.test", addrs: public, want: deny(ReasonScheme)},

		{name: "fleet listener", policy: free, fleet: []string{"127.0.0.1:4222"}, host: "127.0.0.1", port: 4222, want: deny(ReasonFleet)},
		{name: "fleet listener, mapped", policy: free, fleet: []string{"127.0.0.1:4222"}, host: "[::ffff:7f00:1]", port: 4222, want: deny(ReasonFleet)},
		{name: "fleet listener by 0.0.0.0", policy: free, fleet: []string{"127.0.0.1:4222"}, host: "0", port: 4222, want: deny(ReasonFleet)},
		{name: "fleet listener by nat64", policy: free, fleet: []string{"10.0.0.5:9000"}, host: "[64:ff9b::10.0.0.5]", port: 9000, want: deny(ReasonFleet)},
		{name: "fleet wildcard listener", policy: free, fleet: []string{"0.0.0.0:4222"}, host: "127.8.8.8", port: 4222, want: deny(ReasonFleet)},
		{name: "fleet wildcard listener, IPv6", policy: free, fleet: []string{"[::]:4222"}, host: "[::1]", port: 4222, want: deny(ReasonFleet)},
		{name: "fleet listener before the ports rule", fleet: []string{"127.0.0.1:4222"}, host: "127.0.0.1", port: 4222, want: deny(ReasonFleet)},
		{name: "metadata before the ports rule", host: "169.254.169.254", port: 8080, want: deny(ReasonMetadata)},
		{name: "beside the fleet listener", policy: free, fleet: []string{"127.0.0.1:4222"}, host: "127.0.0.1", port: 4223, want: allow(ReasonUnrestricted)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.scheme == "" {
				c.scheme = "https"
			}
			if c.port == 0 {
				c.port = 443
			}
			got := mustCompile(t, c.policy, c.fleet...).Decide(c.scheme, c.host, c.port, c.addrs)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNoPolicyDeniesEverything(t *testing.T) {
	t.Parallel()
	var missing *Compiled
	for _, c := range []*Compiled{missing, {}} {
		if d := c.Decide("https", "8.8.8.8", 443, nil); d.Allow {
			t.Errorf("allowed: %+v", d)
		}
	}
	narrowed, err := missing.Narrow(Policy{Mode: ModeUnrestricted})
	if err != nil || narrowed.Decide("https", "8.8.8.8", 443, nil).Allow {
		t.Errorf("narrowing nothing allowed something (%v)", err)
	}
}

func TestNarrowNeverWidens(t *testing.T) {
	t.Parallel()
	base := mustCompile(t, Policy{Mode: ModeAllowlist, AllowHosts: []string{"shop.test"}, DenyHosts: []string{"bad.test"}, Public: ptr(false)}, "9.9.9.9:443")
	wide, err := base.Narrow(Policy{Mode: ModeUnrestricted})
	if err != nil {
		t.Fatal(err)
	}
	tight, err := base.Narrow(Policy{DenyHosts: []string{"shop.test"}})
	if err != nil {
		t.Fatal(err)
	}
	public := addrsOf("8.8.8.8")
	for _, c := range []struct {
		policy *Compiled
		host   string
		addrs  []netip.Addr
		want   bool
	}{
		{wide, "shop.test", public, true},
		{wide, "other.test", public, false},
		{wide, "bad.test", public, false},
		{wide, "shop.test", addrsOf("9.9.9.9"), false},
		{tight, "shop.test", public, false},
	} {
		if got := c.policy.Decide("https", c.host, 443, c.addrs); got.Allow != c.want {
			t.Errorf("%s: %+v", c.host, got)
		}
	}
}

func TestPolicyNamesTheBadField(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{"mode":"open"}`: "mode",
		`{"mode":"allowlist","allow_cidrs":["10.0.0.0/8","10.0.0.1"]}`: "allow_cidrs[1]",
		`{"deny_cidrs":["junk"]}`:                                      "deny_cidrs[0]",
		`{"deny_cidrs":["10.0.0.1/8"]}`:                                "deny_cidrs[0]",
		`{"deny_cidrs":["::ffff:10.0.0.0/104"]}`:                       "deny_cidrs[0]",
		`{"deny_cidrs":[""]}`:                                          "deny_cidrs[0]",
		`{"deny_hosts":[" "]}`:                                         "deny_hosts[0]",
		`{"deny_hosts":["https://x.test"]}`:                            "deny_hosts[0]",
		`{"deny_hosts":["x.test:"]}`:                                   "deny_hosts[0]",
		`{"deny_hosts":["x.test:0"]}`:                                  "deny_hosts[0]",
		`{"deny_hosts":["x.test:99999"]}`:                              "deny_hosts[0]",
		`{"deny_hosts":["*"]}`:                                         "deny_hosts[0]",
		`{"deny_hosts":["a.*.test"]}`:                                  "deny_hosts[0]",
		`{"deny_hosts":[".10.0.0.1"]}`:                                 "deny_hosts[0]",
		`{"deny_hosts":["10.0.0.0/8"]}`:                                "deny_hosts[0]",
		`{"deny_hosts":["::1"]}`:                                       "deny_hosts[0]",
		`{"ports":[80,0]}`:                                             "ports[1]",
		`{"allow_hosts":["x.test"]}`:                                   "allow_hosts",
		`{"mode":"unrestricted","allow_cidrs":["10.0.0.0/8"]}`:         "allow_cidrs",
		`{"mode":"unrestricted","ports":[80]}`:                         "ports",
		`{"public":false}`:                                             "public",
		`mode=allowlist; allow_cidrs=10.0.0.0/8, 10.0.0.1`:             "allow_cidrs[1]",
		`mode=allowlist; allow_hots=x`:                                 "allow_hots",
		`mode=allowlist; public=maybe`:                                 "public",
		`ports=80,http`:                                                "ports[1]",
		`strict`:                                                       "strict",
	} {
		var policy Policy
		err := policy.UnmarshalText([]byte(text))
		var wrong *FieldError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: got %v, want a complaint about %s", text, err, field)
		}
	}
	for _, text := range []string{`{"mode":"strict","deny_host":["x"]}`, `{"ports":["80"]}`, `{"mode":`} {
		if err := new(Policy).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
}

func TestPolicyFormsAreEqual(t *testing.T) {
	t.Parallel()
	want := Policy{
		Mode: ModeAllowlist, AllowHosts: []string{".shop.test", "api.test:8443"}, DenyCIDRs: []string{"10.0.0.0/8"},
		Ports: []uint16{443}, Public: ptr(false),
	}
	for _, text := range []string{
		` mode = allowlist ; allow_hosts= .shop.test , api.test:8443; deny_cidrs=10.0.0.0/8;ports=443; public=false;`,
		`{"mode":" allowlist","allow_hosts":[" .shop.test","api.test:8443 "],"deny_cidrs":["10.0.0.0/8\n"],"ports":[443],"public":false}`,
	} {
		var got Policy
		if err := got.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
		encoded, err := json.Marshal(got)
		if err != nil || strings.Contains(string(encoded), " ") {
			t.Errorf("encoded %s (%v)", encoded, err)
		}
		var again Policy
		if err := json.Unmarshal(encoded, &again); err != nil || !cmp.Equal(want, again) {
			t.Errorf("again %+v (%v)", again, err)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	hosts := make([]string, 1000)
	for i := range hosts {
		hosts[i] = "." + strings.Repeat("x", i%50+1) + ".list.test"
	}
	policy := mustCompile(b, Policy{Mode: ModeAllowlist, AllowHosts: hosts, DenyCIDRs: []string{"7.0.0.0/8"}})
	addrs := addrsOf("93.184.216.34", "2606:4700::1111")
	b.ReportAllocs()
	for b.Loop() {
		if !policy.Decide("https", "www.shop.example", 443, addrs).Allow {
			b.Fatal("denied")
		}
	}
}
