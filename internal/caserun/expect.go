package caserun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

// evaluate asks the page, in its own world, through the escape hatch: it is the
// judge's look, not the agent's.
func (r *run) evaluate(ctx context.Context, expression string) any {
	r.t.Helper()
	out := r.request(ctx, protocol.KindCDP, map[string]any{
		"method": "Runtime.evaluate",
		"params": map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
	})
	if out.Err != nil {
		return fmt.Sprintf("(not evaluated: %v)", out.Err)
	}
	var reply struct {
		Result struct {
			Result struct {
				Value any `json:"value"`
			} `json:"result"`
			ExceptionDetails any `json:"exceptionDetails"`
		} `json:"result"`
	}
	if err := json.Unmarshal(out.Data, &reply); err != nil || reply.Result.ExceptionDetails != nil {
		return fmt.Sprintf("(not evaluated: %v %v)", err, reply.Result.ExceptionDetails)
	}
	return reply.Result.Result.Value
}

func (r *run) tabs(ctx context.Context) int {
	r.t.Helper()
	return len(r.observe(ctx).Tabs)
}

func (r *run) expect(ctx context.Context, e Expect) {
	r.t.Helper()
	switch e.Kind {
	case "probe":
		want := e.OneOf
		if want == nil {
			want = []any{e.Equals}
		}
		var got any
		r.until(ctx, func() bool {
			got = r.evaluate(ctx, e.Expr)
			return slices.ContainsFunc(want, func(w any) bool { return cmp.Equal(got, w) })
		})
		if !slices.ContainsFunc(want, func(w any) bool { return cmp.Equal(got, w) }) {
			r.problem("%s = %v, want %v", e.Expr, got, want)
		}
	case "url":
		if url := r.observe(ctx).URL; !strings.HasSuffix(url, e.EndsWith) {
			r.problem("url is %s, want it to end with %s", url, e.EndsWith)
		}
	case "tabs":
		if got := r.tabs(ctx); float64(got) != e.Equals {
			r.problem("%d tabs, want %v", got, e.Equals)
		}
	case "step_ok", "step_ok_or_error", "step_error":
		r.expectStep(e)
	case "dialog":
		r.expectDialog(e)
	case "download":
		r.problem("download %q: downloads are refused; told of %q", e.Name, r.downloads)
	case "request_header":
		r.expectHeader(e)
	case "cookie_session", "cookie_partition":
		r.expectCookie(ctx, e)
	case "within_ms":
	case "verdict":
		r.expectVerdict(e)
	default:
		r.expectSeen(e)
	}
}

func (r *run) expectStep(e Expect) {
	failed := r.failed[e.Step]
	switch kind := ""; {
	case failed == nil && e.Kind == "step_error":
		r.problem("step %d did not fail, want %v", e.Step, e.AnyOf)
	case failed == nil:
	default:
		kind = kindOf(failed.Code)
		if e.Kind == "step_ok" || !slices.Contains(e.AnyOf, kind) {
			r.problem("step %d failed with %s (%v), want %v", e.Step, kind, failed, e.AnyOf)
		}
	}
}

func (r *run) expectDialog(e Expect) {
	if e.Index >= len(r.dialogs) {
		r.problem("dialog %d: %d were told of", e.Index, len(r.dialogs))
		return
	}
	d := r.dialogs[e.Index]
	if string(d.Type) != e.Type || d.Message != e.Message || d.DefaultPrompt != e.Default {
		r.problem("dialog %d is %s %q %q, want %s %q %q", e.Index, d.Type, d.Message, d.DefaultPrompt, e.Type, e.Message, e.Default)
	}
}

func (r *run) expectHeader(e Expect) {
	for _, request := range r.site.Received(e.Path) {
		value := strings.Join(request.Header.Values(e.Header), "; ")
		if !slices.ContainsFunc(e.Contains, func(part string) bool { return !strings.Contains(value, part) }) {
			return
		}
	}
	r.problem("no request for %s had %s with %q", e.Path, e.Header, e.Contains)
}

func (r *run) expectCookie(ctx context.Context, e Expect) {
	state, err := r.browser.Capture(ctx)
	if err != nil {
		r.problem("capture: %v", err)
		return
	}
	states := []any{}
	for _, c := range state.Cookies {
		if string(c.Name) == e.Name {
			states = append(states, c.Session, c.Partition != nil)
		}
	}
	want := []any{true}
	if len(states) != 2 || e.Kind == "cookie_session" && states[0] != want[0] || e.Kind == "cookie_partition" && states[1] != want[0] {
		r.problem("cookie %s: (session, partitioned) = %v", e.Name, states)
	}
}

// expectVerdict checks the rules that are known here: a page behind a bad
// certificate is not shown, and the error names the certificate.
func (r *run) expectVerdict(Expect) {
	for step, failed := range r.failed {
		if failed.Code == protocol.CodeBadTLS && !strings.Contains(failed.Message, "CERT") {
			r.problem("step %d: %q does not name the certificate", step, failed.Message)
		}
	}
	if r.newest != nil && strings.Contains(r.newest.Text, secretPage) {
		r.problem("a page that cannot be trusted is shown: %q", r.newest.Text)
	}
}

