package extract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation/extract"
	"github.com/browserfleet/browserfleet/protocol"
)

const (
	first  = "The harbour froze over in the second week, so that boats, sledges and carts shared the ice."
	second = "Nobody in the town could remember a winter like it, and the bakers ran out of flour."
	body   = `<h1>The long <em>winter</em></h1><p class=byline>By A. Writer</p><time datetime="1911-02-03">yesterday</time>
	<p>` + first + `</p><div class="share-buttons"><p>Share this with everybody that you know, on every network.</p></div>
	<h2>Flour</h2><p>` + second + `<br>So it was.</p><ul><li>rye</li><li>oats</li></ul><pre>a
  b</pre><p style="display:none">Hidden text that no reader ever sees on this page.</p>`
	text = "# The long winter\n\nBy A. Writer\n\nyesterday\n\n" + first + "\n\n## Flour\n\n" + second + "\nSo it was.\n\n- rye\n- oats\n\na\n  b"
)

func TestArticle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, html string }{
		{"that says so", `<header><nav><a href=/>Home</a></nav></header><main><article>` + body + `</article><aside><p>An aside that is long enough to be taken for prose, with commas, and more.</p></aside></main>`},
		{"in boxes", `<form><div id="page has-sidebar"><div class=sidebar><ul><li><a href=/1>One link of many in here</a></ul></div><div class=content>` + body + `</div></div></form><footer><p>All rights are reserved by somebody, somewhere, we suppose.</p></footer>`},
	} {
		ctx, page, observer, _ := load(t, "<title>Paper</title>"+tc.html)
		got, err := extract.Read(ctx, page, observer, protocol.KindExtractArticle, protocol.ExtractArgs{}, shown)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		want := []map[string]string{{"title": "The long winter", "byline": "By A. Writer", "published": "1911-02-03", "text": text}}
		if diff := cmp.Diff(want, got.Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if got.Truncated || got.Total != len(text) {
			t.Errorf("%s: truncated %v, total %d, want %d", tc.name, got.Truncated, got.Total, len(text))
		}
	}
}

// TestAnArticleIsReadInParts: each goes on where the one before was cut, also
// between characters that take two units.
func TestAnArticleIsReadInParts(t *testing.T) {
	t.Parallel()
	whole := strings.TrimSpace(strings.Repeat("𝔘nd so on, and on, and on. ", 40))
	ctx, page, observer, _ := load(t, "<article><p>"+whole+"</p></article>")
	var all string
	args := protocol.ExtractArgs{MaxTextChars: 301, Fields: []string{"text"}}
	for range 10 {
		got, err := extract.Read(ctx, page, observer, protocol.KindExtractArticle, args, shown)
		if err != nil {
			t.Fatal(err)
		}
		all += got.Rows[0]["text"]
		if args.Offset = got.NextOffset; args.Offset == 0 {
			break
		}
	}
	if diff := cmp.Diff(whole, all); diff != "" {
		t.Errorf("the parts do not make the whole (-want +got):\n%s", diff)
	}
}

// TestAnArticleHidesBeforeItCuts: no choice of offset and size shows a piece.
func TestAnArticleHidesBeforeItCuts(t *testing.T) {
	t.Parallel()
	ctx, page, observer, _ := load(t, "<article><p>Here the code QXZJ was typed, as anybody who reads it can see.</p></article>")
	hide := func(s string) string { return strings.ReplaceAll(s, "QXZJ", "*") }
	for offset := range 24 {
		got, err := extract.Read(ctx, page, observer, protocol.KindExtractArticle, protocol.ExtractArgs{Offset: offset, MaxTextChars: 1 + offset%5}, hide)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Rows[0]["text"]; strings.ContainsAny(text, "QXZJ") {
			t.Errorf("offset %d: %q", offset, text)
		}
	}
}
