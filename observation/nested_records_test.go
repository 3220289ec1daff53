package observation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/observation/internal/pagetest"
	"github.com/browserfleet/browserfleet/protocol"
)

// A table of contents is a list in lists: an entry is named by its own link, not
// by the longest link of the chapter below it.
func TestEntriesOfNestedListsHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	ctx, page := within(t), pagetest.Open(t)
	page.Load(ctx, t, `<ul><li><a href=/a>Tutorial</a><ul><li><a href=/a1>Whetting your appetite, at length</a></li><li><a href=/a2>Interpreter</a></li><li><a href=/a3>Introduction</a></li></ul></li>
		<li>Reference<ul><li><a href=/b1>Lexical analysis and more of it</a></li><li><a href=/b2>Data model</a></li><li><a href=/b3>Imports</a></li></ul></li>
		<li><a href=/c>Library</a></li></ul>`)
	obs, err := observation.New(1).Observe(ctx, page, budget(protocol.ModeInteractive))
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, g := range obs.Groups {
		labels = append(labels, g.Label)
	}
	want := []string{"Tutorial", "Whetting your appetite, at length", "Interpreter", "Introduction", "Lexical analysis and more of it", "Data model", "Imports", "Library"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for _, e := range obs.Elements {
		if e.Tier != 3 {
			t.Errorf("%s is of tier %d, not a title", e.Name, e.Tier)
		}
	}
}