// expectSeen checks what was observed or extracted.
func (r *run) expectSeen(e Expect) {
	r.t.Helper()
	obs := r.seen[e.Observe+e.Extract]
	if obs == nil {
		obs = &protocol.Observation{}
	}
	switch e.Kind {
	case "listed":
		if !isListed(obs, e) {
			r.problem("%s %q %v is not listed in %s: %v", e.Role, e.Name, e.States, e.Observe, lines(obs))
		}
	case "not_listed":
		if len(listed(obs, e)) != 0 {
			r.problem("%s %q is listed in %s", e.Role, e.Name, e.Observe)
		}
	case "count_listed":
		if !isListed(obs, e) {
			r.problem("%s %q is listed %d times, want %v", e.Role, e.Name, len(listed(obs, e)), e.Equals)
		}
	case "text":
		for _, want := range e.Contains {
			if !strings.Contains(obs.Text, want) {
				r.problem("text lacks %q: %.300q", want, obs.Text)
			}
		}
		for _, not := range e.NotContains {
			if strings.Contains(obs.Text, not) {
				r.problem("text has %q: %.300q", not, obs.Text)
			}
		}
	case "well_formed":
		for _, l := range lines(obs) {
			if !utf8.ValidString(l) || strings.ContainsRune(l, utf8.RuneError) {
				r.problem("%q is not well-formed", l)
			}
		}
	case "table":
		r.expectTable(e)
	case "list":
		r.expectList(e)
	default:
		r.t.Errorf("expectation %q is unknown", e.Kind)
	}
}

// isListed says whether an expectation of the kinds listed and count_listed holds.
func isListed(obs *protocol.Observation, e Expect) bool {
	got := len(listed(obs, e))
	switch {
	case e.Kind == "listed":
		return got > 0
	case e.AtLeast != nil:
		return got >= *e.AtLeast
	}
	return float64(got) == e.Equals
}

// listed finds what an expectation names. A heading is text, not an element.
func listed(obs *protocol.Observation, e Expect) []protocol.Element {
	if e.Role == "heading" {
		if strings.Contains(obs.Text, e.Name) {
			return []protocol.Element{{}}
		}
		return nil
	}
	var found []protocol.Element
	for _, el := range obs.Elements {
		if el.Role == e.Role && el.Name == e.Name && hasStates(el, e.States) {
			found = append(found, el)
		}
	}
	return found
}

func hasStates(el protocol.Element, states map[string]any) bool {
	for name, want := range states {
		has := slices.Contains(el.States, name)
		switch name {
		case "value":
			if el.Value != want {
				return false
			}
			continue
		case "clickable": // or it would not be listed
			has = true
		case "file_input":
			has = el.InputType == "file"
		}
		if has != want {
			return false
		}
	}
	return true
}

// expectTable compares a grid whose header rows became column names.
func (r *run) expectTable(e Expect) {
	got := r.extracted[e.Extract]
	if got == nil || len(got.Columns) == 0 || len(got.Rows) > len(e.Rows) {
		r.problem("table %s was not extracted: %+v", e.Extract, got)
		return
	}
	headers := len(e.Rows) - len(got.Rows)
	columns := got.Columns[1:] // after index
	for x, name := range columns {
		var parts []string
		for y := range headers {
			parts = append(parts, e.Rows[y][x])
		}
		if want := strings.Join(slices.Compact(parts), " / "); name != want {
			r.problem("column %d is %q, want %q", x, name, want)
		}
	}
	for y, row := range got.Rows {
		var values []string
		for _, name := range columns {
			values = append(values, row[name])
		}
		if diff := cmp.Diff(e.Rows[headers+y], values); diff != "" {
			r.problem("row %d (-want +got):\n%s", y, diff)
		}
	}
}

// expectList compares items, where those of a nested list stand in an array after
// the item that holds them.
func (r *run) expectList(e Expect) {
	var items []any
	if err := json.Unmarshal(e.Items, &items); err != nil {
		r.t.Fatal(err)
	}
	var want []string
	var add func(items []any, level int)
	add = func(items []any, level int) {
		for _, item := range items {
			if inner, ok := item.([]any); ok {
				add(inner, level+1)
				continue
			}
			want = append(want, fmt.Sprintf("%d %v", level, item))
		}
	}
	add(items, 1)
	got := r.extracted[e.Extract]
	if got == nil {
		r.problem("list %s was not extracted", e.Extract)
		return
	}
	var have []string
	for _, row := range got.Rows {
		have = append(have, orElse(row["level"], "1")+" "+row["text"])
	}
	if diff := cmp.Diff(want, have); diff != "" {
		r.problem("list %s (-want +got):\n%s", e.Extract, diff)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
