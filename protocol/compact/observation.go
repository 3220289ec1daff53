package compact

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/browserfleet/browserfleet/protocol"
)

// Limits of what one line shows, in characters.
const (
	maxName  = 200
	maxURL   = 300
	maxTitle = 120
	maxValue = 100
	maxWord  = 32
)

// Options change what is written; the zero value is the form for models.
type Options struct {
	// MaxText bounds the page's text, in characters; 0 for all there is, less than 0
	// for none.
	MaxText int
	// Next is how to go on, when that is not observe_next with the continuation.
	Next string
	// Hrefs adds the addresses of links.
	Hrefs bool
}

// Observation is an observation as text.
func Observation(o *protocol.Observation, opts Options) string {
	w := &writer{opts: opts}
	w.header(o)
	w.obstacles(o)
	if d := o.Difference; d != nil && d.Whole == "" {
		w.difference(d)
	} else {
		w.elements(o)
	}
	w.text(o)
	return w.String()
}

type writer struct {
	strings.Builder
	opts Options
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *writer) header(o *protocol.Observation) {
	w.line("page %q %s [%s]", Line(o.Title, maxTitle), Line(o.URL, maxURL), o.ID)
	if o.Stale {
		w.line("stale: the page could not be read; this is the last that is known of it")
	}
	if len(o.Tabs) > 1 {
		w.tabs(o.Tabs)
	}
	if o.ContentType != "" {
		w.line("a document of type %s, no page", Line(o.ContentType, maxName))
	}
	if s := o.Scope; s != nil {
		w.line("only%s", scope(s))
	}
	if d := o.Difference; d != nil && d.Whole != "" {
		w.line("whole, not as a difference to %s: %s", d.Since, Line(d.Whole, maxWord))
	}
	if cut := w.extent(o); cut != "" {
		w.line("%s", cut)
	}
}

func scope(s *protocol.Scope) string {
	var b strings.Builder
	for _, part := range []struct{ name, value string }{
		{"in", string(s.ElementRef)},
		{"in", string(s.GroupRef)},
		{"in frame", string(s.FrameID)},
		{"role", s.Role},
	} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s %s", part.name, Line(part.value, maxName))
		}
	}
	if s.Search != "" {
		fmt.Fprintf(&b, " what has %q", Line(s.Search, maxName))
	}
	return b.String()
}

// extent says how much of the page is shown and how to see more; nothing when it is
// all there is.
func (w *writer) extent(o *protocol.Observation) string {
	var parts []string
	if d := o.Difference; d == nil || d.Whole != "" {
		if o.ElementsTruncated || o.ElementOffset > 0 {
			parts = append(parts, "elements "+span(o.ElementOffset, len(o.Elements), o.TotalElements))
		}
		if o.TextTruncated || o.TextOffset > 0 {
			parts = append(parts, "text "+span(o.TextOffset, utf8.RuneCountInString(o.Text), o.TotalTextChars))
		}
	}
	if o.TotalMatches != nil {
		n := 0
		for _, m := range o.Matches {
			n += max(m.Count, 1)
		}
		parts = append(parts, "found "+span(o.MatchOffset, n, *o.TotalMatches))
	}
	if o.Partial {
		parts = append(parts, "the page was not read whole")
	}
	if o.Continuation != "" {
		next := "observe_next " + string(o.Continuation)
		if w.opts.Next != "" {
			next = w.opts.Next
		}
		parts = append(parts, "more: "+next)
	}
	if o.UnkeptElements > 0 || o.UnkeptTextChars > 0 || o.UnkeptMatches > 0 {
		parts = append(parts, fmt.Sprintf("not kept: %d elements, %d characters, %d finds; observe a part or search", o.UnkeptElements, o.UnkeptTextChars, o.UnkeptMatches))
	}
	return strings.Join(parts, "; ")
}

// span is which of all a slice has.
func span(offset, n, total int) string {
	if n == 0 {
		return "0 of " + strconv.Itoa(total)
	}
	return fmt.Sprintf("%d-%d of %d", offset+1, offset+n, total)
}

// Tabs are the open tabs, one line each.
func Tabs(tabs []protocol.Tab) string {
	w := &writer{}
	w.tabs(tabs)
	return w.String()
}

func (w *writer) tabs(tabs []protocol.Tab) {
	for _, t := range tabs {
		shown := ""
		if t.Current {
			shown = " [shown]"
		}
		if t.Crashed {
			shown += " [crashed]"
		}
		if t.Opener != "" {
			shown += " [opened by " + string(t.Opener) + "]"
		}
		w.line("tab %s %q %s%s", t.ID, Line(t.Title, maxTitle), Line(t.URL, maxURL), shown)
	}
}

// obstacles are what is in the agent's way.
func (w *writer) obstacles(o *protocol.Observation) {
	for _, d := range o.PendingDialogs {
		text := ""
		if d.DefaultPrompt != "" {
			text = fmt.Sprintf(" default=%q", Line(d.DefaultPrompt, maxValue))
		}
		w.line("dialog open: %s %q%s [%s]", d.Type, Line(d.Message, maxName), text, d.ID)
	}
	for _, f := range o.UnreadFrames {
		w.line("frame not read, %s: %s", Line(f.Reason, maxWord), Line(f.URL, maxURL))
	}
}
