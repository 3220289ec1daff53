package cdp

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// SessionID names a flattened session; the empty one is the browser itself.
type SessionID string

// Event is a message of the browser that answers no call.
type Event struct {
	Session SessionID
	Method  string
	Params  jsonv2.Value
}

// Decode reads the parameters of the event into v, a pointer to one of cdproto's
// event types.
func (e Event) Decode(v any) error {
	if err := decode(e.Params, v); err != nil {
		return fmt.Errorf("cdp: event %s: %w", e.Method, err)
	}
	return nil
}

// envelope is what the reader looks at. It is read with encoding/json because
// that package, unlike version 2, tolerates duplicate member names: a page can
// make Chromium send them (two keys with lone surrogates become one key), and
// they must fail the caller who asked, not the connection.
type envelope struct {
	ID        int64           `json:"id"`
	SessionID SessionID       `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     *replyError     `json:"error"`
}

type replyError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

var jsonOptions = jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))

func decode(raw jsonv2.Value, v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case *jsonv2.Value:
		*v = raw
		return nil
	}
	if len(raw) == 0 {
		raw = jsonv2.Value("{}")
	}
	return jsonv2.Unmarshal(raw, v, jsonOptions)
}

func encodeParams(params any) (jsonv2.Value, error) {
	if params == nil {
		return nil, nil
	}
	return jsonv2.Marshal(params, jsonOptions)
}

// frame writes a command by hand, so that large parameters are encoded once and
// outside of every lock. Method and session come from code and from the browser;
// Quote of their ASCII is JSON.
func frame(id int64, session SessionID, method string, params jsonv2.Value) []byte {
	out := make([]byte, 0, len(params)+len(method)+len(session)+64)
	out = append(out, `{"id":`...)
	out = strconv.AppendInt(out, id, 10)
	out = append(out, `,"method":`...)
	out = strconv.AppendQuote(out, method)
	if session != "" {
		out = append(out, `,"sessionId":`...)
		out = strconv.AppendQuote(out, string(session))
	}
	if len(params) > 0 {
		out = append(out, `,"params":`...)
		out = append(out, params...)
	}
	return append(out, '}')
}
