// Package site is the bundled shop: a small, handsome, realistic web site that
// the demo, the tests and the load harness drive with real browsers, so that
// none of them needs the internet.
//
// # What it owns
//
// An http.Handler ([Site]) with all of its pages, styles, scripts and pictures
// embedded, and a [Server] that serves it with time-outs. The catalogue, the
// order history and the order of every list are fixed: the same request gives
// the same page on every machine, so a test may name a product.
//
//	GET  /                     home: categories, featured products, recently viewed
//	GET  /search?q=&page=      results, at most 8 a page
//	GET  /category/{slug}      the same list by category ("all" is everything);
//	                           ?sort=name|price-up|price-down &in_stock=1 &page=N
//	GET  /product/{sku}        specifications table, add-to-cart form
//	GET  /cart                 POST /cart/add, /cart/update, /cart/remove
//	POST /checkout             places the cart as an order; needs a session
//	GET  /login                POST /login checks the one user's password
//	GET  /account              name, orders table, what localStorage remembers
//	GET  /logout               asks; POST /logout ends the session
//	GET  /dialogs              alert, confirm, prompt, beforeunload, <dialog>
//	GET  /stores               a page whose map and form are in an iframe
//	GET  /slow?ms=N            answers after N ms, at most [MaxSlow]
//	GET  /healthz              "ok"
//
// # State, and where it lives
//
// The site is built so that each kind of browser state can be seen to survive
// or to be lost, separately:
//
//   - shop_session, an HttpOnly SameSite=Lax session cookie (no Expires), names
//     a session that lives only in this process's memory. A browser that kept
//     the cookie is still signed in; one that lost it is sent to /login. The
//     site itself never recognises a browser by anything else.
//   - shop_cart, a cookie of "SKU.quantity" pairs joined by "_", holds the
//     whole cart; the server keeps none of it.
//   - localStorage holds shop.theme, shop.signed_in_as and shop.viewed (JSON).
//     shop.signed_in_as is written by the first account page after a sign-in
//     and by no later one, so /account tells a lost localStorage (its line
//     "Browser memory" says "remembers nothing") from a kept one.
//
// A session:
//
//	(none) --POST /login, right password--> live --POST /logout--> ended
//	                                         |  12 h after sign-in--> ended
//	                                         |  oldest of 4,096-----> ended
//
// # What it never does
//
// It never opens an outgoing connection, reads a file or refers to another
// origin. It never logs a password, a token or a cookie. It never changes
// anything on GET. It is a fixture: one user, no sign-up, no rate limit on
// /login. It listens where its caller says; the demo says 127.0.0.1.
//
// # Security of the site itself
//
// Pages are html/template (contextual escaping) under a Content-Security-Policy
// without inline script or style; POSTs from another origin are refused by
// net/http's CrossOriginProtection; bodies are capped at 16 KiB; the password
// is compared in constant time over SHA-256 digests; a sign-in always makes a
// new token; the page to return to must be a path of this site.
//
// # Goroutines and locks
//
// The handler starts none. Server has one goroutine that serves, in Start, and
// Close waits for it. Site holds one mutex, in sessions, which protects
// the map and what is in it, and atomic counters for [Stats].
package site
