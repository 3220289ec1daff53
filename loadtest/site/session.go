package site

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"
)

const (
	sessionCookie = "shop_session"
	// sessionLife is how long a sign-in lasts, whatever is done with it.
	sessionLife = 12 * time.Hour
	// maxSessions bounds memory: a session is about 300 bytes.
	maxSessions = 4096
	// maxPlaced bounds the orders that one session can add to its history.
	maxPlaced = 50
)

// token is the secret that a browser's cookie carries.
type token string

type session struct {
	username string
	began    time.Time
	fresh    bool // no account page was shown yet
	placed   []placedOrder
}

// sessions lives in memory only: a restart of the site signs everybody out.
type sessions struct {
	mu   sync.Mutex
	live map[token]*session // mu protects the map and the sessions in it
}

func newSessions() *sessions { return &sessions{live: map[token]*session{}} }

// begin makes a session with a token of at least 128 random bits.
func (s *sessions) begin(username string) token {
	t := token(rand.Text())
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.live) >= maxSessions {
		s.dropOldest()
	}
	s.live[t] = &session{username: username, began: time.Now(), fresh: true}
	return t
}

// user returns who a token belongs to, or "" when it is unknown or expired.
func (s *sessions) user(t token) string {
	name := ""
	s.with(t, func(live *session) { name = live.username })
	return name
}

// with runs f on a live session under the lock and tells whether there was one.
func (s *sessions) with(t token, f func(*session)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live[t]
	if live == nil {
		return false
	}
	if time.Since(live.began) >= sessionLife {
		delete(s.live, t)
		return false
	}
	f(live)
	return true
}

func (s *sessions) end(t token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, t)
}

func (s *sessions) dropOldest() {
	var oldest token
	for t, live := range s.live {
		if oldest == "" || live.began.Before(s.live[oldest].began) {
			oldest = t
		}
	}
	delete(s.live, oldest)
}

func tokenOf(r *http.Request) token {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	return token(c.Value)
}

// setSession has no Expires: the cookie ends with the browser, unless a
// checkpoint carries it over.
func setSession(w http.ResponseWriter, r *http.Request, t token) {
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: string(t), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
	})
}

func clearSession(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Path: "/", MaxAge: -1,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
	})
}
