package site

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccountSendsAStrangerToTheLoginPageAndBack(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	if got := v.get("/account"); got.path != "/login?next=%2Faccount" {
		t.Fatalf("/account ended at %s", got.path)
	}
	got := v.signIn()
	if got.path != "/account" || !strings.Contains(got.body, "Hello, "+testUser) {
		t.Fatalf("after sign-in: %s\n%s", got.path, got.body)
	}
	if rows := strings.Count(got.body, `<th scope="row">NL-`); rows != 6 {
		t.Errorf("%d orders, want 6", rows)
	}
	if heads := strings.Count(got.body, `<th scope="col"`); heads != 5 {
		t.Errorf("%d header cells, want 5", heads)
	}
}

func TestAWrongPasswordIsRefusedWithoutEcho(t *testing.T) {
	t.Parallel()
	shop, v := newShop(t)
	for name, form := range map[string]url.Values{
		"wrong password": {"username": {testUser}, "password": {"secret-guess"}},
		"prefix":         {"username": {testUser}, "password": {testPassword[:5]}},
		"wrong name":     {"username": {"eve"}, "password": {testPassword}},
		"nothing":        {},
	} {
		got := v.post("/login", form)
		if got.code != http.StatusForbidden || !strings.Contains(got.body, "not right") {
			t.Errorf("%s: POST /login = %d", name, got.code)
		}
		if strings.Contains(got.body, "secret-guess") || v.cookie(sessionCookie) != "" {
			t.Errorf("%s: the password was echoed or a session was given", name)
		}
	}
	if n := shop.Stats().SignIns; n != 0 {
		t.Errorf("%d sign-ins, want 0", n)
	}
}

func TestTheSessionCookieIsHttpOnlyLaxAndHasNoExpiry(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := v.signIn()
	line := got.header.Get("Set-Cookie")
	if got.code != http.StatusSeeOther || !strings.Contains(line, "HttpOnly") || !strings.Contains(line, "SameSite=Lax") {
		t.Errorf("POST /login = %d with Set-Cookie %q", got.code, line)
	}
	if strings.Contains(line, "Expires") || strings.Contains(line, "Max-Age") {
		t.Errorf("Set-Cookie %q outlives the browser", line)
	}
}

func TestTheCookieAloneCarriesTheSessionToAnotherBrowser(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	v.signIn()
	moved := newVisitor(t, v.base)
	u, _ := url.Parse(v.base)
	moved.client.Jar.SetCookies(u, []*http.Cookie{{Name: sessionCookie, Value: v.cookie(sessionCookie)}})
	got := moved.get("/account")
	if got.path != "/account" || !strings.Contains(got.body, "Hello, "+testUser) {
		t.Errorf("with the cookie alone /account ended at %s", got.path)
	}
}

func TestASessionOfAnotherServerIsUnknown(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	v.signIn()
	_, restarted := newShop(t)
	u, _ := url.Parse(restarted.base)
	restarted.client.Jar.SetCookies(u, []*http.Cookie{{Name: sessionCookie, Value: v.cookie(sessionCookie)}})
	if got := restarted.get("/account"); !strings.HasPrefix(got.path, "/login") {
		t.Errorf("/account ended at %s, want /login", got.path)
	}
}

// A lost localStorage shows only if later account pages do not write it again.
func TestOnlyTheFirstAccountPageAfterASignInIsFresh(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	if got := v.signIn(); !strings.Contains(got.body, `data-fresh="yes"`) {
		t.Error("the first account page is not fresh")
	}
	if got := v.get("/account"); strings.Contains(got.body, "data-fresh") {
		t.Error("the second account page is fresh")
	}
	if got := v.signIn(); !strings.Contains(got.body, `data-fresh="yes"`) {
		t.Error("the account page after a new sign-in is not fresh")
	}
}

func TestSignOutEndsTheSessionOnTheServer(t *testing.T) {
	t.Parallel()
	shop, v := newShop(t)
	v.signIn()
	old := token(v.cookie(sessionCookie))
	v.get("/logout")
	if shop.sessions.user(old) == "" {
		t.Fatal("a GET of /logout ended the session")
	}
	if got := v.post("/logout", nil); !strings.Contains(got.body, "You are signed out") || v.cookie(sessionCookie) != "" {
		t.Errorf("POST /logout = %d, cookie %q", got.code, v.cookie(sessionCookie))
	}
	if shop.sessions.user(old) != "" {
		t.Error("the old token still signs in")
	}
}

func TestASignInMakesANewTokenAndEndsTheOld(t *testing.T) {
	t.Parallel()
	shop, v := newShop(t)
	v.signIn()
	old := token(v.cookie(sessionCookie))
	v.signIn()
	if now := token(v.cookie(sessionCookie)); now == old || shop.sessions.user(old) != "" || len(now) < 26 {
		t.Errorf("token %q after %q; the old one belongs to %q", now, old, shop.sessions.user(old))
	}
}

func TestSessionsEndAfterTheirLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		id := s.begin("ada")
		<-time.After(sessionLife - time.Nanosecond) // the bubble's clock
		if s.user(id) != "ada" {
			t.Error("the session ended early")
		}
		<-time.After(time.Nanosecond)
		if s.user(id) != "" || len(s.live) != 0 {
			t.Error("the session outlived its life")
		}
	})
}

func TestTheOldestSessionMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		first := s.begin("ada")
		<-time.After(time.Second)
		second := s.begin("ada")
		for range maxSessions - 1 {
			s.begin("ada")
		}
		if s.user(first) != "" || s.user(second) == "" || len(s.live) != maxSessions {
			t.Errorf("%d sessions; first %q, second %q", len(s.live), s.user(first), s.user(second))
		}
	})
}
