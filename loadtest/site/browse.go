package site

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

type homeBody struct {
	Featured []*product
}

// featured are the home page's four, one from a shelf.
var featured = []sku{"LI-101", "KI-105", "OU-101", "DE-101"}

func (s *Site) home(w http.ResponseWriter, r *http.Request) {
	var body homeBody
	for _, id := range featured {
		body.Featured = append(body.Featured, s.catalog.bySKU[id])
	}
	s.render(w, r, http.StatusOK, "home", "Useful things, made well", body)
}

type searchBody struct {
	listing
	Query string
}

func (s *Site) search(w http.ResponseWriter, r *http.Request) {
	params := r.URL.Query()
	query := params.Get("q")
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	params.Set("q", query)
	body := searchBody{paginate(s.catalog.find(query), "/search", params), query}
	s.render(w, r, http.StatusOK, "search", "Search", body)
}

type categoryBody struct {
	listing
	Category *category
	Sort     order
	InStock  bool
	Orders   []sortChoice
}

type sortChoice struct {
	Value order
	Label string
}

var sortChoices = []sortChoice{
	{asShelved, "Our choice"},
	{byName, "Name"},
	{priceUp, "Price, lowest first"},
	{priceDown, "Price, highest first"},
}

func (s *Site) category(w http.ResponseWriter, r *http.Request) {
	shelf := s.catalog.bySlug[r.PathValue("slug")]
	if shelf == nil {
		s.notFound(w, r)
		return
	}
	params := r.URL.Query()
	by, inStock := order(params.Get("sort")), params.Get("in_stock") == "1"
	body := categoryBody{
		listing:  paginate(arrange(shelf.Products, by, inStock), "/category/"+url.PathEscape(shelf.Slug), params),
		Category: shelf,
		Sort:     by,
		InStock:  inStock,
		Orders:   sortChoices,
	}
	s.render(w, r, http.StatusOK, "category", shelf.Name, body)
}

type productBody struct {
	*product
	Related    []*product
	Quantities []int
}

func (s *Site) product(w http.ResponseWriter, r *http.Request) {
	p := s.catalog.bySKU[sku(r.PathValue("sku"))]
	if p == nil {
		s.notFound(w, r)
		return
	}
	body := productBody{product: p, Related: related(p)}
	for n := 1; n <= maxQuantity; n++ {
		body.Quantities = append(body.Quantities, n)
	}
	s.render(w, r, http.StatusOK, "product", p.Name, body)
}

// related are the next four on the same shelf, around its end to its start.
func related(p *product) []*product {
	shelf := p.Category.Products
	var list []*product
	for i, other := range shelf {
		if other == p {
			for n := 1; n <= 4 && n < len(shelf); n++ {
				list = append(list, shelf[(i+n)%len(shelf)])
			}
		}
	}
	return list
}

func (s *Site) notFound(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, http.StatusNotFound, "There is nothing at this address.")
}

// fail shows an error as a page. The text is the site's own or escaped.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, code int, text string) {
	s.render(w, r, code, "error", fmt.Sprintf("%d %s", code, http.StatusText(code)), text)
}

// parseForm reads a POST's form, or answers and returns false.
func (s *Site) parseForm(w http.ResponseWriter, r *http.Request) bool {
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, http.StatusBadRequest, "The form could not be read.")
		return false
	}
	return true
}
