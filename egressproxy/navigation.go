package egressproxy

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// DeniedError is a destination that was refused. Its text holds no path and no
// user information: both may be secrets.
type DeniedError struct {
	Reason Reason
	Host   string // "" when there is none
	Port   uint16
}

func (e *DeniedError) Error() string {
	if e.Host == "" {
		return "egress denied: " + string(e.Reason)
	}
	return fmt.Sprintf("egress denied: %s: %s port %d", e.Reason, e.Host, e.Port)
}

// CheckURL admits what a top-level navigation may open at all: http, https and
// about:blank, without user information, with a host that Chromium reads in the
// same way. Navigate to the returned URL's String: it is what was judged. Every
// error is a *DeniedError with ReasonBadURL, ReasonScheme or ReasonUserinfo.
//
// Chromium itself would open file:, data:, chrome: and devtools: addresses given
// to Page.navigate (measured on Chromium 156), so this check comes first.
func CheckURL(raw string) (*url.URL, error) {
	parsed, err := weburl.Parse(raw)
	if err != nil {
		return nil, &DeniedError{Reason: ReasonBadURL}
	}
	switch {
	case parsed.Scheme == "about" && parsed.Rest == "blank":
		return &url.URL{Scheme: "about", Opaque: "blank"}, nil
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, &DeniedError{Reason: ReasonScheme}
	case parsed.Userinfo:
		return nil, &DeniedError{Reason: ReasonUserinfo, Host: parsed.Host.String(), Port: parsed.Port}
	}
	return toNetURL(parsed)
}

// CheckNavigation is CheckURL plus every rule of the policy that needs no
// resolution, so that an agent is told at once. What passes is judged again, with
// its addresses, when the browser connects.
func (c *Compiled) CheckNavigation(raw string) (*url.URL, error) {
	checked, err := CheckURL(raw)
	if err != nil || checked.Scheme == "about" {
		return checked, err
	}
	parsed, err := weburl.Parse(checked.String())
	if err != nil {
		return nil, &DeniedError{Reason: ReasonBadURL}
	}
	var decision Decision
	switch {
	case parsed.Host.IsAddr():
		decision = c.decideHost(parsed.Scheme, parsed.Host, parsed.Port, nil)
	case parsed.Host.IsLocalhost():
		decision = c.decideHost(parsed.Scheme, parsed.Host, parsed.Port, loopbackAddrs)
	default:
		decision = c.precheck(parsed.Scheme, parsed.Host, parsed.Port)
	}
	if !decision.Allow {
		return nil, &DeniedError{Reason: decision.Reason, Host: parsed.Host.String(), Port: parsed.Port}
	}
	return checked, nil
}

// toNetURL keeps the canonical host. net/url refuses a lone percent sign in path
// or fragment, which browsers pass on; it is escaped then.
func toNetURL(parsed weburl.URL) (*url.URL, error) {
	checked, err := url.Parse(parsed.String())
	if err != nil {
		parsed.Rest = escapeLonePercents(parsed.Rest)
		checked, err = url.Parse(parsed.String())
	}
	if err != nil || checked.Host != parsed.Authority() || checked.User != nil {
		return nil, &DeniedError{Reason: ReasonBadURL, Host: parsed.Host.String(), Port: parsed.Port}
	}
	return checked, nil
}

// escapeLonePercents leaves the query as it is: net/url does not look into it.
func escapeLonePercents(rest string) string {
	var out strings.Builder
	fragment := strings.IndexByte(rest+"#", '#')
	query := strings.IndexByte(rest[:fragment]+"?", '?')
	for i := range len(rest) {
		out.WriteByte(rest[i])
		inQuery := i > query && i < fragment
		if rest[i] == '%' && !inQuery && (i+2 >= len(rest) || !isHex(rest[i+1]) || !isHex(rest[i+2])) {
			out.WriteString("25")
		}
	}
	return out.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// DenialReason is the reason inside an error of this package, "" if it is none.
func DenialReason(err error) Reason {
	var denied *DeniedError
	if errors.As(err, &denied) {
		return denied.Reason
	}
	return ""
}
