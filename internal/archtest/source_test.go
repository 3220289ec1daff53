package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sourceRules look at one parsed file.
var sourceRules = []func(source) []string{sleeps, skips, goStatements, contexts, emptyNames}

// source is a parsed file; test is set for tests and test support.
type source struct {
	name string
	test bool
	file *ast.File
	fset *token.FileSet
}

func (s source) at(n ast.Node, text string) string {
	return fmt.Sprintf("%s:%d: %s", s.name, s.fset.Position(n.Pos()).Line, text)
}

func (s source) imports(path string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

// sleeps: a test that sleeps is slow on a fast machine and fails on a slow one.
// In a bubble of testing/synctest time is virtual.
func sleeps(s source) []string {
	if !s.test || s.imports("testing/synctest") {
		return nil
	}
	return s.calls(func(x, name string) bool { return x == "time" && name == "Sleep" }, "time.Sleep in a test")
}

// skips: what is missing fails.
func skips(s source) []string {
	if !s.test {
		return nil
	}
	return s.calls(func(x, name string) bool {
		return slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, name) && slices.Contains([]string{"t", "b", "f", "tb"}, x)
	}, "a test that skips")
}

func (s source) calls(match func(x, name string) bool, text string) []string {
	var bad []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && match(x.Name, sel.Sel.Name) {
			bad = append(bad, s.at(call, text))
		}
		return true
	})
	return bad
}

var mayGo = regexp.MustCompile(`^(Run|Start[A-Z]?.*|run.*|start[A-Z].*)$`)

// goStatements: a reader finds every goroutine by the name of its function.
func goStatements(s source) []string {
	if s.test {
		return nil
	}
	var bad []string
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || mayGo.MatchString(fn.Name.Name) {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				bad = append(bad, s.at(n, "go statement in "+fn.Name.Name+"; want Run, Start, run... or start..."))
			case *ast.CallExpr: // sync.WaitGroup and errgroup.Group
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" {
					bad = append(bad, s.at(n, "a goroutine begins in "+fn.Name.Name+"; want Run, Start, run... or start..."))
				}
			}
			return true
		})
	}
	return bad
}

// contexts: first parameter, no field.
func contexts(s source) []string {
	var bad []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			for i, p := range n.Type.Params.List {
				if i > 0 && isContext(p.Type) && !s.test {
					bad = append(bad, s.at(n, n.Name.Name+": the context is not the first parameter"))
				}
			}
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if isContext(f.Type) && !s.test {
					bad = append(bad, s.at(f, "a struct keeps a context"))
				}
			}
		}
		return true
	})
	return bad
}

func isContext(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "context" && sel.Sel.Name == "Context"
}

var (
	emptyPackage = regexp.MustCompile(`^(util|utils|helpers?|common|base|models?|types|misc|shared)$`)
	emptyType    = regexp.MustCompile(`(Manager|Helper|Util|Utils)$|^(Base|Common)[A-Z]`)
)

// emptyNames: a name that fits everything tells nothing.
func emptyNames(s source) []string {
	var bad []string
	if emptyPackage.MatchString(s.file.Name.Name) {
		bad = append(bad, s.at(s.file.Name, "package "+s.file.Name.Name))
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if typ, ok := n.(*ast.TypeSpec); ok && emptyType.MatchString(typ.Name.Name) {
			bad = append(bad, s.at(typ, "type "+typ.Name.Name))
		}
		return true
	})
	return bad
}

func TestSource(t *testing.T) {
	t.Parallel()
	for _, p := range all(t) {
		for _, name := range slices.Concat(p.Files, p.Tests) {
			path := filepath.Join(p.Dir, name)
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			s := source{filepath.Join(p.Path, name), p.testSupport() || strings.HasSuffix(name, "_test.go"), file, fset}
			for _, rule := range sourceRules {
				report(t, rule(s))
			}
		}
	}
}

func TestEveryPackageHasADocFile(t *testing.T) {
	t.Parallel()
	for _, p := range all(t) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "doc.go"), nil, parser.ParseComments)
		if err != nil {
			t.Errorf("%s: %v", p.Path, err)
			continue
		}
		if lines := strings.Count(file.Doc.Text(), "\n"); lines < 5 {
			t.Errorf("%s: its package comment has %d lines", p.Path, lines)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, path := range textFiles(t) {
		limit := 0
		switch {
		case strings.HasSuffix(path, "_test.go"):
			limit = 1000
		case strings.HasSuffix(path, ".go"), strings.HasSuffix(path, ".js"):
			limit = 800
		default:
			continue
		}
		body, err := os.ReadFile(filepath.Join(root(), path))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(body), "\n"); n > limit {
			t.Errorf("%s has %d lines; at most %d", path, n, limit)
		}
	}
}

func TestSourceRulesBite(t *testing.T) {
	t.Parallel()
	const code = `package util
import ("context"; "testing"; "time")
type EnvironmentManager struct { ctx context.Context }
func TestX(t *testing.T) { time.Sleep(1); t.Skip("later"); tt.Skip() }
func launch(n int, ctx context.Context) { go func() {}() }
func runLoop(ctx context.Context) { go launch(1, ctx) }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	check := func(test bool, want ...string) {
		t.Helper()
		var got []string
		for _, rule := range sourceRules {
			got = append(got, rule(source{"x.go", test, file, fset})...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("test=%v (-want +got):\n%s", test, diff)
		}
	}
	check(false,
		"x.go:5: go statement in launch; want Run, Start, run... or start...",
		"x.go:3: a struct keeps a context",
		"x.go:5: launch: the context is not the first parameter",
		"x.go:1: package util", "x.go:3: type EnvironmentManager")
	check(true,
		"x.go:4: time.Sleep in a test", "x.go:4: a test that skips",
		"x.go:1: package util", "x.go:3: type EnvironmentManager")
}
