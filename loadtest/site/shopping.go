package site

import (
	"net/http"
	"strconv"
)

type cartBody struct {
	Lines []cartLine
	Total cents
}

func (s *Site) showCart(w http.ResponseWriter, r *http.Request) {
	lines, total := s.catalog.lines(s.cartOf(r))
	s.render(w, r, http.StatusOK, "cart", "Your cart", cartBody{lines, total})
}

// addToCart adds to what is there: sent twice, it shows twice, which is what
// makes a doubled action visible.
func (s *Site) addToCart(w http.ResponseWriter, r *http.Request) {
	s.changeCart(w, r, func(c cart, id sku, n int) cart { return c.set(id, c.quantity(id)+n) })
}

func (s *Site) updateCart(w http.ResponseWriter, r *http.Request) {
	s.changeCart(w, r, func(c cart, id sku, n int) cart { return c.set(id, n) })
}

func (s *Site) removeFromCart(w http.ResponseWriter, r *http.Request) {
	s.changeCart(w, r, func(c cart, id sku, _ int) cart { return c.set(id, 0) })
}

func (s *Site) changeCart(w http.ResponseWriter, r *http.Request, change func(cart, sku, int) cart) {
	if !s.parseForm(w, r) {
		return
	}
	p := s.catalog.bySKU[sku(r.PostForm.Get("sku"))]
	n, err := strconv.Atoi(r.PostForm.Get("quantity"))
	if r.PostForm.Get("quantity") == "" {
		n, err = 1, nil
	}
	if p == nil || err != nil || n < 1 || n > maxQuantity {
		s.fail(w, r, http.StatusBadRequest, "That is not a product and a quantity from 1 to 9.")
		return
	}
	items := change(s.cartOf(r), p.SKU, n)
	if p.Stock == 0 && items.quantity(p.SKU) > 0 {
		s.fail(w, r, http.StatusConflict, p.Name+" is sold out.")
		return
	}
	setCart(w, r, items)
	s.counts.cartChanges.Add(1)
	http.Redirect(w, r, "/cart", http.StatusSeeOther)
}

// checkout needs a session, because the order is shown on the account page.
func (s *Site) checkout(w http.ResponseWriter, r *http.Request) {
	lines, _ := s.catalog.lines(s.cartOf(r))
	if len(lines) == 0 {
		s.fail(w, r, http.StatusConflict, "Your cart is empty.")
		return
	}
	full := false
	signedIn := s.sessions.with(tokenOf(r), func(live *session) {
		if full = len(live.placed) >= maxPlaced; full {
			return
		}
		live.placed = append(live.placed, newOrder(len(live.placed), lines))
	})
	switch {
	case !signedIn:
		http.Redirect(w, r, "/login?next=%2Fcart", http.StatusSeeOther)
	case full:
		s.fail(w, r, http.StatusConflict, "This session has placed as many orders as it can.")
	default:
		s.counts.orders.Add(1)
		setCart(w, r, nil)
		http.Redirect(w, r, "/account", http.StatusSeeOther)
	}
}
