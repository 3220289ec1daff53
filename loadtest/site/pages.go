package site

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
)

// pageSet has one template set a page: the layout and that page's "main".
type pageSet struct{ byName map[string]*template.Template }

// page is what the layout needs; Body is the page's own.
type page struct {
	Title      string
	Name       string // of the template, which scripts and styles go by
	Path       string
	Query      string
	Categories []*category
	SignedInAs string
	CartCount  int
	Body       any
}

// bare are the pages that are whole documents without the shop's frame.
var bare = map[string]bool{"storemap": true}

func loadPages() (*pageSet, error) {
	layout, err := template.ParseFS(assets, "assets/templates/layout.html", "assets/templates/parts.html")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(assets, "assets/templates/page_*.html")
	if err != nil {
		return nil, err
	}
	set := &pageSet{byName: map[string]*template.Template{}}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(path.Base(file), "page_"), ".html")
		t, err := template.Must(layout.Clone()).ParseFS(assets, file)
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		set.byName[name] = t
	}
	return set, nil
}

// render writes a whole page, or a plain 500: it goes through a buffer, so a
// failing template never sends half of one.
func (s *Site) render(w http.ResponseWriter, r *http.Request, code int, name, title string, body any) {
	data := page{
		Title:      title,
		Name:       name,
		Path:       r.URL.Path,
		Categories: s.catalog.categories,
		SignedInAs: s.sessions.user(tokenOf(r)),
		CartCount:  s.cartOf(r).count(),
		Body:       body,
	}
	if search, ok := body.(searchBody); ok {
		data.Query = search.Query
	}
	root := "layout.html"
	if bare[name] {
		root = "main"
	}
	var out bytes.Buffer
	if err := s.pages.byName[name].ExecuteTemplate(&out, root, data); err != nil {
		slog.ErrorContext(r.Context(), "bundled site: a page could not be rendered", "page", name, "error", err)
		http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store") // each page shows the session in its header
	w.WriteHeader(code)
	_, _ = w.Write(out.Bytes()) // a client that hung up needs no answer
}
