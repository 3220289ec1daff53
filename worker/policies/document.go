package policies

import (
	"encoding/json"
	"net/netip"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/protocol"
)

// Compile reads a document, naming the field that is wrong. A document without
// egress has the strict policy.
func Compile(raw []byte, fleet []netip.AddrPort) (*Effective, error) {
	doc, err := protocol.DecodePolicy(raw)
	if err != nil {
		return nil, err
	}
	var egress egressproxy.Policy
	if len(doc.Egress) > 0 {
		if err := json.Unmarshal(doc.Egress, &egress); err != nil {
			return nil, err
		}
	}
	compiled, err := egressproxy.Compile(egress, fleet)
	if err != nil {
		return nil, err
	}
	return &Effective{Egress: compiled, Popups: doc.Popups, Dialogs: doc.DialogPolicy}, nil
}
