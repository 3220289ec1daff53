package site

import (
	"io/fs"
	"net/http"
)

// maxBody is the largest request body in bytes; the largest real form of the
// site is under 1 KiB.
const maxBody = 16 << 10

// contentPolicy allows what the pages use and nothing inline. Chromium applies
// it to the page's own world only, so a tool's isolated world still works.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"

// guard sets the security headers, caps bodies and refuses POSTs that another
// origin's page caused.
func guard(next http.Handler) http.Handler {
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		// Not no-referrer: that makes Chromium send "Origin: null" with the
		// site's own forms.
		h.Set("Referrer-Policy", "same-origin")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(inner)
}

// staticFiles serves assets/static. Its listing of folders is closed by
// serving files by exact name only.
func staticFiles() http.Handler {
	root, err := fs.Sub(assets, "assets/static")
	if err != nil {
		panic("site: the static folder's name is invalid: " + err.Error()) // a constant, so only an edit of this file gets here
	}
	return http.StripPrefix("/static/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := fs.Stat(root, r.URL.Path); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=3600")
		http.ServeFileFS(w, r, root, r.URL.Path)
	}))
}
