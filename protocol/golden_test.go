package protocol_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/browserfleet/browserfleet/protocol"
)

// golden are the examples in testdata: what clients in other languages can test
// themselves with. A file's type is its folder, or in message its name up to the
// first underscore that makes it unknown.
var golden = map[string]reflect.Type{
	"request":          reflect.TypeFor[protocol.Request](),
	"result":           reflect.TypeFor[protocol.Result](),
	"owner_record":     reflect.TypeFor[protocol.OwnerRecord](),
	"observation":      reflect.TypeFor[protocol.Observation](),
	"event":            reflect.TypeFor[protocol.Event](),
	"heartbeat":        reflect.TypeFor[protocol.Heartbeat](),
	"worker_record":    reflect.TypeFor[protocol.WorkerRecord](),
	"assignment":       reflect.TypeFor[protocol.Assignment](),
	"control_reply":    reflect.TypeFor[protocol.ControlReply](),
	"trim_hint":        reflect.TypeFor[protocol.TrimHint](),
	"result_query":     reflect.TypeFor[protocol.ResultQuery](),
	"result_reply":     reflect.TypeFor[protocol.ResultReply](),
	"owner_info":       reflect.TypeFor[protocol.OwnerInfo](),
	"owners_reply":     reflect.TypeFor[protocol.OwnersReply](),
	"workers_reply":    reflect.TypeFor[protocol.WorkersReply](),
	"drain_query":      reflect.TypeFor[protocol.DrainQuery](),
	"acquire_query":    reflect.TypeFor[protocol.AcquireQuery](),
	"acquire_reply":    reflect.TypeFor[protocol.AcquireReply](),
	"release_query":    reflect.TypeFor[protocol.ReleaseQuery](),
	"owner_query":      reflect.TypeFor[protocol.OwnerQuery](),
	"control_query":    reflect.TypeFor[protocol.ControlQuery](),
	"holder_query":     reflect.TypeFor[protocol.HolderQuery](),
	"quotas":           reflect.TypeFor[protocol.Quotas](),
	"held_query":       reflect.TypeFor[protocol.HeldQuery](),
	"held_reply":       reflect.TypeFor[protocol.HeldReply](),
	"coordinator_beat": reflect.TypeFor[protocol.CoordinatorBeat](),
	"explain_reply":    reflect.TypeFor[protocol.ExplainReply](),

	"dispatch_entry": reflect.TypeFor[protocol.DispatchEntry](),
}

func messageOf(path string) string {
	dir, file := filepath.Split(path)
	name := filepath.Base(dir)
	if name != "message" {
		return name
	}
	name = strings.TrimSuffix(file, ".json")
	for golden[name] == nil && strings.Contains(name, "_") {
		name = name[:strings.LastIndexByte(name, '_')]
	}
	return name
}

func TestGoldenExamples(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, path := range goldenFiles(t, "*/*.json") {
		name := messageOf(path)
		seen[name] = true
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			body := read(t, path)
			if err := schemaOf(t, name).Validate(document(t, body)); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
			// Strictly: an example with a field that the type lacks teaches nonsense.
			value := reflect.New(golden[name])
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.DisallowUnknownFields()
			if err := dec.Decode(value.Interface()); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(value.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(document(t, body), document(t, again)); diff != "" {
				t.Errorf("Go writes it differently (-file +Go):\n%s", diff)
			}
		})
	}
	for name := range golden {
		if !seen[name] {
			t.Errorf("%s has no example", name)
		}
	}
}

func TestGoldenRequestOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, kind := range protocol.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			body := read(t, filepath.Join("testdata", "request", string(kind)+".json"))
			info, _ := kind.Lookup()
			action, refused := protocol.ParseAction(body, info.Lane)
			if refused != nil || action.Kind != kind {
				t.Fatalf("%s: %v", action.Kind, refused)
			}
			if _, _, err := protocol.ParseRequestID(string(action.ID)); err != nil {
				t.Error(err)
			}
			// Every field of the example is one of the kind's.
			raw := action.Request.Args
			if len(raw) == 0 {
				return
			}
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.DisallowUnknownFields()
			if err := dec.Decode(reflect.New(reflect.TypeOf(action.Args).Elem()).Interface()); err != nil {
				t.Error(err)
			}
		})
	}
	if n := len(goldenFiles(t, "request/*.json")); n != len(protocol.Kinds()) {
		t.Errorf("%d examples for %d kinds", n, len(protocol.Kinds()))
	}
}

func TestGoldenResultsCoverEveryStatus(t *testing.T) {
	t.Parallel()
	seen := map[protocol.Status]bool{}
	for _, path := range goldenFiles(t, "result/*.json") {
		var r protocol.Result
		if err := json.Unmarshal(read(t, path), &r); err != nil {
			t.Fatal(err)
		}
		seen[r.Status] = true
		if (r.Error != nil) == (r.Status == protocol.StatusOK) {
			t.Errorf("%s: status %s, error %v", path, r.Status, r.Error)
		}
	}
	if len(seen) != 5 {
		t.Errorf("only %v", seen)
	}
}

// TestSchemaAndParserAgree: what ParseAction accepts, the schema accepts; and
// where a required field is missing, both refuse.
func TestSchemaAndParserAgree(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, "request")
	for kind, cases := range argsCases {
		for _, args := range cases.good {
			if args == "" || args == "null" {
				continue
			}
			body := fmt.Sprintf(`{"v":1,"kind":%q,"args":%s}`, kind, strings.ReplaceAll(args, `" e7 "`, `"e7"`))
			if err := schema.Validate(document(t, []byte(body))); err != nil {
				t.Errorf("%.120s: %v", body, err)
			}
		}
	}
	for name, body := range map[string]string{
		"no version": `{"kind":"observe"}`, "version 2": `{"v":2,"kind":"observe"}`, "no kind": `{"v":1}`,
		"unknown kind": `{"v":1,"kind":"fly"}`, "click without a ref": `{"v":1,"kind":"click","args":{}}`,
		"click without args": `{"v":1,"kind":"click"}`, "open without a URL": `{"v":1,"kind":"open","args":{}}`,
		"illegal id": `{"v":1,"kind":"observe","id":"mine"}`, "long budget": `{"v":1,"kind":"observe","budget_ms":600001}`,
		"check without checked": `{"v":1,"kind":"check","args":{"element_ref":"e1"}}`,
	} {
		if err := schema.Validate(document(t, []byte(body))); err == nil {
			t.Errorf("%s: the schema accepts %s", name, body)
		}
	}
}

func goldenFiles(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", filepath.FromSlash(pattern)))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples %s: %v", pattern, err)
	}
	// The corpus of the fuzz targets stands beside them.
	var files []string
	for _, path := range paths {
		if !strings.Contains(path, "fuzz") {
			files = append(files, path)
		}
	}
	return files
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func document(t *testing.T, body []byte) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	path := filepath.Join("schema", name+".json")
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(path, document(t, read(t, path))); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
