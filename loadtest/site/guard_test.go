package site

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestWhatAVisitorTypesComesOutEscaped(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	const attack = `"><script>alert(1)</script>`
	pages := map[string]answer{
		"search":        v.get("/search?q=" + url.QueryEscape(attack)),
		"category sort": v.get("/category/all?sort=" + url.QueryEscape(attack)),
		"unknown path":  v.get("/" + url.PathEscape(attack)),
		"login name":    v.post("/login", url.Values{"username": {attack}, "password": {attack}, "next": {attack}}),
		"cart":          v.post("/cart/add", url.Values{"sku": {attack}, "quantity": {attack}}),
	}
	for name, got := range pages {
		if strings.Contains(got.body, "<script>alert") || strings.Contains(got.body, `value="">`+"<") {
			t.Errorf("%s: the input came out as markup:\n%s", name, got.body)
		}
	}
}

func TestPagesCarryAPolicyWithoutInlineScripts(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	got := v.get("/product/LI-101")
	policy := got.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("Content-Security-Policy = %q", policy)
	}
	if strings.Contains(got.body, " style=") || strings.Contains(got.body, " onclick=") {
		t.Error("the page has inline code that its own policy forbids")
	}
}

func TestAPostFromAnotherOriginIsRefused(t *testing.T) {
	t.Parallel()
	shop, v := newShop(t)
	form := url.Values{"username": {testUser}, "password": {testPassword}}
	for name, headers := range map[string][]string{
		"by Sec-Fetch-Site": {"Sec-Fetch-Site", "cross-site"},
		"by Origin":         {"Origin", "http://evil.example"},
	} {
		if got := v.post("/login", form, headers...); got.code != http.StatusForbidden {
			t.Errorf("%s: POST /login = %d, want 403", name, got.code)
		}
	}
	if n := shop.Stats().SignIns; n != 0 {
		t.Errorf("%d sign-ins, want 0", n)
	}
	if got := v.post("/login", form, "Origin", v.base, "Sec-Fetch-Site", "same-origin"); got.path != "/account" {
		t.Errorf("the site's own form ended at %s, want /account", got.path)
	}
}

func TestABodyOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	got := v.post("/login", url.Values{"username": {strings.Repeat("a", maxBody)}})
	if got.code != http.StatusBadRequest {
		t.Errorf("POST of more than %d bytes = %d, want 400", maxBody, got.code)
	}
}

func TestWhereALoginMayReturnTo(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"":                    "/account",
		"/cart":               "/cart",
		"/search?q=lamp":      "/search?q=lamp",
		"cart":                "/account",
		"//evil.example":      "/account",
		"/\\evil.example":     "/account",
		"/\t/evil.example":    "/account",
		"https://evil.test/":  "/account",
		"javascript:alert(1)": "/account",
		"/%zz":                "/account",
	} {
		if got := localPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
}

func FuzzLocalPathStaysOnTheSite(f *testing.F) {
	for _, seed := range []string{"/cart", "//x", "/\\x", "/\r/x", "x:y"} {
		f.Add(seed)
	}
	origin, _ := url.Parse("http://shop.test/login")
	f.Fuzz(func(t *testing.T, next string) {
		u, err := origin.Parse(localPath(next))
		if err != nil || u.Host != origin.Host || u.Scheme != origin.Scheme {
			t.Errorf("localPath(%q) leads to %v (%v)", next, u, err)
		}
	})
}
