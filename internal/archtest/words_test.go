package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// words that have no place in the repository, with the reason. This file is the
// only one that may hold them.
var words = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`), "finish it, or leave it out"},
	{regexp.MustCompile(`(?i)\bnot (yet )?implemented\b`), "finish it, or leave it out"},
	{regexp.MustCompile(`(^|[\s"'(=:])/work/`), "a path of the place where it was written"},
	{regexp.MustCompile(`\.\./shared\b|/tmp/brief`), "a path of the place where it was written"},
	{regexp.MustCompile(`\b(DESIGN|STYLE)\.md\b`), "no such document here: say it in doc.go"},
	{regexp.MustCompile(`\breference/[a-z-]+\.md\b|\b(nats|chromium|object-storage|dsh-browser-runtime|hermes-supervisor|peers)\.md\b`), "no such document here: say it in your own words"},
	{regexp.MustCompile(`(?i)\bissues? (show|#?[0-9]{1,2}\b)`), "a ticket of the place where it was written"},
}

// textSuffixes are the files that are read for words.
var textSuffixes = []string{".go", ".md", ".js", ".mjs", ".css", ".html", ".sh", ".json", ".yaml", ".yml", ".conf", ".tmpl", ".txt", ".mod"}

// textFiles are the repository's text files, without what .gitignore leaves out.
func textFiles(t *testing.T) []string {
	t.Helper()
	ignored := ignoredFolders()
	var files []string
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root(), path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name == ".git" || d.Name() == "node_modules" || slices.Contains(ignored, name) {
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains(textSuffixes, filepath.Ext(name)) || d.Name() == "Makefile" || name == ".ci/run" {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, path := range textFiles(t) {
		if path == "internal/archtest/words_test.go" {
			continue
		}
		body, err := os.ReadFile(filepath.Join(root(), path))
		if err != nil {
			t.Error(err)
			continue
		}
		n := 0
		for line := range strings.Lines(string(body)) {
			n++
			for _, w := range words {
				if found := w.pattern.FindString(line); found != "" {
					t.Errorf("%s:%d: %q: %s", path, n, strings.TrimSpace(found), w.reason)
				}
			}
		}
	}
}

func TestWordRulesBite(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"// TODO: later": true, "return errors.New(\"not implemented\")": true, "see /work/x": true, "see ../shared/x": true,
		"see reference/nats.md": true, "part of issue 2": true, "issue #12": true, "as DESIGN.md says": true,
		"an issue of the page": false, "chromium issue 40123456": false, "the work/ folder": false, "docs/security.md": false,
		"https://example.com/work/": false, "the queue holds 64": false,
	} {
		got := slices.ContainsFunc(words, func(w struct {
			pattern *regexp.Regexp
			reason  string
		},
		) bool {
			return w.pattern.MatchString(line)
		})
		if got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
