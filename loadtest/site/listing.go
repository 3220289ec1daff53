package site

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// pageSize is how many products a list shows at once: two rows of four.
const pageSize = 8

// maxQuery is how much of a search is used, in bytes.
const maxQuery = 200

// find returns the products that contain every word of the query, those with
// more of the words in their name first, then by name.
func (c *catalog) find(query string) []*product {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	var found []*product
	for _, p := range c.products {
		if containsAll(p.words, words) {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *product) int {
		return cmp.Or(cmp.Compare(inName(b, words), inName(a, words)), cmp.Compare(a.Name, b.Name))
	})
	return found
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func inName(p *product, words []string) int {
	n, name := 0, strings.ToLower(p.Name)
	for _, w := range words {
		if strings.Contains(name, w) {
			n++
		}
	}
	return n
}

// order is how a list is sorted; its values are those of the "Sort by" control.
type order string

const (
	asShelved order = ""
	byName    order = "name"
	priceUp   order = "price-up"
	priceDown order = "price-down"
)

// arrange returns a sorted, filtered copy; an unknown order means as shelved.
func arrange(products []*product, by order, inStock bool) []*product {
	list := slices.Clone(products)
	if inStock {
		list = slices.DeleteFunc(list, func(p *product) bool { return p.Stock == 0 })
	}
	switch by {
	case byName:
		slices.SortStableFunc(list, func(a, b *product) int { return cmp.Compare(a.Name, b.Name) })
	case priceUp:
		slices.SortStableFunc(list, func(a, b *product) int { return cmp.Compare(a.Price, b.Price) })
	case priceDown:
		slices.SortStableFunc(list, func(a, b *product) int { return cmp.Compare(b.Price, a.Price) })
	case asShelved:
	}
	return list
}

// listing is one page of a list with its pagination.
type listing struct {
	Products    []*product
	Total       int
	First, Last int // of the shown products, from 1
	Page, Pages int
	Links       []pageLink
	Prev, Next  string // empty at the ends
}

type pageLink struct {
	Number  int
	URL     string
	Current bool
}

// paginate cuts out the page that params asks for, clamped to those there are.
func paginate(products []*product, path string, params url.Values) listing {
	pages := max(1, (len(products)+pageSize-1)/pageSize)
	asked, err := strconv.Atoi(params.Get("page"))
	if err != nil {
		asked = 1
	}
	page := min(max(1, asked), pages)
	from := (page - 1) * pageSize
	to := min(from+pageSize, len(products))

	l := listing{
		Products: products[from:to], Total: len(products),
		First: from + 1, Last: to, Page: page, Pages: pages,
	}
	for n := 1; n <= pages; n++ {
		l.Links = append(l.Links, pageLink{Number: n, URL: pageURL(path, params, n), Current: n == page})
	}
	if page > 1 {
		l.Prev = l.Links[page-2].URL
	}
	if page < pages {
		l.Next = l.Links[page].URL
	}
	return l
}

// pageURL keeps the known parameters only, so that a link never carries
// something that a visitor was made to bring along.
func pageURL(path string, params url.Values, page int) string {
	kept := url.Values{}
	for _, name := range []string{"q", "sort", "in_stock"} {
		if v := params.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	if page > 1 {
		kept.Set("page", strconv.Itoa(page))
	}
	if len(kept) == 0 {
		return path
	}
	return path + "?" + kept.Encode()
}
