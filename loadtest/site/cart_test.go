package site

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func add(id, quantity string) url.Values { return url.Values{"sku": {id}, "quantity": {quantity}} }

func TestACartIsFilledChangedAndOrdered(t *testing.T) {
	t.Parallel()
	shop, v := newShop(t)
	v.post("/cart/add", add("LI-101", "1"))
	got := v.post("/cart/add", add("LI-101", "1"))
	if got.path != "/cart" || !strings.Contains(got.body, "Cart (2)") || !strings.Contains(got.body, "$236.00") {
		t.Fatalf("after two additions: %s\n%s", got.path, got.body)
	}
	v.post("/cart/add", add("KI-105", "4"))
	v.post("/cart/update", add("LI-101", "1"))
	if c := v.cookie(cartCookie); c != "LI-101.1_KI-105.4" {
		t.Errorf("cart cookie = %q", c)
	}
	if got := v.post("/checkout", nil); got.path != "/login?next=%2Fcart" {
		t.Errorf("a stranger's order ended at %s", got.path)
	}
	v.signIn()
	got = v.post("/checkout", nil)
	if got.path != "/account" || !strings.Contains(got.body, "NL-20417") || !strings.Contains(got.body, "Fieldstone Mug × 4") {
		t.Errorf("the order is not on %s", got.path)
	}
	if v.cookie(cartCookie) != "" {
		t.Error("the cart was not emptied")
	}
	want := Stats{SignIns: 1, CartChanges: 4, Orders: 1}
	if diff := cmp.Diff(want, shop.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

func TestRemovingTheLastProductEmptiesTheCart(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	v.post("/cart/add", add("LI-101", "3"))
	got := v.post("/cart/remove", url.Values{"sku": {"LI-101"}})
	if !strings.Contains(got.body, "Your cart is empty") || v.cookie(cartCookie) != "" {
		t.Errorf("cart cookie = %q", v.cookie(cartCookie))
	}
}

func TestWhatACartRefuses(t *testing.T) {
	t.Parallel()
	shop, v := newShop(t)
	for name, c := range map[string]struct {
		form url.Values
		code int
	}{
		"unknown product": {add("XX-1", "1"), http.StatusBadRequest},
		"zero":            {add("LI-101", "0"), http.StatusBadRequest},
		"negative":        {add("LI-101", "-1"), http.StatusBadRequest},
		"too many":        {add("LI-101", "10"), http.StatusBadRequest},
		"not a number":    {add("LI-101", "many"), http.StatusBadRequest},
		"sold out":        {add("KI-112", "1"), http.StatusConflict},
	} {
		if got := v.post("/cart/add", c.form); got.code != c.code {
			t.Errorf("%s: POST /cart/add = %d, want %d", name, got.code, c.code)
		}
	}
	if got := v.post("/checkout", nil); got.code != http.StatusConflict {
		t.Errorf("an empty cart was ordered: %d", got.code)
	}
	if diff := cmp.Diff(Stats{}, shop.Stats()); diff != "" {
		t.Errorf("refused requests had effects (-want +got):\n%s", diff)
	}
}

func TestParseCartKeepsWhatIsLegal(t *testing.T) {
	t.Parallel()
	stock, err := loadCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                        "",
		"LI-101.2":                "LI-101.2",
		"LI-101.2_KI-105.1":       "LI-101.2_KI-105.1",
		"LI-101.2_LI-101.5":       "LI-101.2",
		"LI-101.99":               "LI-101.9",
		"LI-101.0_KI-105.-4":      "",
		"LI-101":                  "",
		"XX-1.1_<b>.2_KI-105.3__": "KI-105.3",
	} {
		if got := stock.parseCart(text).String(); got != want {
			t.Errorf("parseCart(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzParseCart(f *testing.F) {
	f.Add("LI-101.2_KI-105.1")
	f.Add("_._.")
	stock, err := loadCatalog()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := stock.parseCart(text)
		if len(c) > maxLines || c.count() > maxLines*maxQuantity {
			t.Errorf("parseCart(%q) has %d lines, %d pieces", text, len(c), c.count())
		}
		if again := stock.parseCart(c.String()); again.String() != c.String() {
			t.Errorf("parseCart(%q) is not stable: %q, then %q", text, c, again)
		}
	})
}
