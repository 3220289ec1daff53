package extract_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation/extract"
	"github.com/browserfleet/browserfleet/protocol"
)

const lists = `<nav><ul><li><a href=/home>Home of a very long name that has more text than all the others together</a><li>About</ul></nav>
	<h2>Places</h2><ol start=4><li>four<li value=9>nine <ul><li>nine a<li><b>nine</b> b</ul><li>ten<li style="display:none">gone</ol>
	<dl aria-label=Facts><div><dt>Mass<dd>3 kg</div><dt>Colour<dd>teal<dd>grey</dl>
	<div role=list><div role=listitem><h3>Titled</h3><a href="/t?x=1">more</a> and text</div></div>`

func TestList(t *testing.T) {
	t.Parallel()
	ctx, page, observer, refs := load(t, lists)
	found := []protocol.ExtractionChoice{{Index: 0, Rows: 2}, {Index: 1, Name: "Places", Rows: 4}, {Index: 2, Name: "Facts", Rows: 2}, {Index: 3, Rows: 1}}
	at := func(n int) *int { return &n }
	for _, tc := range []struct {
		name string
		args protocol.ExtractArgs
		want protocol.Extraction
	}{
		{"without an index: content before navigation", protocol.ExtractArgs{Fields: []string{"text", "level", "marker"}}, protocol.Extraction{
			Index: 1, Name: "Places", Found: found, Columns: []string{"text", "level", "marker"}, Total: 5, Rows: []map[string]string{
				{"text": "four", "level": "1", "marker": "4"},
				{"text": "nine", "level": "1", "marker": "9"},
				{"text": "nine a", "level": "2", "marker": ""},
				{"text": "nine b", "level": "2", "marker": ""},
				{"text": "ten", "level": "1", "marker": "10"},
			},
		}},
		{"terms and definitions", protocol.ExtractArgs{Index: at(2)}, protocol.Extraction{
			Index: 2, Name: "Facts", Found: found, Columns: []string{"index", "title", "url", "text"}, Total: 2, Rows: []map[string]string{
				{"index": "0", "title": "Mass", "url": "", "text": "3 kg"},
				{"index": "1", "title": "Colour", "url": "", "text": "teal; grey"},
			},
		}},
		{"around a region, by roles", protocol.ExtractArgs{RegionRef: refs["more"]}, protocol.Extraction{
			Columns: []string{"index", "title", "url", "text"}, Total: 1, Rows: []map[string]string{
				{"index": "0", "title": "Titled", "url": "/t?x=1", "text": "Titled more and text"},
			},
		}},
		{"what comes after the first rows", protocol.ExtractArgs{Index: at(1), Fields: []string{"index", "text"}, Offset: 1, Limit: 2}, protocol.Extraction{
			Index: 1, Name: "Places", Found: found, Columns: []string{"index", "text"}, Offset: 1, Total: 5, NextOffset: 3, Truncated: true,
			Rows: []map[string]string{{"index": "1", "text": "nine"}, {"index": "2", "text": "nine a"}},
		}},
	} {
		got, err := extract.Read(ctx, page, observer, protocol.KindExtractList, tc.args, shown)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		tc.want.Kind, tc.want.URL = protocol.KindExtractList, got.URL
		for _, row := range tc.want.Rows {
			if row["url"] != "" {
				row["url"] = got.URL[:len(got.URL)-1] + row["url"]
			}
		}
		if diff := cmp.Diff(&tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestRecordsThatAreNoList(t *testing.T) {
	t.Parallel()
	for name, html := range map[string]string{
		"articles": `<main><article><h2>A</h2>a</article><article><h2>B</h2>b</article><article><h2>C</h2>c</article></main>`,
		"boxes":    `<div><p>Intro</p><div class="card x"><h2>A</h2>a</div><div class="card"><h2>B</h2>b</div><div class="card y"><h2>C</h2>c</div></div>`,
	} {
		ctx, page, observer, _ := load(t, html)
		got, err := extract.Read(ctx, page, observer, protocol.KindExtractList, protocol.ExtractArgs{Fields: []string{"title", "text"}}, shown)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []map[string]string{{"title": "A", "text": "A a"}, {"title": "B", "text": "B b"}, {"title": "C", "text": "C c"}}
		if diff := cmp.Diff(want, got.Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
