package site

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testUser     = "ada"
	testPassword = "correct horse <battery>"
)

// visitor is a browser as far as cookies and redirects go.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
}

func newShop(t *testing.T) (*Site, *visitor) {
	t.Helper()
	shop, err := New(Options{Username: testUser, Password: testPassword})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	return shop, newVisitor(t, server.URL)
}

func newVisitor(t *testing.T, base string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{t: t, base: base, client: &http.Client{Jar: jar, Transport: transport}}
}

// answer is a response with its body read.
type answer struct {
	code   int
	path   string // where redirects ended
	body   string
	header http.Header
}

func (v *visitor) do(req *http.Request) answer {
	v.t.Helper()
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatalf("read %s: %v", req.URL, err)
	}
	return answer{res.StatusCode, res.Request.URL.RequestURI(), string(body), res.Header}
}

func (v *visitor) get(path string) answer {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(req)
}

func (v *visitor) post(path string, form url.Values, headers ...string) answer {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return v.do(req)
}

func (v *visitor) signIn() answer {
	v.t.Helper()
	return v.post("/login", url.Values{"username": {testUser}, "password": {testPassword}})
}

func (v *visitor) cookie(name string) string {
	u, _ := url.Parse(v.base)
	for _, c := range v.client.Jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func TestNewRefusesAnEmptyPasswordOrName(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{}, {Username: "ada"}, {Password: "x"}} {
		if _, err := New(opts); err == nil {
			t.Errorf("New(%q, …) = nil error, want one", opts.Username)
		}
	}
}

func TestEveryPageAnswersAsItShould(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/":                             {200, "Useful things, made well"},
		"/search":                       {200, "press Enter"},
		"/search?q=lamp":                {200, "Keeper Desk Lamp"},
		"/search?q=zebra":               {200, "Nothing matches"},
		"/category/kitchen":             {200, "14 products, showing 1 to 8"},
		"/category/kitchen?page=2":      {200, "14 products, showing 9 to 14"},
		"/category/all?page=9":          {200, "70 products, showing 65 to 70"},
		"/category/all?page=999":        {200, "showing 65 to 70"},
		"/category/all?page=-3":         {200, "showing 1 to 8"},
		"/category/desk?in_stock=1":     {200, "13 products"},
		"/category/none":                {404, "nothing at this address"},
		"/product/LI-101":               {200, "<caption>Specifications</caption>"},
		"/product/KI-112":               {200, "Sold out"},
		"/product/XX-1":                 {404, "nothing at this address"},
		"/art/LI-101.svg":               {200, "<svg"},
		"/art/LI-101":                   {404, ""},
		"/art/XX-1.svg":                 {404, ""},
		"/cart":                         {200, "Your cart is empty"},
		"/login":                        {200, `<label for="password">Password</label>`},
		"/logout":                       {200, "Sign out?"},
		"/dialogs":                      {200, "Write a gift note"},
		"/stores":                       {200, `<iframe class="map" src="/stores/map" title="Store map"`},
		"/stores/map":                   {200, "No store is chosen"},
		"/stores/map?city=bergen":       {200, "Skuteviksboder 14"},
		"/stores/map?city=atlantis":     {200, "No store is chosen"},
		"/healthz":                      {200, "ok\n"},
		"/slow?ms=0":                    {200, "waited 0 ms"},
		"/slow":                         {400, "whole number"},
		"/slow?ms=-1":                   {400, "whole number"},
		"/slow?ms=99999999999999999999": {400, "whole number"},
		"/static/shop.css":              {200, ":root"},
		"/static/shop.js":               {200, "shop.signed_in_as"},
		"/static/":                      {404, ""},
		"/static/%2e%2e/catalog.txt":    {404, ""},
		"/nothing":                      {404, "nothing at this address"},
	} {
		t.Run(path, func(t *testing.T) {
			got := v.get(path)
			if got.code != want.code || !strings.Contains(got.body, want.text) {
				t.Errorf("GET %s = %d, want %d with %q; body:\n%s", path, got.code, want.code, want.text, got.body)
			}
		})
	}
}

func TestPagesAreTheSameEachTimeAndNameNoOtherOrigin(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	_, other := newShop(t)
	for _, path := range []string{"/", "/search?q=lamp", "/category/all?page=2&sort=price-up", "/product/LI-101", "/stores/map", "/static/shop.css", "/static/shop.js"} {
		first, second := v.get(path), other.get(path)
		if first.body != second.body {
			t.Errorf("GET %s differs between two sites", path)
		}
		if strings.Contains(first.body, "https://") || strings.Contains(first.body, "http://") {
			t.Errorf("GET %s names another origin", path)
		}
	}
}

func TestEveryLinkOfTheSiteLeadsSomewhere(t *testing.T) {
	t.Parallel()
	_, v := newShop(t)
	v.signIn()
	seen, queue := map[string]bool{"/": true}, []string{"/"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		got := v.get(path)
		if got.code != http.StatusOK {
			t.Errorf("GET %s = %d", path, got.code)
		}
		if !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, link := range linksOf(got.body) {
			if strings.HasPrefix(link, "/") && !seen[link] {
				seen[link] = true
				queue = append(queue, link)
			}
		}
	}
	if len(seen) < 170 { // 70 products and their pictures, lists, pages, static files
		t.Errorf("a walk of the site found %d addresses, want at least 170", len(seen))
	}
}

func linksOf(body string) (links []string) {
	for _, attr := range []string{` href="`, ` src="`} {
		for _, part := range strings.Split(body, attr)[1:] {
			link, _, _ := strings.Cut(part, `"`)
			links = append(links, strings.ReplaceAll(link, "&amp;", "&"))
		}
	}
	return links
}
