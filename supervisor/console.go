package supervisor

import (
	"strings"

	"github.com/browserfleet/browserfleet/supervisor/cdp"
	protocol "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
)

const (
	maxConsoleText = 1024
	// recentConsole is how many distinct messages are kept.
	recentConsole = 50
	// maxConsoleArgs: of one call of console.log.
	maxConsoleArgs = 4
)

// The levels of console messages.
const (
	LevelException = "exception" // nobody caught it
	LevelError     = "error"
	LevelWarning   = "warning"
	LevelLog       = "log" // everything else
)

// ConsoleMessage is what a page, one of its frames or one of its workers wrote to
// the console, an exception that nobody caught, or a remark of the browser (a
// script that the page's policy stopped, an alert that a sandbox forbids).
type ConsoleMessage struct {
	Level string
	Text  string // page text, an exception's with its stack: at most 1 KiB
	// The top of the stack: where it was called or thrown.
	Function     string
	URL          string
	Line, Column int64 // from 1; 0 when not known
	FrameID      protocol.FrameID
	Count        int // how often exactly this came
}

// same says whether two messages differ in nothing but their counts.
func (m *ConsoleMessage) same(o *ConsoleMessage) bool {
	a, b := *m, *o
	a.Count, b.Count = 0, 0
	return a == b
}

// consoleLog keeps distinct messages, each with its count. A message that comes
// again moves to the end. When there is no room, one of the least level goes: a
// chatty page does not talk its own errors away.
type consoleLog struct {
	entries []ConsoleMessage // never changed in place: snapshots share it
	cut     int              // occurrences of messages that went
}

var levelRank = map[string]int{LevelLog: 0, LevelWarning: 1, LevelError: 2, LevelException: 3}

func (c *consoleLog) add(m ConsoleMessage) {
	out := make([]ConsoleMessage, 0, min(len(c.entries)+1, recentConsole+1))
	m.Count = 1
	for i := range c.entries {
		if c.entries[i].same(&m) {
			m.Count += c.entries[i].Count
			continue
		}
		out = append(out, c.entries[i])
	}
	out = append(out, m)
	if len(out) > recentConsole {
		least := 0
		for i := range out {
			if levelRank[out[i].Level] < levelRank[out[least].Level] {
				least = i
			}
		}
		c.cut += out[least].Count
		out = append(out[:least], out[least+1:]...)
	}
	c.entries = out
}

func (p *Page) onConsole(a *attached, e cdp.Event) error {
	var v runtime.EventConsoleAPICalled
	if err := e.Decode(&v); err != nil {
		return err
	}
	m := ConsoleMessage{Level: LevelLog, FrameID: a.contexts[v.ExecutionContextID].frame}
	switch v.Type {
	case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeAssert:
		m.Level = LevelError
	case runtime.ConsoleAPICalledTypeWarning:
		m.Level = LevelWarning
	case runtime.ConsoleAPICalledTypeClear, runtime.ConsoleAPICalledTypeEndGroup:
		return nil
	}
	var parts []string
	for _, arg := range v.Args[:min(len(v.Args), maxConsoleArgs)] {
		parts = append(parts, describe(arg))
	}
	if more := len(v.Args) - maxConsoleArgs; more > 0 {
		parts = append(parts, "…")
	}
	m.Text = strings.Join(parts, " ")
	m.at(v.StackTrace)
	p.keepConsole(m)
	return nil
}

func (p *Page) onException(a *attached, e cdp.Event) error {
	var v runtime.EventExceptionThrown
	if err := e.Decode(&v); err != nil || v.ExceptionDetails == nil {
		return err
	}
	d := v.ExceptionDetails
	m := ConsoleMessage{
		Level: LevelException, URL: d.URL, Line: d.LineNumber + 1, Column: d.ColumnNumber + 1,
		FrameID: a.contexts[d.ExecutionContextID].frame, Text: d.Text, // "Uncaught", mostly
	}
	if d.Exception != nil {
		m.Text += " " + describe(d.Exception)
	}
	m.at(d.StackTrace)
	p.keepConsole(m)
	return nil
}

// onLog takes the browser's own remarks. Requests that failed are told elsewhere,
// and with their reason.
func (p *Page) onLog(a *attached, e cdp.Event) error {
	var v log.EventEntryAdded
	if err := e.Decode(&v); err != nil || v.Entry == nil {
		return err
	}
	m := ConsoleMessage{Text: v.Entry.Text, URL: v.Entry.URL, FrameID: protocol.FrameID(a.target)}
	switch v.Entry.Level {
	case log.EntryLevelError:
		m.Level = LevelError
	case log.EntryLevelWarning:
		m.Level = LevelWarning
	default:
		return nil
	}
	switch v.Entry.Source {
	case log.EntrySourceNetwork, log.EntrySourceDeprecation, log.EntrySourceRecommendation:
		return nil
	}
	if v.Entry.LineNumber > 0 {
		m.Line = v.Entry.LineNumber + 1
	}
	m.at(v.Entry.StackTrace)
	p.keepConsole(m)
	return nil
}

// at takes over the top of a stack.
func (m *ConsoleMessage) at(stack *runtime.StackTrace) {
	if stack == nil || len(stack.CallFrames) == 0 || stack.CallFrames[0] == nil {
		return
	}
	top := stack.CallFrames[0]
	m.Function, m.URL, m.Line, m.Column = top.FunctionName, top.URL, top.LineNumber+1, top.ColumnNumber+1
}

func (p *Page) keepConsole(m ConsoleMessage) {
	m.Text, _ = clip(m.Text, maxConsoleText)
	m.URL, _ = clip(m.URL, 512)
	m.Function, _ = clip(m.Function, 128)
	p.console.add(m)
	for _, watches := range []map[*Watch]struct{}{p.watches, p.everywhere} {
		for w := range watches {
			w.console.add(m)
		}
	}
	p.tell(func(*Happened) {})
}

func describe(o *runtime.RemoteObject) string {
	var text string
	switch {
	case o == nil:
		return ""
	case o.Description != "":
		return o.Description
	case jsonv2.Unmarshal(o.Value, &text) == nil:
		return text
	case len(o.Value) > 0:
		return string(o.Value)
	case o.UnserializableValue != "":
		return string(o.UnserializableValue)
	default:
		return string(o.Type) // undefined
	}
}
