package site

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

type loginBody struct {
	Username string
	Next     string
	Failed   bool
}

func (s *Site) showLogin(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.URL.Query().Get("next"))
	if s.sessions.user(tokenOf(r)) != "" {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	s.render(w, r, http.StatusOK, "login", "Sign in", loginBody{Next: next})
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	if !s.parseForm(w, r) {
		return
	}
	username, next := r.PostForm.Get("username"), localPath(r.PostForm.Get("next"))
	if !s.passwordIsRight(username, r.PostForm.Get("password")) {
		// Not 401: that promises a WWW-Authenticate header, which would open
		// the browser's own prompt.
		s.render(w, r, http.StatusForbidden, "login", "Sign in", loginBody{username, next, true})
		return
	}
	// The old token ends here: nobody keeps a session by planting its cookie first.
	s.sessions.end(tokenOf(r))
	setSession(w, r, s.sessions.begin(s.username))
	s.counts.signIns.Add(1)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

type accountBody struct {
	Username string
	// Fresh is true on the first account page of a session only; the script
	// writes localStorage then and at no other time.
	Fresh  bool
	Orders []placedOrder
	Spent  cents
}

func (s *Site) account(w http.ResponseWriter, r *http.Request) {
	var body accountBody
	signedIn := s.sessions.with(tokenOf(r), func(live *session) {
		body.Username, body.Fresh = live.username, live.fresh
		if r.Method == http.MethodGet { // the mux sends HEAD here too, and HEAD shows nothing
			live.fresh = false
		}
		body.Orders = slices.Clone(live.placed)
	})
	if !signedIn {
		http.Redirect(w, r, "/login?next=%2Faccount", http.StatusSeeOther)
		return
	}
	slices.Reverse(body.Orders) // newest first, like the history
	body.Orders = append(body.Orders, history()...)
	for _, o := range body.Orders {
		body.Spent += o.Total
	}
	s.render(w, r, http.StatusOK, "account", "Your account", body)
}

// showLogout only asks, because a GET changes nothing.
func (s *Site) showLogout(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "logout", "Sign out", false)
}

func (s *Site) logout(w http.ResponseWriter, r *http.Request) {
	s.sessions.end(tokenOf(r))
	clearSession(w, r)
	// The script of the page that this answers with forgets the name.
	s.render(w, r, http.StatusOK, "logout", "Signed out", true)
}

// localPath returns a path of this site to go to next, /account by default.
// A browser reads "//host" and "/\host" as another host, and drops tabs and
// newlines before it looks.
func localPath(next string) string {
	const fallback = "/account"
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return fallback
	}
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") {
		return fallback
	}
	return next
}
