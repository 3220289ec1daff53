package mcpserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/protocol/compact"
)

// failure is why there is nothing to show, nil where there is.
func (a answer) failure() *protocol.Error {
	var failed *protocol.Error
	switch {
	case errors.As(a.err, &failed):
		return failed
	case a.err != nil:
		return protocol.Errorf(protocol.CodeUnavailable, "%v", a.err)
	case a.result.Status != protocol.StatusOK && a.result.Error != nil:
		return a.result.Error
	case a.result.Status != protocol.StatusOK:
		return protocol.Errorf(protocol.CodeInternal, "status %s without an error", a.result.Status)
	}
	return nil
}

// failed is an answer about a call that never became a request.
func (s *Server) failed(err *protocol.Error) *mcp.CallToolResult {
	lines := append(s.takeUntold(), errorLine(err))
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(lines, "\n")}}}
}

// tell is the answer that a model reads.
func (s *Server) tell(t *tool, a answer) *mcp.CallToolResult {
	lines := s.takeUntold()
	failed := a.failure()
	if r := a.result; r != nil {
		lines = append(lines, notes(r)...)
	}
	if failed != nil {
		lines = append(lines, errorLine(failed))
	} else {
		lines = append(lines, statusLine(a.result))
	}
	out := &mcp.CallToolResult{IsError: failed != nil}
	if r := a.result; r != nil {
		lines = append(lines, happened(r.Transition)...)
		if r.Extraction != nil {
			lines = append(lines, extraction(r.Extraction))
		}
		if r.Data != nil {
			lines = append(lines, strings.TrimSpace(compact.Untrusted(compact.Text(string(r.Data)))))
		}
		if r.Observation != nil {
			lines = append(lines, strings.TrimSpace(compact.Observation(r.Observation, compact.Options{Next: next(r.Observation)})))
		}
		if p := r.Screenshot; p != nil {
			out.Content = append(out.Content, &mcp.ImageContent{MIMEType: p.MediaType, Data: p.Data})
		}
	}
	out.Content = append([]mcp.Content{&mcp.TextContent{Text: strings.Join(lines, "\n")}}, out.Content...)
	return out
}

// next says in this surface's words how an observation goes on.
func next(o *protocol.Observation) string {
	if o.Continuation == "" {
		return ""
	}
	return "browser_observe_next with continuation " + string(o.Continuation)
}

func statusLine(r *protocol.Result) string {
	line := "ok: " + string(r.Kind)
	if r.Verdict != "" {
		line += ", " + string(r.Verdict)
	}
	if p := r.Screenshot; p != nil {
		line += fmt.Sprintf(", %d x %d", p.Width, p.Height)
	}
	return line
}

// errorLine is one line: code, dispatched, what to do next, whether the same call
// may help.
func errorLine(e *protocol.Error) string {
	line := fmt.Sprintf("error: %s: %s (dispatched=%s, retryable=%v", e.Code, oneLine(e.Message), cmp.Or(e.Dispatched, protocol.DispatchedNo), e.Retryable)
	if e.RecommendedAction != "" {
		line += ", next: " + oneLine(e.RecommendedAction)
	}
	return line + ")"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// notes are what the model must know before the rest.
func notes(r *protocol.Result) []string {
	var lines []string
	if x := r.Restored; x != nil {
		line := fmt.Sprintf("NOTE: the browser was restored (generation %d, from %s, because of %s)", x.Generation, x.From, oneLine(x.Reason))
		if x.CheckpointAt != nil {
			line += fmt.Sprintf("; its state is %s old", (time.Duration(x.AgeMS) * time.Millisecond).Round(time.Second))
		}
		for _, l := range x.Lost {
			line += "; lost: " + oneLine(l.What) + " (" + oneLine(l.Reason) + ")"
		}
		if len(x.StateLost) > 0 {
			line += fmt.Sprintf("; %d answered actions are not in the restored state", len(x.StateLost))
		}
		lines = append(lines, line+". Refs of before mean nothing now.")
	}
	for _, w := range r.Warnings {
		lines = append(lines, fmt.Sprintf("warning: %s: %s", w.Code, oneLine(w.Message)))
	}
	return lines
}

// happened is what came beside the action.
func happened(t *protocol.Transition) []string {
	if t == nil {
		return nil
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, oneLine(fmt.Sprintf(format, args...))) }
	for _, d := range t.Denied {
		add("the page tried %s:%d, refused: %s", d.Host, d.Port, d.Reason)
	}
	for _, p := range t.Popups {
		add("the page opened a window, which was closed: %s", p)
	}
	for _, d := range t.Downloads {
		add("the page began a download, refused: %s", d)
	}
	for _, p := range t.Prompts {
		add("the page asked for %s, refused", p.Type)
	}
	for _, id := range t.TabsOpened {
		add("tab %s opened", id)
	}
	for _, id := range t.TabsCrashed {
		add("tab %s crashed", id)
	}
	errorsLogged := 0
	for _, c := range t.Console {
		if c.Level == "error" || c.Level == "exception" {
			errorsLogged += max(c.Count, 1)
		}
	}
	if errorsLogged > 0 {
		add("the page logged %d errors", errorsLogged)
	}
	return lines
}

// extraction is the rows, a JSON object a line.
func extraction(x *protocol.Extraction) string {
	var b strings.Builder
	for _, row := range x.Rows {
		raw, _ := json.Marshal(row) // strings encode
		b.Write(raw)
		b.WriteByte('\n')
	}
	head := fmt.Sprintf("%d of %d", len(x.Rows), x.Total)
	if x.Kind == protocol.KindExtractArticle {
		head = fmt.Sprintf("article, %d characters in all", x.Total)
	}
	if x.NextOffset > 0 {
		head += fmt.Sprintf("; offset %d goes on", x.NextOffset)
	}
	for _, f := range x.Found {
		if f.Index != x.Index {
			head += fmt.Sprintf("; index %d: %s, %d rows", f.Index, oneLine(cmp.Or(f.Name, "without a name")), f.Rows)
		}
	}
	return head + "\n" + strings.TrimSpace(compact.Untrusted(strings.TrimSpace(compact.Text(b.String()))))
}
