package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/browserfleet/browserfleet/protocol"
)

const (
	schemaDir   = "protocol/schema"
	schemaBase  = "https://github.com/browserfleet/browserfleet/blob/main/protocol/schema/"
	protocolPkg = "github.com/browserfleet/browserfleet/protocol"
)

// messages are the bodies that cross a process boundary, by file name.
var messages = map[string]any{
	"request":          protocol.Request{},
	"result":           protocol.Result{},
	"event":            protocol.Event{},
	"observation":      protocol.Observation{},
	"owner_record":     protocol.OwnerRecord{},
	"heartbeat":        protocol.Heartbeat{},
	"worker_record":    protocol.WorkerRecord{},
	"assignment":       protocol.Assignment{},
	"control_reply":    protocol.ControlReply{},
	"trim_hint":        protocol.TrimHint{},
	"result_query":     protocol.ResultQuery{},
	"result_reply":     protocol.ResultReply{},
	"policy_document":  protocol.PolicyDocument{},
	"evidence_query":   protocol.EvidenceQuery{},
	"evidence_reply":   protocol.EvidenceReply{},
	"owner_info":       protocol.OwnerInfo{},
	"owners_reply":     protocol.OwnersReply{},
	"workers_reply":    protocol.WorkersReply{},
	"drain_query":      protocol.DrainQuery{},
	"acquire_query":    protocol.AcquireQuery{},
	"acquire_reply":    protocol.AcquireReply{},
	"release_query":    protocol.ReleaseQuery{},
	"owner_query":      protocol.OwnerQuery{},
	"control_query":    protocol.ControlQuery{},
	"holder_query":     protocol.HolderQuery{},
	"quotas":           protocol.Quotas{},
	"held_query":       protocol.HeldQuery{},
	"held_reply":       protocol.HeldReply{},
	"coordinator_beat": protocol.CoordinatorBeat{},
	"explain_reply":    protocol.ExplainReply{},
	// A line of a file, not a message; checkers in any language read it.
	"dispatch_entry": protocol.DispatchEntry{},
}

// schemas are the schema files by path.
func schemas(root string) (map[string][]byte, error) {
	comments, err := fieldComments(filepath.Join(root, "protocol"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, message := range messages {
		r := reflector(comments)
		s := r.Reflect(message)
		if v, ok := s.Properties.Get("v"); ok {
			v.Const = protocol.Version
		}
		if name == "request" {
			narrowRequest(s)
			addArgs(r, s)
		}
		s.ID = jsonschema.ID(schemaBase + name + ".json")
		s.Title = name
		body, err := encode(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[schemaDir+"/"+name+".json"] = body
	}
	return files, nil
}

func reflector(comments map[string]string) *jsonschema.Reflector {
	return &jsonschema.Reflector{
		AllowAdditionalProperties: true,
		ExpandedStruct:            true,
		Mapper:                    mapType,
		LookupComment: func(t reflect.Type, field string) string {
			if t.PkgPath() != protocolPkg {
				return ""
			}
			return comments[t.Name()+"."+field]
		},
	}
}

// mapType describes the types that reflection cannot.
func mapType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[protocol.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{} // any JSON value
	case reflect.TypeFor[protocol.Kind]():
		return &jsonschema.Schema{Type: "string", Enum: kindNames()}
	case reflect.TypeFor[protocol.Code]():
		return &jsonschema.Schema{Type: "string", Enum: codeNames()}
	}
	if values, ok := enums[t]; ok {
		return &jsonschema.Schema{Type: "string", Enum: values}
	}
	if pattern, ok := patterns[t]; ok {
		return &jsonschema.Schema{Type: "string", Pattern: pattern}
	}
	return nil
}

func sortedKinds() []protocol.Kind {
	all := protocol.Kinds()
	slices.Sort(all)
	return all
}

func kindNames() []any {
	var names []any
	for _, k := range sortedKinds() {
		names = append(names, k)
	}
	return names
}

func codeNames() []any {
	var names []any
	for _, row := range protocol.Codes() {
		names = append(names, row.Code)
	}
	return names
}

// requestID is what an agent may send: a ULID or a UUIDv7 in its one spelling.
// Results have a third form, for requests that came without an id.
const requestID = `^([0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$`

// narrowRequest adds the limits of the envelope.
func narrowRequest(s *jsonschema.Schema) {
	field := func(name string) *jsonschema.Schema {
		f, _ := s.Properties.Get(name)
		return f
	}
	field("id").Pattern = requestID
	field("queue_deadline_ms").Minimum = "0"
	field("queue_deadline_ms").Maximum = json.Number(strconv.FormatInt(protocol.MaxQueueDeadline.Milliseconds(), 10))
	field("budget_ms").Minimum = "0"
	field("budget_ms").Maximum = json.Number(strconv.FormatInt(protocol.MaxRunBudget.Milliseconds(), 10))
}

// addArgs says which args belong to which kind: allOf of if/then, one a kind.
func addArgs(r *jsonschema.Reflector, s *jsonschema.Schema) {
	if s.Definitions == nil {
		s.Definitions = make(jsonschema.Definitions)
	}
	for _, kind := range sortedKinds() {
		info, _ := kind.Lookup()
		args := r.Reflect(argsOf(kind))
		args.Version, args.ID = "", ""
		// Types within args are found from the document's root.
		for name, def := range args.Definitions {
			s.Definitions[name] = def
		}
		args.Definitions = nil
		if info.NeedsRef {
			args.Required = append([]string{"element_ref"}, args.Required...)
		}
		then := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
		then.Properties.Set("args", args)
		if len(args.Required) > 0 {
			then.Required = []string{"args"}
		}
		is := &jsonschema.Schema{Properties: jsonschema.NewProperties(), Required: []string{"kind"}}
		is.Properties.Set("kind", &jsonschema.Schema{Const: kind})
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: is, Then: then})
	}
}

// argsOf is the kind's empty args, taken from the parser that the services use:
// it returns them also when they are incomplete.
func argsOf(kind protocol.Kind) protocol.Args {
	info, _ := kind.Lookup()
	body := fmt.Sprintf(`{"v":%d,"kind":%q}`, protocol.Version, kind)
	action, _ := protocol.ParseAction([]byte(body), info.Lane)
	return action.Args
}

// encode is the file's text: stable, indented, without HTML escapes.
func encode(s *jsonschema.Schema) ([]byte, error) {
	compact, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	// A decoded number keeps its spelling; escapes of < > & are undone.
	dec := json.NewDecoder(bytes.NewReader(compact))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(doc)
	return out.Bytes(), err
}

// fieldComments are the doc comments of a package's types ("Type.") and of their
// fields ("Type.Field"), one line each.
func fieldComments(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	comments := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			collect(comments, decl)
		}
	}
	return comments, nil
}

func collect(comments map[string]string, decl ast.Decl) {
	gen, ok := decl.(*ast.GenDecl)
	if !ok || gen.Tok != token.TYPE {
		return
	}
	for _, spec := range gen.Specs {
		typ := spec.(*ast.TypeSpec)
		doc := typ.Doc
		if doc == nil && len(gen.Specs) == 1 {
			doc = gen.Doc
		}
		comments[typ.Name.Name+"."] = oneLine(doc)
		fields, ok := typ.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range fields.Fields.List {
			for _, name := range field.Names {
				comments[typ.Name.Name+"."+name.Name] = oneLine(field.Doc)
			}
		}
	}
}

func oneLine(doc *ast.CommentGroup) string {
	return strings.Join(strings.Fields(doc.Text()), " ")
}
