package service

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/config.md")

const configPage = "../../../../docs/config.md"

// TestConfigPage holds docs/config.md against the structs that it is made from.
func TestConfigPage(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	page.WriteString("# Configuration of services\n\n" +
		"Services read variables with the prefix `BROWSERFLEET_` and nothing else; secrets stand in files\n" +
		"that they name. `browserfleet SERVICE --help` prints the same. This page is written by\n" +
		"`make generate`.\n")
	for _, s := range []struct {
		name string
		cfg  any
	}{
		{"nats", &NATSConfig{}}, {"store", &StoreConfig{}}, {"coordinator", &CoordinatorConfig{}}, {"worker", &WorkerConfig{}},
	} {
		var table bytes.Buffer
		if err := Usage(&table, s.cfg); err != nil {
			t.Fatal(err)
		}
		page.WriteString("\n## browserfleet " + s.name + "\n\n")
		for line := range strings.Lines(table.String()) {
			page.WriteString("    " + strings.TrimPrefix(line, "  "))
		}
	}
	if *update {
		if err := os.WriteFile(configPage, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(configPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page.String()); diff != "" {
		t.Errorf("docs/config.md is out of date (make generate):\n%s", diff)
	}
}
