package caserun

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest  = regexp.MustCompile(`\b(Test[A-Z][A-Za-z0-9]+)(?:/([0-9]{3}))?\b`)
	writtenOne = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// TestEveryTestOfTheTablesExists: docs/compat names the test of each scenario.
func TestEveryTestOfTheTablesExists(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range writtenOne.FindAllStringSubmatch(string(text), -1) {
			written[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob("../../docs/compat/*.md")
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, path := range tables {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		named := namedTest.FindAllStringSubmatch(string(text), -1)
		if len(named) == 0 {
			t.Errorf("%s names no test", path)
		}
		for _, m := range named {
			if !written[m[1]] {
				t.Errorf("%s: there is no test %s", path, m[1])
			}
			found, err := filepath.Glob(filepath.Join(folder, m[2]+"-*"))
			if m[2] != "" && (err != nil || len(found) != 1 || waiting[filepath.Base(found[0])] != "") {
				t.Errorf("%s: case %s does not exist, or waits", path, m[2])
			}
		}
	}
}
