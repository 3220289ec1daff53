package devfleet

import (
	"net"

	"github.com/browserfleet/browserfleet/protocol"
)

func ownerKey(t protocol.Tenant, o protocol.Owner) protocol.OwnerKey {
	return protocol.OwnerKey{Tenant: t, Owner: o}
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
