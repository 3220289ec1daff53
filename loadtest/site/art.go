package site

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"
)

// artSet holds every product's picture: its shelf's drawing in its own hue.
type artSet struct{ svg map[sku][]byte }

func loadArt(c *catalog) (*artSet, error) {
	drawings, err := template.ParseFS(assets, "assets/art/*.svg")
	if err != nil {
		return nil, err
	}
	set := &artSet{svg: map[sku][]byte{}}
	for _, p := range c.products {
		var out bytes.Buffer
		if err := drawings.ExecuteTemplate(&out, p.Category.Slug+".svg", struct{ Hue int }{p.hue}); err != nil {
			return nil, err
		}
		set.svg[p.SKU] = out.Bytes()
	}
	return set, nil
}

func (s *Site) picture(w http.ResponseWriter, r *http.Request) {
	id, isSVG := strings.CutSuffix(r.PathValue("sku"), ".svg")
	svg, known := s.art.svg[sku(id)]
	if !isSVG || !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(svg) // a client that hung up needs no answer
}
