//go:build realworld

package realworld

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

const (
	extractLimit = 1000
	// cellChars is the default of max_text_chars.
	cellChars = 2000
)

// listsLinks wants all links of the document, in its order.
func (p *pageVisit) listsLinks(ctx context.Context) {
	x := p.run(ctx, p.t, protocol.KindExtractLinks, &protocol.ExtractArgs{Limit: extractLimit}, nil).Extraction
	all := p.truth.Links
	if x.Total != len(all) || len(x.Rows) != min(len(all), extractLimit) || x.Truncated != (len(all) > extractLimit) {
		p.t.Errorf("links: %d of %d, truncated %v; the page has %d", len(x.Rows), x.Total, x.Truncated, len(all))
		return
	}
	bad := 0
	for i, row := range x.Rows {
		l := all[i]
		if text := l.Text; row["url"] != l.Href || row["title"] != l.Title || (text != "" && row["text"] != text) || row["index"] != strconv.Itoa(i) {
			if bad++; bad <= 5 {
				p.t.Errorf("link %d: %v; the page has %+v", i, row, l)
			}
		}
	}
}

// givesTables reads the page's first table, and each that has a link shown.
func (p *pageVisit) givesTables(ctx context.Context) {
	if len(p.truth.Tables) == 0 {
		return
	}
	x := p.run(ctx, p.t, protocol.KindExtractTable, &protocol.ExtractArgs{Limit: extractLimit}, nil).Extraction
	p.judgeTable(0, x)
	o := p.observe(ctx, p.t, interactive)
	for i, t := range p.truth.Tables {
		for _, e := range o.Elements {
			if e.Role == "link" && slices.Contains(t.Links, e.Href) && p.onlyIn(e.Href, i) {
				x := p.run(ctx, p.t, protocol.KindExtractTable, &protocol.ExtractArgs{RegionRef: e.Ref, Limit: extractLimit}, nil).Extraction
				p.judgeTable(i, x)
				break
			}
		}
	}
}

// onlyIn: the address means this table and no other place of the page.
func (p *pageVisit) onlyIn(href string, table int) bool {
	n := 0
	for _, l := range p.truth.Links {
		if l.Href == href {
			n++
		}
	}
	return n == 1 && slices.Contains(p.truth.Tables[table].Links, href)
}

// judgeTable compares shape and texts; texts only where no cell spans.
func (p *pageVisit) judgeTable(n int, x *protocol.Extraction) {
	t := p.truth.Tables[n]
	width, spans := 0, false
	for _, row := range t.Rows {
		sum := 0
		for _, c := range row {
			sum += c.Across
			spans = spans || c.Across != 1 || c.Down != 1
		}
		width = max(width, sum)
	}
	body := t.Rows[t.headRows():]
	if spans {
		if len(x.Rows) != len(body) {
			p.t.Errorf("table %d, with spans: %d rows, want %d", n, len(x.Rows), len(body))
		}
		return
	}
	if x.Total != len(body) || len(x.Columns) != width+1 {
		p.t.Errorf("table %d: %d rows of %q; the page has %d rows of %d columns", n, x.Total, x.Columns, len(body), width)
		return
	}
	for y, row := range x.Rows {
		for i, c := range body[y] {
			if got := row[x.Columns[i+1]]; got != cutTo(c.Text, cellChars) {
				p.t.Errorf("table %d, row %d, column %d (%s): %q; the page has %q", n, y, i, x.Columns[i+1], got, c.Text)
			}
		}
	}
	if heads := t.headRows(); heads == 1 {
		for i, c := range t.Rows[0] {
			if got := x.Columns[i+1]; c.Text != "" && !strings.HasPrefix(got, c.Text) {
				p.t.Errorf("table %d: column %d is called %q; the page has %q", n, i, got, c.Text)
			}
		}
	}
}

// headRows are those of thead, or those at the top that hold only headers.
func (t table) headRows() int {
	n := t.Heads
	for n < len(t.Rows) && len(t.Rows[n]) > 0 && !slices.ContainsFunc(t.Rows[n], func(c cell) bool { return !c.Head }) {
		n++
	}
	return n
}
