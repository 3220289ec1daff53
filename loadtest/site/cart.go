package site

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	cartCookie = "shop_cart"
	// cartLife makes the cart a persistent cookie, the kind that the session
	// cookie is not.
	cartLife = 30 * 24 * time.Hour
	// maxQuantity is the most of one product in a cart; maxLines the most products.
	maxQuantity = 9
	maxLines    = 30
)

// cartItem is a product and how many of it, 1 to maxQuantity.
type cartItem struct {
	sku      sku
	quantity int
}

// cart is in the order in which products were first added.
type cart []cartItem

type cartLine struct {
	Product  *product
	Quantity int
	Subtotal cents
}

// parseCart reads the cookie. It comes from outside: what is not a known
// product in a legal quantity is dropped, and nothing is an error.
func (c *catalog) parseCart(text string) cart {
	var items cart
	// A SKU has one "-" of its own, so pairs are joined by "_".
	for pair := range strings.SplitSeq(text, "_") {
		id, count, _ := strings.Cut(pair, ".")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || c.bySKU[sku(id)] == nil || items.index(sku(id)) >= 0 {
			continue
		}
		if len(items) == maxLines {
			break
		}
		items = append(items, cartItem{sku(id), min(n, maxQuantity)})
	}
	return items
}

// String is the form that parseCart reads.
func (c cart) String() string {
	pairs := make([]string, len(c))
	for i, item := range c {
		pairs[i] = string(item.sku) + "." + strconv.Itoa(item.quantity)
	}
	return strings.Join(pairs, "_")
}

func (c cart) index(id sku) int {
	return slices.IndexFunc(c, func(item cartItem) bool { return item.sku == id })
}

// count is the number of pieces, as the header shows it.
func (c cart) count() int {
	n := 0
	for _, item := range c {
		n += item.quantity
	}
	return n
}

// set returns the cart with exactly n of a product; 0 removes it.
func (c cart) set(id sku, n int) cart {
	i := c.index(id)
	n = min(n, maxQuantity)
	switch {
	case i >= 0 && n <= 0:
		return slices.Delete(slices.Clone(c), i, i+1)
	case i >= 0:
		changed := slices.Clone(c)
		changed[i].quantity = n
		return changed
	case n > 0 && len(c) < maxLines:
		return append(slices.Clone(c), cartItem{id, n})
	}
	return c
}

func (c cart) quantity(id sku) int {
	if i := c.index(id); i >= 0 {
		return c[i].quantity
	}
	return 0
}

func (c *catalog) lines(items cart) (lines []cartLine, total cents) {
	for _, item := range items {
		p := c.bySKU[item.sku]
		sub := p.Price * cents(item.quantity)
		lines = append(lines, cartLine{p, item.quantity, sub})
		total += sub
	}
	return lines, total
}

func (s *Site) cartOf(r *http.Request) cart {
	c, err := r.Cookie(cartCookie)
	if err != nil {
		return nil
	}
	return s.catalog.parseCart(c.Value)
}

func setCart(w http.ResponseWriter, r *http.Request, items cart) {
	c := &http.Cookie{
		Name: cartCookie, Value: items.String(), Path: "/", MaxAge: int(cartLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
	}
	if len(items) == 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
