package checkpoints

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// State is what a checkpoint carries of a browser.
type State struct {
	Cookies      []Cookie      `json:"cookies"`
	LocalStorage []StorageArea `json:"local_storage"`
	Tabs         []Tab         `json:"tabs"`
}

// StorageKey is Chromium's name of one storage partition, as
// Storage.getStorageKey gives it: "https://example.org/" for a first party,
// "https://cdn.example/^0https://example.org" for a third party's partition.
type StorageKey string

// Partitioned says that the key is a third party's (or another kind that needs
// more than a page of the origin to be reached).
func (k StorageKey) Partitioned() bool { return strings.Contains(string(k), "^") }

// StorageArea is the localStorage of one storage key.
type StorageArea struct {
	StorageKey StorageKey `json:"storage_key"`
	Origin     string     `json:"origin"` // where a page must be to reach it
	Items      []Item     `json:"items"`
}

// Item is one entry of web storage.
type Item struct {
	Key   Text `json:"k"`
	Value Text `json:"v"`
}

// bytes is the size of the area's keys and values.
func (a StorageArea) bytes() (n int) {
	for _, item := range a.Items {
		n += len(item.Key) + len(item.Value)
	}
	return n
}

// Tab is an open page.
type Tab struct {
	URL    string `json:"url"`
	Title  string `json:"title,omitempty"`
	Active bool   `json:"active,omitempty"`
}

// LastURL is where the environment was: the active tab's URL, else the first's.
func (s State) LastURL() string {
	for _, t := range s.Tabs {
		if t.Active {
			return t.URL
		}
	}
	if len(s.Tabs) > 0 {
		return s.Tabs[0].URL
	}
	return ""
}

// Digest is a SHA-256, printed as hex.
type Digest [sha256.Size]byte

// String implements fmt.Stringer.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Digest) UnmarshalText(b []byte) error {
	if n, err := hex.Decode(d[:], b[:min(len(b), 2*len(d))]); err != nil || n != len(d) || len(b) != 2*n {
		return fmt.Errorf("digest: want %d hex digits", 2*len(d))
	}
	return nil
}

// Digest is the same for two states exactly when a restore of them gives the
// same browser: order does not count, nor do titles, which pages change at will.
func (s State) Digest() Digest {
	c := s.canonical()
	for i := range c.Tabs {
		c.Tabs[i].Title = ""
	}
	return c.sum()
}

// DataDigest is Digest without the tabs: it tells a change of what a login
// lives in from a mere navigation.
func (s State) DataDigest() Digest {
	c := s.canonical()
	c.Tabs = nil
	return c.sum()
}

func (s State) sum() Digest {
	encoded, err := json.Marshal(s)
	if err != nil {
		panic("a state always encodes: " + err.Error()) // canonical saw to Expires
	}
	return sha256.Sum256(encoded)
}

// Merge returns s with area in place of the area of the same storage key. An
// area without items removes it.
func (s State) Merge(area StorageArea) State {
	kept := make([]StorageArea, 0, len(s.LocalStorage)+1)
	for _, a := range s.LocalStorage {
		if a.StorageKey != area.StorageKey {
			kept = append(kept, a)
		}
	}
	if len(area.Items) > 0 {
		kept = append(kept, area)
	}
	s.LocalStorage = kept
	return s
}

// canonical is a copy in the one order that equal states share. Tabs keep
// theirs: it is the tab strip's.
func (s State) canonical() State {
	c := State{
		Cookies:      slices.Clone(s.Cookies),
		LocalStorage: make([]StorageArea, 0, len(s.LocalStorage)),
		Tabs:         slices.Clone(s.Tabs),
	}
	for i := range c.Cookies {
		if e := c.Cookies[i].Expires; math.IsNaN(e) || math.IsInf(e, 0) { // does not encode
			c.Cookies[i].Expires = -1
		}
	}
	slices.SortFunc(c.Cookies, compareCookies)
	for _, a := range s.LocalStorage {
		if len(a.Items) == 0 {
			continue
		}
		a.Items = slices.Clone(a.Items)
		slices.SortFunc(a.Items, func(x, y Item) int { return cmp.Compare(x.Key, y.Key) })
		c.LocalStorage = append(c.LocalStorage, a)
	}
	slices.SortFunc(c.LocalStorage, func(x, y StorageArea) int { return cmp.Compare(x.StorageKey, y.StorageKey) })
	return c
}
