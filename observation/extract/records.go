package extract

import (
	"slices"
	"strconv"
	"strings"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
)

// indexColumn numbers the rows.
const indexColumn = "index"

// Bounds of what a page may name.
const (
	maxURL    = 8192
	maxHeader = 160
	maxFound  = 20
	maxCut    = 100
)

// question is what the page's script is asked; see its ExtractArgs.
type question struct {
	Doc    string `json:"doc"`
	ID     int64  `json:"id"`
	Print  string `json:"print"`
	Index  int    `json:"index"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
	Chars  int    `json:"chars"`
}

// records is the answer of the page's script.
type records struct {
	Refused string                      `json:"error"`
	Message string                      `json:"message"`
	URL     string                      `json:"url"`
	Name    string                      `json:"name"`
	Index   int                         `json:"index"`
	Found   []protocol.ExtractionChoice `json:"found"`
	Columns []string                    `json:"columns"`
	// Idle columns say nothing about this page: they are shown when asked for.
	Idle       []string   `json:"idle"`
	RowHeaders []string   `json:"row_headers"`
	Total      int        `json:"total"`
	Rows       [][]string `json:"rows"`
	// Cut are row and column of values that are not whole.
	Cut [][2]int `json:"cut"`
}

// bounded: the script runs in a renderer that a page may have taken over, so
// nothing about its answer is certain.
func (r *records) bounded(kind protocol.Kind, ask question) bool {
	counted := r.Total >= len(r.Rows) || kind == protocol.KindExtractArticle && r.Total >= 0
	return counted && len(r.Rows) <= ask.Limit && len(r.Columns) <= maxColumns &&
		len(r.Found) <= maxFound && len(r.Cut) <= maxCut && r.Index >= 0
}

// cutText leaves of an article's text the part that is asked for. Offsets count the
// text that is shown, in code points.
func (r *records) cutText(ask question, hide func(string) string) {
	for _, row := range r.Rows {
		for i := range row {
			row[i] = strings.ToValidUTF8(row[i], "\uFFFD")
		}
		if at := slices.Index(r.Columns, "text"); at >= 0 && at < len(row) {
			text := []rune(hide(row[at]))
			r.Total = len(text)
			begin := min(ask.Offset, len(text))
			row[at] = string(text[begin:min(begin+ask.Chars, len(text))])
		}
	}
}

// build makes rows of the columns that are asked for.
func (r *records) build(kind protocol.Kind, fields []string, ask question) (*protocol.Extraction, *protocol.Error) {
	columns, err := r.choose(kind, fields)
	if err != nil {
		return nil, err
	}
	out := &protocol.Extraction{
		Kind: kind, URL: observation.Cut(r.URL, maxURL), Name: observation.Cut(r.Name, maxHeader), Index: r.Index, Found: r.Found,
		Columns: columns, Offset: ask.Offset, Total: r.Total, Rows: make([]map[string]string, 0, len(r.Rows)),
	}
	for i := range out.Found {
		out.Found[i].Name = observation.Cut(out.Found[i].Name, maxHeader)
	}
	for _, name := range r.RowHeaders {
		if slices.Contains(columns, name) {
			out.RowHeaders = append(out.RowHeaders, name)
		}
	}
	for i, values := range r.Rows {
		row := make(map[string]string, len(columns))
		for _, name := range columns {
			at := slices.Index(r.Columns, name)
			switch {
			case at >= 0 && at < len(values):
				row[name] = observation.Cut(values[at], max(ask.Chars, maxURL))
			case at < 0 && name == indexColumn:
				row[name] = strconv.Itoa(ask.Offset + i)
			default:
				row[name] = ""
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for _, at := range r.Cut {
		if y, x := at[0], at[1]; y >= 0 && y < len(out.Rows) && x >= 0 && x < len(r.Columns) && slices.Contains(columns, r.Columns[x]) {
			out.Cut = append(out.Cut, protocol.CutValue{Row: y, Column: r.Columns[x]})
		}
	}
	r.progress(out, ask)
	return out, nil
}

// progress says what is left. An article's text goes on where it was cut.
func (r *records) progress(out *protocol.Extraction, ask question) {
	done := ask.Offset + len(out.Rows)
	if out.Kind == protocol.KindExtractArticle {
		done = ask.Offset + ask.Chars
	}
	if done < r.Total && len(out.Rows) > 0 {
		out.NextOffset = done
	}
	out.Truncated = out.NextOffset > 0
}

// choose is the columns that are shown: those that were asked for, else all that
// say something.
func (r *records) choose(kind protocol.Kind, fields []string) ([]string, *protocol.Error) {
	offered := slices.Clone(r.Columns)
	if kind != protocol.KindExtractArticle {
		offered = append([]string{indexColumn}, offered...)
	}
	if len(fields) == 0 {
		return slices.DeleteFunc(offered, func(name string) bool { return slices.Contains(r.Idle, name) }), nil
	}
	for _, name := range fields {
		if !slices.Contains(offered, name) {
			return nil, protocol.Errorf(protocol.CodeInvalidArgument, "fields: no column %q; there are %s",
				observation.Cut(name, 60), observation.Cut(strings.Join(offered, ", "), 1000))
		}
	}
	return fields, nil
}
