package egressproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Mode is how a policy treats what no entry names.
type Mode string

const (
	// ModeStrict reaches public unicast addresses on the listed ports only. It is
	// the mode of an empty policy.
	ModeStrict Mode = "strict"
	// ModeAllowlist is strict plus what allow_hosts and allow_cidrs name, or only
	// what they name when public is false.
	ModeAllowlist Mode = "allowlist"
	// ModeUnrestricted has no address and no port rules; deny entries, metadata
	// services and the fleet's listeners stay denied.
	ModeUnrestricted Mode = "unrestricted"
)

// DefaultPorts are open when a policy names none.
var DefaultPorts = []uint16{80, 443}

// Policy is what an operator writes. Compile checks it and makes it usable.
//
// Hosts are "host" (that name or address only), ".host" (apex and everything
// below), "*.host" (everything below, at any depth, without the apex), each with
// an optional ":port". An allow entry with a port opens that port for that host
// and nothing else; one without a port covers the ports of the policy.
type Policy struct {
	Mode       Mode     `json:"mode,omitempty"`
	AllowHosts []string `json:"allow_hosts,omitempty"`
	AllowCIDRs []string `json:"allow_cidrs,omitempty"`
	DenyHosts  []string `json:"deny_hosts,omitempty"`
	DenyCIDRs  []string `json:"deny_cidrs,omitempty"`
	Ports      []uint16 `json:"ports,omitempty"`
	// Public says whether allowlist mode admits the public internet; nil means
	// true. The other modes refuse a false.
	Public *bool `json:"public,omitempty"`
}

// FieldError names the field of a policy that is wrong.
type FieldError struct {
	Field  string // in JSON spelling, with the index of a list item
	Reason string
}

func (e *FieldError) Error() string { return "egress policy: " + e.Field + ": " + e.Reason }

// UnmarshalJSON refuses unknown fields, since a misspelt deny entry is a hole,
// and reports the first field that is wrong.
func (p *Policy) UnmarshalJSON(data []byte) error {
	type plainPolicy Policy
	var read plainPolicy
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return fmt.Errorf("egress policy: %w", err)
	}
	if err := Policy(read).Validate(); err != nil {
		return err
	}
	*p = Policy(read).trimmed()
	return nil
}

// UnmarshalText reads JSON, or fields in the form of an environment variable:
//
//	mode=allowlist; allow_hosts=.shop.example, api.example:8443; public=false
//
// An empty text is the strict policy.
func (p *Policy) UnmarshalText(text []byte) error {
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte("{")) {
		return p.UnmarshalJSON(text)
	}
	var read Policy
	for field := range strings.SplitSeq(string(text), ";") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, value, ok := strings.Cut(field, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return &FieldError{Field: name, Reason: "no value: write name=value"}
		}
		if err := read.setText(name, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*p = read.trimmed()
	return nil
}

func (p *Policy) setText(name, value string) error {
	switch name {
	case "mode":
		p.Mode = Mode(value)
	case "allow_hosts":
		p.AllowHosts = splitItems(value)
	case "allow_cidrs":
		p.AllowCIDRs = splitItems(value)
	case "deny_hosts":
		p.DenyHosts = splitItems(value)
	case "deny_cidrs":
		p.DenyCIDRs = splitItems(value)
	case "ports":
		return p.setPorts(splitItems(value))
	case "public":
		public, err := strconv.ParseBool(value)
		if err != nil {
			return &FieldError{Field: name, Reason: "not true or false"}
		}
		p.Public = &public
	default:
		return &FieldError{Field: name, Reason: "unknown field"}
	}
	return nil
}

func (p *Policy) setPorts(items []string) error {
	for i, item := range items {
		port, err := strconv.ParseUint(strings.TrimSpace(item), 10, 16)
		if err != nil {
			return &FieldError{Field: fmt.Sprintf("ports[%d]", i), Reason: "not a port"}
		}
		p.Ports = append(p.Ports, uint16(port))
	}
	return nil
}

func splitItems(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

// Validate reports the first field that Compile would refuse.
func (p Policy) Validate() error {
	_, err := parseRules(p)
	return err
}

// trimmed is the policy without the spaces around list items: an item with one
// would otherwise be shown as if it were in force in another spelling.
func (p Policy) trimmed() Policy {
	for _, list := range []*[]string{&p.AllowHosts, &p.AllowCIDRs, &p.DenyHosts, &p.DenyCIDRs} {
		if *list == nil {
			continue
		}
		items := make([]string, len(*list))
		for i, item := range *list {
			items[i] = strings.TrimSpace(item)
		}
		*list = items
	}
	p.Mode = Mode(strings.TrimSpace(string(p.Mode)))
	return p
}
