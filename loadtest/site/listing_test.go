package site

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func names(products []*product) (list []string) {
	for _, p := range products {
		list = append(list, p.Name)
	}
	return list
}

func TestFindPutsNamesBeforeOtherMatches(t *testing.T) {
	t.Parallel()
	stock, err := loadCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"desk lamp":   {"Keeper Desk Lamp", "Keeper Floor Lamp"},
		"  COMPASS  ": {"Pocket Compass"},
		"notebook":    {"Meridian Notebook, Dotted", "Meridian Notebook, Ruled"},
		"":            nil,
		"lamp zebra":  nil,
	} {
		if diff := cmp.Diff(want, names(stock.find(query))); diff != "" {
			t.Errorf("find(%q) (-want +got):\n%s", query, diff)
		}
	}
}

func TestArrangeSortsACopy(t *testing.T) {
	t.Parallel()
	a, b, c := &product{Name: "B", Price: 3}, &product{Name: "A", Price: 9, Stock: 1}, &product{Name: "C", Price: 1, Stock: 2}
	list := []*product{a, b, c}
	for _, tc := range []struct {
		by      order
		inStock bool
		want    []string
	}{
		{asShelved, false, []string{"B", "A", "C"}},
		{byName, false, []string{"A", "B", "C"}},
		{priceUp, false, []string{"C", "B", "A"}},
		{priceDown, false, []string{"A", "B", "C"}},
		{priceUp, true, []string{"C", "A"}},
		{order("other"), true, []string{"A", "C"}},
	} {
		if diff := cmp.Diff(tc.want, names(arrange(list, tc.by, tc.inStock))); diff != "" {
			t.Errorf("arrange(%q, %v) (-want +got):\n%s", tc.by, tc.inStock, diff)
		}
	}
	if diff := cmp.Diff([]string{"B", "A", "C"}, names(list)); diff != "" {
		t.Errorf("arrange changed its argument:\n%s", diff)
	}
}

func TestPaginateKeepsKnownParametersOnly(t *testing.T) {
	t.Parallel()
	l := paginate(make([]*product, 17), "/search", url.Values{"q": {"a&b"}, "page": {"2"}, "evil": {"x"}})
	if l.Pages != 3 || l.First != 9 || l.Last != 16 || len(l.Products) != 8 {
		t.Errorf("page 2 of 17: %+v", l)
	}
	if l.Prev != "/search?q=a%26b" || l.Next != "/search?page=3&q=a%26b" {
		t.Errorf("prev %q, next %q", l.Prev, l.Next)
	}
	if empty := paginate(nil, "/search", nil); empty.Pages != 1 || empty.Prev != "" || empty.Next != "" {
		t.Errorf("an empty list: %+v", empty)
	}
}

func TestTheCatalogueIsWholeAndNamesAreUnique(t *testing.T) {
	t.Parallel()
	stock, err := loadCatalog()
	if err != nil {
		t.Fatal(err)
	}
	if len(stock.products) != 70 || len(stock.bySKU) != 70 {
		t.Errorf("%d products, %d article numbers, want 70", len(stock.products), len(stock.bySKU))
	}
	seen := map[string]bool{}
	for _, p := range stock.products {
		if seen[p.Name] {
			t.Errorf("the name %q is there twice: a link's name would be ambiguous", p.Name)
		}
		seen[p.Name] = true
	}
}

func TestParseCatalogNamesTheBadLine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"kitchen | too few", "attic|a|1|b|c|d|1|e|1", "kitchen|a|x|b|c|d|1|e|1"} {
		if _, err := parseCatalog([]byte("# a comment\n\n" + text)); err == nil {
			t.Errorf("parseCatalog(%q) = nil error", text)
		}
	}
}
