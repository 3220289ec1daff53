package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// request makes a tool's arguments a request of the protocol, checked as a worker
// would check it.
func (t *tool) request(arguments json.RawMessage) (protocol.Request, *protocol.Error) {
	req := protocol.Request{V: protocol.Version, ID: protocol.NewRequestID(time.Now()), Kind: t.kind}
	given := map[string]json.RawMessage{}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return req, protocol.Errorf(protocol.CodeInvalidArgument, "arguments: want an object")
		}
	}
	args, envelope := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, value := range given {
		switch {
		case !slices.ContainsFunc(t.fields, func(f field) bool { return f.name == name }):
			// Never ignored: what a model meant by it would not happen.
			return req, protocol.Errorf(protocol.CodeInvalidArgument, "%s has no argument %.40q; it has %s", t.name, name, t.names())
		case name == tabField.name:
			if err := json.Unmarshal(value, &req.Tab); err != nil {
				return req, protocol.Errorf(protocol.CodeInvalidArgument, "tab: want the id of a tab, such as t1")
			}
		case ofEnvelope[name]:
			envelope[name] = value
		default:
			args[name] = value
		}
	}
	for _, name := range t.required {
		if _, ok := given[name]; !ok {
			return req, protocol.Errorf(protocol.CodeInvalidArgument, "%s: %s is missing", t.name, name)
		}
	}
	if len(args) > 0 {
		req.Args, _ = json.Marshal(args) // raw values encode
	}
	if len(envelope) > 0 {
		raw, _ := json.Marshal(envelope)
		if err := json.Unmarshal(raw, &req.Observe); err != nil {
			return req, protocol.Errorf(protocol.CodeInvalidArgument, "%s: %v", t.name, err)
		}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return req, protocol.Errorf(protocol.CodeInvalidArgument, "%v", err)
	}
	info, _ := t.kind.Lookup()
	_, refused := protocol.ParseAction(body, info.Lane)
	return req, refused
}

func (t *tool) names() string {
	if len(t.fields) == 0 {
		return "none"
	}
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}
