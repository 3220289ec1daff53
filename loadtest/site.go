package loadtest

import (
	"math/rand/v2"
	"net/url"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// simulatedURL is where simulated browsers are.
const simulatedURL = "http://simulated.invalid"

// slowMS is how long the slow page takes, in milliseconds.
const slowMS = "40"

// site knows its way around the pages.
type site struct {
	base string // without a slash at its end
	// pages to begin at, and what links lead to; empty: all.
	pages, shelves []string
}

func newSite(base string) site {
	if base == "" {
		return site{base: simulatedURL, pages: []string{"/", "/1", "/2"}}
	}
	return site{
		base:  strings.TrimRight(base, "/"),
		pages: []string{"/", "/category/all", "/search?q=lamp", "/search?q=notebook"},
		// Not the others: they sign out, or open dialogs, which is another test.
		shelves: []string{"/product/", "/category/", "/search"},
	}
}

func (s site) page(r *rand.Rand) string { return s.base + s.pages[r.IntN(len(s.pages))] }

func (s site) slow() string { return s.base + "/slow?ms=" + slowMS }

var words = []string{"lamp", "notebook", "kettle", "chair", "tent", "mug"}

func (s site) word(r *rand.Rand) string { return words[r.IntN(len(words))] }

// searchField is the first field that takes a search.
func (s site) searchField(o *protocol.Observation) protocol.Ref {
	for _, e := range o.Elements {
		if e.Role == "searchbox" || (e.Role == "textbox" && e.InputType == "search") {
			return e.Ref
		}
	}
	return ""
}

// link is one of the links that lead to a shelf.
func (s site) link(o *protocol.Observation, r *rand.Rand) protocol.Ref {
	var refs []protocol.Ref
	for _, e := range o.Elements {
		if e.Role == "link" && s.leadsOn(o.URL, e.Href) {
			refs = append(refs, e.Ref)
		}
	}
	if len(refs) == 0 {
		return ""
	}
	return refs[r.IntN(len(refs))]
}

// leadsOn reports whether a link, as the page wrote it or resolved, stays on the
// site's shelves.
func (s site) leadsOn(page, href string) bool {
	from, err := url.Parse(page)
	if err != nil {
		return false
	}
	to, err := from.Parse(href)
	if err != nil || !strings.HasPrefix(to.String(), s.base+"/") {
		return false
	}
	for _, shelf := range s.shelves {
		if strings.HasPrefix(to.Path, shelf) {
			return true
		}
	}
	return len(s.shelves) == 0
}
