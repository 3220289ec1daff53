package egressproxy

import (
	"context"
	"net/netip"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// Explanation is what would become of a URL, and by which rule.
type Explanation struct {
	URL       string       `json:"url"`
	Host      string       `json:"host,omitempty"`
	Port      uint16       `json:"port,omitempty"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Allow     bool         `json:"allow"`
	Reason    Reason       `json:"reason"`
	Why       string       `json:"why"`
}

// Explain judges a URL as a navigation and then as a connection. Names are resolved
// by lookup, which is asked only for what the policy does not refuse by name.
func (c *Compiled) Explain(ctx context.Context, raw string, lookup func(ctx context.Context, host string) ([]netip.Addr, error)) Explanation {
	out := Explanation{URL: raw}
	checked, err := c.CheckNavigation(raw)
	if checked != nil {
		out.URL = checked.String()
	}
	parsed, parseErr := weburl.Parse(out.URL)
	if parseErr == nil && checked != nil && checked.Scheme == "about" {
		out.Allow, out.Reason = true, ReasonUnrestricted
		out.Why = "the empty page needs no connection"
		return out
	}
	if parseErr == nil {
		out.Host, out.Port = parsed.Host.String(), parsed.Port
	}
	if err != nil {
		return out.judged(deny(DenialReason(err)))
	}
	switch {
	case parsed.Host.IsAddr():
		out.Addresses = []netip.Addr{parsed.Host.Addr()}
	case parsed.Host.IsLocalhost():
		out.Addresses = loopbackAddrs
	default:
		if out.Addresses, err = lookup(ctx, parsed.Host.Name()); err != nil {
			return out.judged(deny(ReasonDNSFailed))
		}
	}
	if parsed.Host.IsAddr() {
		return out.judged(c.decideHost(parsed.Scheme, parsed.Host, parsed.Port, nil))
	}
	return out.judged(c.decideHost(parsed.Scheme, parsed.Host, parsed.Port, out.Addresses))
}

func (e Explanation) judged(d Decision) Explanation {
	e.Allow, e.Reason, e.Why = d.Allow, d.Reason, d.Reason.Text()
	return e
}

var reasonTexts = map[Reason]string{
	ReasonPublic:       "every address is public",
	ReasonAllowHost:    "allow_hosts names it",
	ReasonAllowCIDR:    "every address is public or in allow_cidrs",
	ReasonUnrestricted: "the mode has no address rules",
	ReasonBadURL:       "it is no URL that a browser opens",
	ReasonScheme:       "only http, https and about:blank are opened",
	ReasonUserinfo:     "it has a user name or password in it",
	ReasonDenyHost:     "deny_hosts names it; nothing lifts that",
	ReasonDenyCIDR:     "an address is in deny_cidrs; nothing lifts that",
	ReasonMetadata:     "it is a cloud's metadata service; nothing lifts that",
	ReasonFleet:        "it is a server of the fleet; nothing lifts that",
	ReasonZoneID:       "it has an IPv6 zone",
	ReasonPort:         "the port is not in ports, and no entry of allow_hosts opens it",
	ReasonNotListed:    "public is false and no entry names it",
	ReasonNoAddress:    "it has no address",
	ReasonDNSFailed:    "the name cannot be resolved from here",
}

// Text is the reason in words. Classes of addresses say which they are.
func (r Reason) Text() string {
	if text, ok := reasonTexts[r]; ok {
		return text
	}
	return "an address is not public (" + string(r) + "); allow_hosts or allow_cidrs lift that in allowlist mode"
}
