package egressproxy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/egressproxy/weburl"
)

// hostScope is which names around the written one an entry covers.
type hostScope uint8

const (
	scopeExact hostScope = 1 << iota // host
	scopeBelow                       // *.host
)

// hostEntry is one entry of allow_hosts or deny_hosts. Port 0 is "no port given".
type hostEntry struct {
	scope hostScope
	port  uint16
}

// hostSet finds the entries for a host by its suffixes, so that its cost grows
// with the labels of the host and not with the length of the list. Address
// literals are keyed by their canonical text.
type hostSet map[string][]hostEntry

func parseHostSet(field string, items []string) (hostSet, error) {
	set := make(hostSet, len(items))
	for i, item := range items {
		key, entry, err := parseHostEntry(strings.TrimSpace(item))
		if err != nil {
			return nil, &FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Reason: err.Error()}
		}
		set[key] = append(set[key], entry)
	}
	return set, nil
}

func parseHostEntry(item string) (string, hostEntry, error) {
	entry := hostEntry{scope: scopeExact}
	if rest, ok := strings.CutPrefix(item, "*."); ok {
		item, entry.scope = rest, scopeBelow
	} else if rest, ok := strings.CutPrefix(item, "."); ok {
		item, entry.scope = rest, scopeExact|scopeBelow
	}
	if strings.ContainsAny(item, "/*@?# \t\r\n") {
		return "", hostEntry{}, errors.New("write host, .host or *.host, with an optional :port")
	}
	text, port, err := weburl.SplitPort(item)
	if err != nil || strings.HasSuffix(item, ":") {
		return "", hostEntry{}, errors.New("bad port")
	}
	entry.port = port
	host, err := weburl.ParseHost(text)
	if err != nil {
		return "", hostEntry{}, err
	}
	if host.IsAddr() {
		if entry.scope != scopeExact {
			return "", hostEntry{}, errors.New("an address has no names below it")
		}
		return addrKey(host), entry, nil
	}
	if host.Name() == "" {
		return "", hostEntry{}, errors.New("empty host")
	}
	return host.Name(), entry, nil
}

// addrKey makes [::ffff:127.0.0.1] and 127.0.0.1 the same host.
func addrKey(host weburl.Host) string { return plain(host.Addr()).String() }

// each calls visit for every entry that covers the host, until it returns true.
func (s hostSet) each(host weburl.Host, visit func(hostEntry) bool) bool {
	if len(s) == 0 {
		return false
	}
	if host.IsAddr() {
		return s.visitKey(addrKey(host), scopeExact, visit)
	}
	key, scope := host.Name(), scopeExact
	for {
		if s.visitKey(key, scope, visit) {
			return true
		}
		_, parent, ok := strings.Cut(key, ".")
		if !ok {
			return false
		}
		key, scope = parent, scopeBelow
	}
}

func (s hostSet) visitKey(key string, scope hostScope, visit func(hostEntry) bool) bool {
	for _, entry := range s[key] {
		if entry.scope&scope != 0 && visit(entry) {
			return true
		}
	}
	return false
}

// denies: an entry without port denies every port.
func (s hostSet) denies(host weburl.Host, port uint16) bool {
	return s.each(host, func(e hostEntry) bool { return e.port == 0 || e.port == port })
}

// allows: an entry without port covers the policy's ports only.
func (s hostSet) allows(host weburl.Host, port uint16, listedPort bool) bool {
	return s.each(host, func(e hostEntry) bool {
		return e.port == port || e.port == 0 && listedPort
	})
}
