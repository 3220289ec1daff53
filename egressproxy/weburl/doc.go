// Package weburl reads host names and web addresses the way Chromium reads them.
//
// A network policy that parses a host differently from the browser is a hole:
// the policy judges one name, the browser asks for another. This package is the
// one place of the fleet that turns text into a host, for the policy's own
// entries, for a navigation that is about to be dispatched, and for the target
// of a proxy request.
//
// # What it does
//
// ParseHost follows the host parser of the WHATWG URL standard as Chromium
// implements it: percent-decoding, UTS #46 mapping (non-transitional, no
// STD3 rules, no hyphen check), the IPv4 number parser (hexadecimal, octal, one
// to four parts, full-width digits, a trailing dot), and bracketed IPv6 with an
// embedded IPv4 tail. Parse splits a whole address: leading controls and spaces,
// tabs and newlines inside, backslashes, any number of slashes, user
// information before the last @, ports with leading zeroes.
//
// # Where it is stricter than Chromium, on purpose
//
// It never accepts what Chromium refuses, and where both accept, the hosts are
// equal; testdata/chromium156_urls.json holds what `new URL` gave in Chromium
// 156 and the test compares every line. It refuses some hosts that Chromium
// accepts but that no resolver serves:
//
//   - characters outside letters, digits, hyphen, underscore and dot (Chromium
//     keeps ! $ & ' ( ) + , ; = ~ " ` { } and escapes space and asterisk);
//   - empty labels other than the one after a trailing dot, labels over 63 and
//     names over 253 octets;
//   - IPv6 literals that are not ASCII after percent-decoding (Chromium maps
//     full-width digits inside brackets).
//
// The Unicode tables of golang.org/x/net/idna are older than Chromium's: a
// character assigned since then is refused here, which errs on the safe side.
// The one mapping known to differ (U+1E9E) is made before the tables are asked.
//
// # What it never does
//
// It does not resolve names, has no state, no goroutines and no locks, and it
// does not normalise paths: dot segments and percent-encoding after the host
// are the browser's business and no policy looks at them.
package weburl
