package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// DefaultPolicy is the name of a tenant's policy for owners that name none.
const DefaultPolicy = "default"

// MaxPolicyBytes bounds a document.
const MaxPolicyBytes = 256 << 10

// PolicyDocument is a named policy of a tenant, as an operator writes it into the
// bucket bf_policy under tenant.TENANT.policy.NAME.
type PolicyDocument struct {
	V int `json:"v"`
	// Egress says which hosts, addresses and ports pages reach; left out, it is
	// strict: the public internet on ports 80 and 443.
	Egress json.RawMessage `json:"egress,omitempty"`
	// Popups is deny or adopt; left out, it is the worker's setting.
	Popups string `json:"popups,omitempty"`
	// DialogPolicy holds where acquire names none; left out, it is the worker's.
	DialogPolicy DialogPolicy `json:"dialog_policy,omitempty"`
}

// DecodePolicy reads a document. A field that it does not know is an error: a
// misspelt rule would be a hole.
func DecodePolicy(raw []byte) (*PolicyDocument, error) {
	if len(raw) > MaxPolicyBytes {
		return nil, fmt.Errorf("policy: %d bytes, at most %d", len(raw), MaxPolicyBytes)
	}
	var doc PolicyDocument
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("policy: there is something after the document")
	}
	switch {
	case doc.V != Version:
		return nil, fmt.Errorf("policy: v is %d, want %d", doc.V, Version)
	case !slices.Contains([]string{"", "deny", "adopt"}, doc.Popups):
		return nil, fmt.Errorf("policy: popups: %q, want deny or adopt", clip(doc.Popups, 20))
	case !slices.Contains([]DialogPolicy{"", DialogMustRespond, DialogAutoDismiss, DialogAutoAccept}, doc.DialogPolicy):
		return nil, fmt.Errorf("policy: dialog_policy: %q, want must_respond, auto_dismiss or auto_accept", clip(string(doc.DialogPolicy), 20))
	}
	return &doc, nil
}

// PolicyKey is where a policy is.
func PolicyKey(t Tenant, name string) string { return "tenant." + string(t) + ".policy." + name }

// ParsePolicyKey is its inverse.
func ParsePolicyKey(key string) (Tenant, string, error) {
	parts := strings.Split(key, ".")
	if len(parts) != 4 || parts[0] != "tenant" || parts[2] != "policy" || !ValidToken(parts[3], MaxIDLen) {
		return "", "", fmt.Errorf("%q is no key of a policy", clip(key, 200))
	}
	t, err := ParseTenant(parts[1])
	return t, parts[3], err
}
