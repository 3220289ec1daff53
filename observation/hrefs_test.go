package observation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// An empty href is an address: that of the page itself, without its fragment.
// Documentation that Sphinx made has one for the page that one is on.
func TestEveryLinkSaysWhereItLeads(t *testing.T) {
	t.Parallel()
	ctx, page := within(t), pagetest.Open(t)
	page.Load(ctx, t, `<base href="/docs/"><a href="">self</a><a href="#">top</a><a href=" x ">x</a><a href="?q">query</a><a href="//other.example/y">other</a>
		<svg><a href=""><text y=9>svg self</text></a><a xlink:href="z"><text y=9>svg old</text></a></svg>`)
	obs, err := observation.New(1).Observe(ctx, page, budget(protocol.ModeInteractive))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]any{}, map[string]any{}
	for _, e := range obs.Elements {
		got[e.Name] = e.Href
	}
	base := page.Eval(ctx, t, "document.baseURI").(string)
	for name, path := range map[string]string{
		"self": "", "top": "#", "x": "x", "query": "?q", "svg self": "", "svg old": "z",
	} {
		want[name] = base + path
	}
	want["other"] = "http://other.example/y"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}
