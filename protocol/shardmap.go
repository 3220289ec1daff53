package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MaxShards bounds the number of shards: each is four streams, and with three
// replicas four raft groups.
const MaxShards = 256

// ShardMap says how many shards there are, and which tenants have one of their
// own: they share neither depth nor bytes of a stream with others. The shards
// that the other tenants share come first, then those that have an owner, so
// that nats-server's partition(), which counts from 0, names the shared ones.
//
// A tenant has one shard of its own or none: partition() has no offset, so no
// mapping could spread a tenant over shards in the middle. What is too big for one
// shard is two tenants.
//
// Its text is the number of shards, and then TENANT=SHARD for each that has one:
// "4", "6,acme=4,zed=5". Settings, the streams' metadata and messages have that.
type ShardMap struct {
	Total     int
	Dedicated map[Tenant]Shard
}

// Shards are n shards that all tenants share.
func Shards(n int) ShardMap { return ShardMap{Total: n} }

// Shared is how many shards the tenants without one of their own share.
func (m ShardMap) Shared() int { return m.Total - len(m.Dedicated) }

// Of is the shard of an owner.
func (m ShardMap) Of(k OwnerKey) Shard {
	if s, ok := m.Dedicated[k.Tenant]; ok {
		return s
	}
	return ShardOf(k.Owner, m.Shared())
}

// Check says what is wrong.
func (m ShardMap) Check() error {
	var wrong []error
	if m.Total < 1 || m.Total > MaxShards {
		wrong = append(wrong, fmt.Errorf("%d shards: want 1 to %d", m.Total, MaxShards))
	} else if m.Shared() < 1 {
		wrong = append(wrong, fmt.Errorf("%d shards, %d of them of one tenant: want at least one that the others share", m.Total, len(m.Dedicated)))
	}
	taken := map[Shard]Tenant{}
	for _, t := range m.tenants() {
		s := m.Dedicated[t]
		if _, err := ParseTenant(string(t)); err != nil {
			wrong = append(wrong, err)
		}
		if int(s) < m.Shared() || int(s) >= m.Total {
			wrong = append(wrong, fmt.Errorf("shard %s of tenant %s: want %d to %d, the numbers after the shared shards", s, t, m.Shared(), m.Total-1))
		}
		if other, ok := taken[s]; ok {
			wrong = append(wrong, fmt.Errorf("shard %s is that of two tenants, %s and %s", s, other, t))
		}
		taken[s] = t
	}
	return errors.Join(wrong...)
}

// tenants are those with a shard of their own, sorted.
func (m ShardMap) tenants() []Tenant { return slices.Sorted(maps.Keys(m.Dedicated)) }

// Grown are the tenants to which m gives shards of their own beyond those of old;
// the error says why m would send owners of old elsewhere. A grown tenant must
// have no owner yet.
func (m ShardMap) Grown(old ShardMap) ([]Tenant, error) {
	if m.Shared() != old.Shared() {
		return nil, fmt.Errorf("%d shared shards are not %d", m.Shared(), old.Shared())
	}
	for t, s := range old.Dedicated {
		if now, ok := m.Dedicated[t]; !ok || now != s {
			return nil, fmt.Errorf("tenant %s has shard %s of its own", t, s)
		}
	}
	var grown []Tenant
	for _, t := range m.tenants() {
		if _, ok := old.Dedicated[t]; !ok {
			grown = append(grown, t)
		}
	}
	return grown, nil
}

// String is its text.
func (m ShardMap) String() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(m.Total))
	for _, t := range m.tenants() {
		fmt.Fprintf(&b, ",%s=%s", t, m.Dedicated[t])
	}
	return b.String()
}

// ParseShards reads the text of a map, and checks it.
func ParseShards(text string) (ShardMap, error) {
	m, err := readShards(text)
	if err != nil {
		return ShardMap{}, err
	}
	return m, m.Check()
}

func readShards(text string) (ShardMap, error) {
	parts := strings.Split(text, ",")
	total, err := strconv.Atoi(strings.TrimSpace(parts[0]))
	if err != nil {
		return ShardMap{}, fmt.Errorf("shards %q: want a number, then TENANT=SHARD for each tenant with a shard of its own", clip(text, 80))
	}
	m := ShardMap{Total: total}
	for _, part := range parts[1:] {
		tenant, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return ShardMap{}, fmt.Errorf("shards %q: want TENANT=SHARD after the number, not %q", clip(text, 80), clip(part, 80))
		}
		if _, twice := m.Dedicated[Tenant(tenant)]; twice {
			return ShardMap{}, fmt.Errorf("shards %q: tenant %s is there twice", clip(text, 80), clip(tenant, 80))
		}
		if m.Dedicated == nil {
			m.Dedicated = map[Tenant]Shard{}
		}
		m.Dedicated[Tenant(tenant)] = Shard(n)
	}
	return m, nil
}

// MarshalText writes it.
func (m ShardMap) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads it. Whether the map makes sense is left to Check: a service's
// configuration is reported with all of its faults at once.
func (m *ShardMap) UnmarshalText(text []byte) (err error) {
	*m, err = readShards(string(text))
	return err
}

// ProbeTenant is no tenant: the server maps it as it maps the tenants that share
// shards, so that a service can ask where the server would store something.
const ProbeTenant Tenant = "_probe"

// ProbeSubject is where such a question goes. It is never stored: it names a
// stream that there is not, and the stream that refuses it says its own name.
func ProbeSubject(k OwnerKey) string {
	return "bf.in." + string(k.Tenant) + "." + string(k.Owner) + "." + string(LaneQueue)
}
