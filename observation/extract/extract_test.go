package extract_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/extract"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

func TestMain(m *testing.M) { pagetest.Main(m) }

// shown hides nothing.
func shown(s string) string { return s }

// load shows a page and returns the ref of each listed name.
func load(t *testing.T, html string) (context.Context, *pagetest.Page, *observation.Observer, map[string]protocol.Ref) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	page, observer := pagetest.Open(t), observation.New(1)
	page.Load(ctx, t, html)
	obs, err := observer.Observe(ctx, page, protocol.ObserveBudget{Elements: 100, MaxTier: 5})
	if err != nil {
		t.Fatal(err)
	}
	refs := make(map[string]protocol.Ref)
	for _, e := range obs.Elements {
		refs[e.Name] = e.Ref
	}
	return ctx, page, observer, refs
}

const tables = `<table><caption>First</caption><thead><tr><th>Name<th>Size</tr></thead><tbody>
	<tr><th>a.pdf</th><td>1 MB</td></tr><tr><th>b.pdf</th><td><table><tr><td>nested</td></tr></table></td></tr><tr><th>c.pdf</th><td> 3
	MB <span style="display:none">hidden</span></td></tr></tbody></table>
	<div><table><tr><td>x<td>y</tr><tr><td>1<td><a href=/in>Inside</a></tr></table></div>
	<div role=table><div role=row><span role=columnheader>K</span><span role=columnheader>K</span></div><div role=row><span role=cell>k1</span><span role=cell><a href=/aria>Aria</a></span></div></div>`

func TestTable(t *testing.T) {
	t.Parallel()
	third := 2
	foundTables := []protocol.ExtractionChoice{{Index: 0, Name: "First", Rows: 4}, {Index: 1, Rows: 1}, {Index: 2, Rows: 2}, {Index: 3, Rows: 2}}
	ctx, page, observer, refs := load(t, tables)
	for _, tc := range []struct {
		name string
		args protocol.ExtractArgs
		want protocol.Extraction
	}{
		{"row headers are values", protocol.ExtractArgs{}, protocol.Extraction{
			Name: "First", RowHeaders: []string{"Name"}, Found: foundTables, Columns: []string{"index", "Name", "Size"}, Total: 3,
			Rows: []map[string]string{
				{"index": "0", "Name": "a.pdf", "Size": "1 MB"},
				{"index": "1", "Name": "b.pdf", "Size": "nested"},
				{"index": "2", "Name": "c.pdf", "Size": "3 MB"},
			},
		}},
		{"fields and limit", protocol.ExtractArgs{Fields: []string{"Size"}, Limit: 1}, protocol.Extraction{
			Name: "First", Found: foundTables, Columns: []string{"Size"}, Total: 3, Truncated: true, NextOffset: 1, Rows: []map[string]string{{"Size": "1 MB"}},
		}},
		{"values are cut", protocol.ExtractArgs{Fields: []string{"Name"}, Offset: 1, Limit: 2, MaxTextChars: 2}, protocol.Extraction{
			Name: "First", RowHeaders: []string{"Name"}, Found: foundTables, Columns: []string{"Name"}, Offset: 1, Total: 3,
			Rows: []map[string]string{{"Name": "b."}, {"Name": "c."}}, Cut: []protocol.CutValue{{Row: 0, Column: "Name"}, {Row: 1, Column: "Name"}},
		}},
		{"another table, by its index", protocol.ExtractArgs{Index: &third}, protocol.Extraction{
			Index: 2, Found: foundTables, Columns: []string{"index", "column_1", "column_2"}, Total: 2,
			Rows: []map[string]string{{"index": "0", "column_1": "x", "column_2": "y"}, {"index": "1", "column_1": "1", "column_2": "Inside"}},
		}},
		{"the table around a region", protocol.ExtractArgs{RegionRef: refs["Inside"]}, protocol.Extraction{
			Columns: []string{"index", "column_1", "column_2"}, Total: 2,
			Rows: []map[string]string{{"index": "0", "column_1": "x", "column_2": "y"}, {"index": "1", "column_1": "1", "column_2": "Inside"}},
		}},
		{"a table by roles, with equal headers", protocol.ExtractArgs{RegionRef: refs["Aria"]}, protocol.Extraction{
			Columns: []string{"index", "K", "K_2"}, Total: 1, Rows: []map[string]string{{"index": "0", "K": "k1", "K_2": "Aria"}},
		}},
	} {
		got, err := extract.Read(ctx, page, observer, protocol.KindExtractTable, tc.args, shown)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		tc.want.Kind, tc.want.URL = protocol.KindExtractTable, got.URL
		if diff := cmp.Diff(&tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	ctx, page, observer, refs := load(t, `<a href=/top title="To the top">Top</a><ul><li><button>Pick</button><li><a href="rel?q=1">Rel</a><li><a href="#f"><img alt=Pic></a></ul><a>none</a>`)
	got, err := extract.Read(ctx, page, observer, protocol.KindExtractLinks, protocol.ExtractArgs{}, shown)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(got.URL, "/")
	want := []map[string]string{
		{"index": "0", "text": "Top", "url": base + "/top", "title": "To the top"},
		{"index": "1", "text": "Rel", "url": base + "/rel?q=1", "title": ""},
		{"index": "2", "text": "Pic", "url": base + "/#f", "title": ""},
	}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	got, err = extract.Read(ctx, page, observer, protocol.KindExtractLinks, protocol.ExtractArgs{RegionRef: refs["Pick"], Limit: 1}, shown)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total != 2 || !got.Truncated || got.Rows[0]["text"] != "Rel" {
		t.Errorf("links of the list around a button: %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx, page, observer, refs := load(t, `<button>Alone</button>`)
	for _, tc := range []struct {
		kind protocol.Kind
		args protocol.ExtractArgs
		code protocol.Code
		says string
	}{
		{protocol.KindExtractTable, protocol.ExtractArgs{}, protocol.CodeNotFound, "no table"},
		{protocol.KindExtractTable, protocol.ExtractArgs{RegionRef: refs["Alone"]}, protocol.CodeNotFound, "Alone"},
		{protocol.KindExtractList, protocol.ExtractArgs{}, protocol.CodeNotFound, "no list"},
		{protocol.KindExtractList, protocol.ExtractArgs{RegionRef: refs["Alone"]}, protocol.CodeNotFound, "Alone"},
		{protocol.KindExtractArticle, protocol.ExtractArgs{Fields: []string{"index"}}, protocol.CodeInvalidArgument, "title, byline, published, text"},
		{protocol.KindExtractLinks, protocol.ExtractArgs{RegionRef: "e99"}, protocol.CodeStaleRef, "e99"},
		{protocol.KindExtractLinks, protocol.ExtractArgs{RegionRef: refs["Alone"], ObservationID: "o-9-1"}, protocol.CodeStaleRef, ""},
		{protocol.KindExtractLinks, protocol.ExtractArgs{Fields: []string{"price"}}, protocol.CodeInvalidArgument, "index, text, url, title"},
		{protocol.KindClick, protocol.ExtractArgs{}, protocol.CodeUnknownAction, ""},
	} {
		_, err := extract.Read(ctx, page, observer, tc.kind, tc.args, shown)
		if err == nil || err.Code != tc.code || !strings.Contains(err.Message, tc.says) || err.Dispatched != protocol.DispatchedNo {
			t.Errorf("%s %+v: %v, want %s about %q", tc.kind, tc.args, err, tc.code, tc.says)
		}
	}
}
