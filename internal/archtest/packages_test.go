package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const module = "github.com/browserfleet/browserfleet"

// pkg is what `go list` says of a package, with paths below the module's root:
// "worker/environment", not the full import path.
type pkg struct {
	Path    string
	Dir     string
	Imports []string // of the module itself relative, others in full
	Deps    []string
	Files   []string
	Tests   []string
}

// testSupport reports whether the package exists for tests alone.
func (p pkg) testSupport() bool { return slices.Contains(p.Imports, "testing") }

type listed struct {
	ImportPath, Dir                   string
	Imports, Deps                     []string
	GoFiles, CgoFiles, IgnoredGoFiles []string
	TestGoFiles, XTestGoFiles         []string
	TestImports, XTestImports         []string
}

// root is the module's folder; packages are its own, without those that
// .gitignore leaves out. Both are found once.
var root, packages = sync.OnceValue(findRoot), sync.OnceValues(listPackages)

func findRoot() string {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "."
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

func listPackages() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,Deps,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root()
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	ignored := ignoredFolders()
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if p := l.pkg(); !slices.ContainsFunc(ignored, func(dir string) bool { return within(p.Path, dir) }) {
			all = append(all, p)
		}
	}
}

func (l listed) pkg() pkg {
	p := pkg{Path: relative(l.ImportPath), Dir: l.Dir, Files: slices.Concat(l.GoFiles, l.CgoFiles, l.IgnoredGoFiles)}
	p.Tests = slices.Concat(l.TestGoFiles, l.XTestGoFiles)
	for _, i := range l.Imports {
		p.Imports = append(p.Imports, relative(i))
	}
	for _, d := range l.Deps {
		p.Deps = append(p.Deps, relative(d))
	}
	return p
}

// relative is the path below the module, or the full one of a foreign package.
func relative(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

// ignoredFolders are the folders that .gitignore names from the root.
func ignoredFolders() []string {
	body, err := os.ReadFile(filepath.Join(root(), ".gitignore"))
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(body)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") && strings.HasSuffix(line, "/") {
			dirs = append(dirs, strings.Trim(line, "/"))
		}
	}
	return dirs
}

// within reports whether p is dir or below it. A * in dir stands for any part of
// one path element.
func within(p, dir string) bool {
	depth := strings.Count(dir, "/") + 1
	elements := strings.Split(p, "/")
	if len(elements) < depth {
		return false
	}
	ok, err := path.Match(dir, strings.Join(elements[:depth], "/"))
	return err == nil && ok
}

func withinAny(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(p, dir) })
}

// all is packages, or the end of the test.
func all(t *testing.T) []pkg {
	t.Helper()
	list, err := packages()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(list) < 3 {
		t.Fatalf("go list found only %d packages", len(list))
	}
	return list
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, dir string
		want      bool
	}{
		{"worker", "worker", true},
		{"worker/environment", "worker", true},
		{"workers", "worker", false},
		{"internal", "internal/natsx", false},
		{"internal/devstore", "internal/dev*", true},
		{"internal/devstore/x", "internal/dev*", true},
		{"internal/natsx", "internal/dev*", false},
		{"github.com/nats-io/nats.go/jetstream", "github.com/nats-io/nats.go", true},
		{"github.com/nats-io/nats-server/v2/server", "github.com/nats-io/nats.go", false},
	} {
		if got := within(tt.path, tt.dir); got != tt.want {
			t.Errorf("within(%q, %q) = %v", tt.path, tt.dir, got)
		}
	}
}
