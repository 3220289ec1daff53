package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCommittedFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	root, files := generated(t)
	if err := Differences(root, files); err != nil {
		t.Error(err)
	}
}

func TestGenerationIsStable(t *testing.T) {
	t.Parallel()
	_, first := generated(t)
	_, second := generated(t)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two runs differ (-first +second):\n%s", diff)
	}
}

func TestEverySchemaCompiles(t *testing.T) {
	t.Parallel()
	_, files := generated(t)
	for name, body := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(name, doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := c.Compile(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDifferencesNameStaleMissingAndStrayFiles(t *testing.T) {
	t.Parallel()
	root, files := generated(t)
	delete(files, schemaDir+"/event.json")
	files[schemaDir+"/result.json"] = []byte("{}")
	files["docs/not-there.md"] = nil
	err := Differences(root, files)
	if err == nil {
		t.Fatal("no differences found")
	}
	for _, want := range []string{"event.json describes no message", "result.json differs", "not-there.md"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

// TestEnumsHoldEveryConstant reads the source of package protocol: Go cannot
// list the constants of a type.
func TestEnumsHoldEveryConstant(t *testing.T) {
	t.Parallel()
	root, _ := generated(t)
	constants := stringConstants(t, filepath.Join(root, "protocol"))
	for typ, values := range enums {
		got := map[string]bool{}
		for _, v := range values {
			got[fmt.Sprint(v)] = true
		}
		want := constants[typ.Name()]
		if typ == reflect.TypeFor[protocol.RecordState]() {
			delete(want, "") // RecordNone is the absence of a record
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-source +enums.go):\n%s", typ.Name(), diff)
		}
	}
}

// TestEveryTypeOfTheWireIsInASchema: a message that somebody adds to package
// protocol is one to add to messages, too.
func TestEveryTypeOfTheWireIsInASchema(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, m := range messages {
		cover(covered, reflect.TypeOf(m))
	}
	for _, kind := range protocol.Kinds() {
		cover(covered, reflect.TypeOf(argsOf(kind)))
	}
	root, _ := generated(t)
	for _, name := range taggedStructs(t, filepath.Join(root, "protocol")) {
		if !covered[name] {
			t.Errorf("%s is in no schema: add it to messages", name)
		}
	}
}

// cover names the struct types that are reachable from a type.
func cover(names map[string]bool, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		cover(names, typ.Elem())
	case reflect.Struct:
		if names[typ.Name()] {
			return
		}
		names[typ.Name()] = true
		for i := range typ.NumField() {
			cover(names, typ.Field(i).Type)
		}
	}
}

// taggedStructs are a package's exported structs with JSON tags.
func taggedStructs(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, file := range parsedFiles(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			typ, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := typ.Type.(*ast.StructType)
			if !ok || !typ.Name.IsExported() {
				return true
			}
			for _, f := range fields.Fields.List {
				if f.Tag != nil && strings.Contains(f.Tag.Value, "json:") {
					names = append(names, typ.Name.Name)
					break
				}
			}
			return true
		})
	}
	if len(names) < 20 {
		t.Fatalf("only %v", names)
	}
	return names
}

func TestErrorPageHasEveryCodeOnce(t *testing.T) {
	t.Parallel()
	page := string(errorPage())
	for _, row := range protocol.Codes() {
		if n := strings.Count(page, "| `"+string(row.Code)+"` |"); n != 1 {
			t.Errorf("%s has %d rows", row.Code, n)
		}
	}
}

func generated(t *testing.T) (string, map[string][]byte) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, files
}

// stringConstants are the typed string constants of a package, by type.
func stringConstants(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, file := range parsedFiles(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			typ, ok := spec.Type.(*ast.Ident)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if all[typ.Name] == nil {
					all[typ.Name] = map[string]bool{}
				}
				all[typ.Name][strings.Trim(lit.Value, `"`)] = true
			}
			return true
		})
	}
	return all
}

func parsedFiles(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
