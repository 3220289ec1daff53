package egressproxy

import (
	"net/netip"
	"strings"
)

// metadataAddrs are the addresses at which clouds hand out instance metadata and
// credentials. They are denied in every mode; no entry of a policy lifts them.
var metadataAddrs = addrSet(
	"169.254.169.254",   // AWS, Azure, Google, Oracle, OpenStack, DigitalOcean, Hetzner and others
	"fd00:ec2::254",     // AWS, IPv6
	"169.254.170.2",     // AWS ECS task credentials
	"169.254.170.23",    // AWS EKS pod identity
	"fd00:ec2::23",      // AWS EKS pod identity, IPv6
	"fd20:ce::254",      // Google, IPv6
	"168.63.129.16",     // Azure host channel; a public unicast address
	"100.100.100.200",   // Alibaba
	"192.0.0.192",       // Oracle classic
	"169.254.0.23",      // Tencent
	"169.254.42.42",     // Scaleway
	"fd00:42::42",       // Scaleway, IPv6
	"fd00:a9fe:a9fe::1", // Akamai (Linode), IPv6
)

// metadataNames are the names of the same services. A name is denied whatever it
// resolves to: a resolver inside the cloud may answer with an address of its own.
var metadataNames = []string{
	"metadata",
	"metadata.google.internal",
	"metadata.goog",
	"metadata.azure.internal",
	"metadata.tencentyun.com",
	"metadata.packet.net",
	"metadata.platformequinix.com",
	"instance-data",
	"instance-data.ec2.internal",
}

func addrSet(texts ...string) map[netip.Addr]struct{} {
	set := make(map[netip.Addr]struct{}, len(texts))
	for _, text := range texts {
		set[netip.MustParseAddr(text)] = struct{}{}
	}
	return set
}

func isMetadataAddr(addr netip.Addr) bool {
	_, found := metadataAddrs[addr]
	return found
}

// isMetadataName matches the names and everything below those of several labels.
func isMetadataName(name string) bool {
	for _, known := range metadataNames {
		below, ok := strings.CutSuffix(name, known)
		if ok && (below == "" || strings.HasSuffix(below, ".") && strings.Contains(known, ".")) {
			return true
		}
	}
	return false
}
