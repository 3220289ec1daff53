package egressproxy

// Reason says why a destination was allowed or denied. The same string is the
// log field, the metric label, the X-Browserfleet-Denied header and the entry in
// an action's evidence, so the set is closed and its values never change.
type Reason string

// Reasons of permission.
const (
	ReasonPublic       Reason = "public"       // every address is public unicast
	ReasonAllowHost    Reason = "allow_host"   // named by allow_hosts
	ReasonAllowCIDR    Reason = "allow_cidr"   // every address is public or in allow_cidrs
	ReasonUnrestricted Reason = "unrestricted" // the mode has no address rules
)

// Reasons of denial that no setting of a policy lifts.
const (
	ReasonBadURL   Reason = "bad_url"   // not a URL, or a host that no browser spells so
	ReasonScheme   Reason = "scheme"    // not http, https or about:blank
	ReasonUserinfo Reason = "userinfo"  // user name or password in the URL
	ReasonDenyHost Reason = "deny_host" // named by deny_hosts
	ReasonDenyCIDR Reason = "deny_cidr" // an address is in deny_cidrs
	ReasonMetadata Reason = "metadata"  // a cloud's metadata or credential service
	ReasonFleet    Reason = "fleet"     // a listener of the fleet itself
	ReasonSelf     Reason = "self"      // this very proxy
	ReasonZoneID   Reason = "zone_id"   // a scoped address; URLs cannot spell one
)

// Reasons of denial by the mode; an allow entry lifts them in allowlist mode.
const (
	ReasonPort      Reason = "port"       // not in ports, nor opened by an entry
	ReasonNotListed Reason = "not_listed" // public=false and no entry names it
	ReasonNoAddress Reason = "no_address" // there is nothing to judge

	ReasonUnspecified    Reason = "unspecified"
	ReasonLoopback       Reason = "loopback"
	ReasonPrivate        Reason = "private"
	ReasonLinkLocal      Reason = "link_local"
	ReasonCGNAT          Reason = "cgnat"
	ReasonMulticast      Reason = "multicast"
	ReasonReserved       Reason = "reserved"
	ReasonDocumentation  Reason = "documentation"
	ReasonBenchmarking   Reason = "benchmarking"
	ReasonUniqueLocal    Reason = "unique_local"
	ReasonIPv4Compatible Reason = "ipv4_compatible"
	ReasonNAT64          Reason = "nat64"
	Reason6to4           Reason = "6to4"
	ReasonTeredo         Reason = "teredo"
	ReasonISATAP         Reason = "isatap"
)

// Reasons of the proxy itself: the policy had no say, or not yet.
const (
	ReasonSuspended   Reason = "suspended"      // the worker lost contact; 503
	ReasonBusy        Reason = "busy"           // too many connections; 503
	ReasonAuth        Reason = "auth"           // no or wrong credentials; 407
	ReasonBadRequest  Reason = "bad_request"    // not a well-formed proxy request; 400
	ReasonDNSFailed   Reason = "dns_failed"     // no answer for the name; 502
	ReasonDialFailed  Reason = "dial_failed"    // no checked address could be reached; 502
	ReasonUpstream    Reason = "upstream_error" // the server answered nonsense or not at all; 502
	ReasonRevalidated Reason = "policy_changed" // a new policy closed what an older one had opened
)

// Failure reports whether a reason is a failure to reach the server, not a
// decision of the policy.
func (r Reason) Failure() bool {
	switch r {
	case ReasonSuspended, ReasonBusy, ReasonBadRequest, ReasonDNSFailed, ReasonDialFailed, ReasonUpstream:
		return true
	}
	return false
}

// Decision is the policy's answer about one destination.
type Decision struct {
	Allow  bool
	Reason Reason
}

func allow(reason Reason) Decision { return Decision{Allow: true, Reason: reason} }

func deny(reason Reason) Decision { return Decision{Reason: reason} }
