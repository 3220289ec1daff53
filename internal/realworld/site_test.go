//go:build realworld

package realworld

import (
	"image"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/browserfleet/browserfleet/supervisor"
)

// docs is a folder of pages, and those of it that are visited.
type docs struct {
	name, folder string
	pages        []string
	viewport     supervisor.Viewport // zero: the default, 1280 x 800
}

// serve answers each file under its own name: net/http's file server would
// redirect index.html, and a link would not lead where its address says.
func (d docs) serve(t *testing.T) *httptest.Server {
	t.Helper()
	if _, err := os.Stat(filepath.Join(d.folder, d.pages[0])); err != nil {
		t.Fatalf("%s is missing, run `make realworld`, which installs it: %v", d.name, err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Debian's pages reach their scripts by links out of the folder.
		file, err := http.Dir(d.folder).Open(r.URL.Path)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer func() { _ = file.Close() }()
		about, err := file.Stat()
		if err != nil || about.IsDir() {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, about.Name(), about.ModTime(), file)
	}))
	t.Cleanup(site.Close)
	return site
}

// size of a page's file, in bytes; 0 for one that is not there.
func (d docs) size(t *testing.T, page string) int64 {
	t.Helper()
	about, err := os.Stat(filepath.Join(d.folder, page))
	if err != nil {
		return 0
	}
	return about.Size()
}

// picture is the size of the viewport.
func (d docs) picture() image.Point {
	if d.viewport.Width == 0 {
		return image.Pt(1280, 800)
	}
	return image.Pt(int(d.viewport.Width), int(d.viewport.Height))
}

// chosen are the pages that REALWORLD_PAGES leaves.
func (d docs) chosen(t *testing.T) []string {
	t.Helper()
	only, err := regexp.Compile(os.Getenv("REALWORLD_PAGES"))
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, p := range d.pages {
		if only.MatchString(p) {
			pages = append(pages, p)
		}
	}
	return pages
}
