package protocol_test

import (
	"os"
	"strings"
	"testing"

	"github.com/browserfleet/browserfleet/protocol"
)

// TestEveryKeyIsDocumented: the page lists exactly what press takes.
func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/actions.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	_, part, _ := strings.Cut(string(page), "## Keys of press")
	for _, line := range strings.Split(part, "\n") {
		cells := strings.Split(line, "|")
		if strings.HasPrefix(line, "`") {
			for _, key := range strings.Fields(line) {
				documented[strings.Trim(key, "`")] = true
			}
		} else if len(cells) == 4 && strings.TrimSpace(cells[1]) != "held" && !strings.HasPrefix(cells[1], "-") {
			for _, key := range strings.Fields(cells[2]) {
				documented[strings.TrimSpace(cells[1])+"+"+key] = true
			}
		}
	}
	all := append(append([]string{}, protocol.Keys...), protocol.Chords...)
	for _, key := range all {
		if !documented[key] {
			t.Errorf("%s is not in docs/actions.md", key)
		}
	}
	if len(documented) != len(all) {
		t.Errorf("docs/actions.md has %d keys, press takes %d", len(documented), len(all))
	}
}
