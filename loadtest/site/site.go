package site

import (
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

//go:embed assets
var assets embed.FS

// Options says who can sign in. Both fields are required: a site with a
// default password would be signed into by whoever read this file.
type Options struct {
	Username string
	Password string
}

// Site is the shop as an http.Handler. It is safe for concurrent use.
type Site struct {
	username string
	// password is a digest, so that the comparison takes the same time for
	// every length and the plain text does not stay in memory here.
	password [sha256.Size]byte

	catalog  *catalog
	pages    *pageSet
	art      *artSet
	sessions *sessions
	counts   counters
	handler  http.Handler
}

// Stats counts effects since New, so that a checker can tell an action that
// was done twice from one that was done once.
type Stats struct {
	SignIns     int64 // right passwords
	CartChanges int64 // accepted POSTs to /cart/...
	Orders      int64 // accepted POSTs to /checkout
}

type counters struct{ signIns, cartChanges, orders atomic.Int64 }

// New builds the site. An error means bad options or broken embedded assets.
func New(opts Options) (*Site, error) {
	if opts.Username == "" || opts.Password == "" {
		return nil, errors.New("site: a username and a password are required")
	}
	stock, err := loadCatalog()
	if err != nil {
		return nil, fmt.Errorf("site: load the catalogue: %w", err)
	}
	pages, err := loadPages()
	if err != nil {
		return nil, fmt.Errorf("site: load the pages: %w", err)
	}
	art, err := loadArt(stock)
	if err != nil {
		return nil, fmt.Errorf("site: draw the pictures: %w", err)
	}
	s := &Site{
		username: opts.Username,
		password: sha256.Sum256([]byte(opts.Password)),
		catalog:  stock,
		pages:    pages,
		art:      art,
		sessions: newSessions(),
	}
	s.handler = guard(s.routes())
	return s, nil
}

// ServeHTTP serves one request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Stats returns the effects counted so far.
func (s *Site) Stats() Stats {
	return Stats{
		SignIns:     s.counts.signIns.Load(),
		CartChanges: s.counts.cartChanges.Load(),
		Orders:      s.counts.orders.Load(),
	}
}

func (s *Site) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /search", s.search)
	mux.HandleFunc("GET /category/{slug}", s.category)
	mux.HandleFunc("GET /product/{sku}", s.product)
	mux.HandleFunc("GET /art/{sku}", s.picture)

	mux.HandleFunc("GET /cart", s.showCart)
	mux.HandleFunc("POST /cart/add", s.addToCart)
	mux.HandleFunc("POST /cart/update", s.updateCart)
	mux.HandleFunc("POST /cart/remove", s.removeFromCart)
	mux.HandleFunc("POST /checkout", s.checkout)

	mux.HandleFunc("GET /login", s.showLogin)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /account", s.account)
	mux.HandleFunc("GET /logout", s.showLogout)
	mux.HandleFunc("POST /logout", s.logout)

	mux.HandleFunc("GET /dialogs", s.plain("dialogs", "Gift desk"))
	mux.HandleFunc("GET /stores", s.plain("stores", "Our stores"))
	mux.HandleFunc("GET /stores/map", s.storeMap)
	mux.HandleFunc("GET /slow", s.slow)
	mux.HandleFunc("GET /healthz", healthz)
	mux.Handle("GET /static/", staticFiles())
	mux.HandleFunc("/", s.notFound)
	return mux
}

// passwordIsRight compares both parts always, so that the time taken tells
// neither a right name nor a right beginning.
func (s *Site) passwordIsRight(username, password string) bool {
	gotName, wantName := sha256.Sum256([]byte(username)), sha256.Sum256([]byte(s.username))
	gotPass := sha256.Sum256([]byte(password))
	name := subtle.ConstantTimeCompare(gotName[:], wantName[:])
	pass := subtle.ConstantTimeCompare(gotPass[:], s.password[:])
	return name&pass == 1
}
