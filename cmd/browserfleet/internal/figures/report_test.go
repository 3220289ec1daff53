package figures

import (
	"bytes"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/loadtest"
)

func TestABarIsKeptOrNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  Row
		want bool
	}{
		"no bar":         {Row{Median: 9}, true},
		"at most":        {Row{Median: 2, Bar: 2}, true},
		"over it":        {Row{Median: 2.1, Bar: 2}, false},
		"at least":       {Row{Median: 1200, Bar: 1200, AtLeast: true}, true},
		"less than that": {Row{Median: 1199, Bar: 1200, AtLeast: true}, false},
	} {
		if got := c.row.Met(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if r := (Report{Rows: []Row{{}, c.row}}); r.Met() != c.want {
			t.Errorf("%s: the report differs", name)
		}
	}
	if (&Report{Failures: []string{"lost: no"}}).Met() {
		t.Error("what was not measured is kept")
	}
}

func TestTheTableIsMarkdown(t *testing.T) {
	t.Parallel()
	r := Report{
		Machine: loadtest.Machine{OS: "linux", CPUs: 2}, LoadAtStart: 0.25,
		Rows: []Row{
			{Figure: "lost", What: "p50", Unit: "s", Median: 1.2345, Low: 0.0123, High: 12.7, Repeats: 20, Samples: 20, Bar: 2.5},
			{Figure: "rate", What: "actions", Unit: "a second", Median: 1100.4, Low: 1000, High: 1300, Repeats: 5, Samples: 9000, Bar: 1200, AtLeast: true},
			{Figure: "move", What: "p95", Unit: "s", Median: -0.5, Repeats: 1, Samples: 1},
		},
		Failures: []string{"burst: one\ntwo"},
	}
	var b bytes.Buffer
	if err := r.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 CPUs", "load average at the start 0.25",
		"| lost | p50 | 1.23 s | 0.012 s to 12.7 s | 20 (20) | at most 2.50 s | yes |\n",
		"| rate | actions | 1100 a second | 1000 a second to 1300 a second | 5 (9000) | at least 1200 a second | NO |\n",
		"| move | p95 | -0.500 s | 0 s to 0 s | 1 (1) | none |  |\n",
		"Not measured: burst: one two\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestAnUnknownFigureIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), Options{Only: []string{"lost", "nothing"}}); err == nil || !strings.Contains(err.Error(), "burst") {
		t.Errorf("%v", err)
	}
}
