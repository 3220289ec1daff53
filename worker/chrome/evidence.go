package chrome

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/browserfleet/browserfleet/egressproxy"
	"github.com/browserfleet/browserfleet/observation"
	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/supervisor"
)

// evidence collects what happens on the page during an action.
type evidence struct {
	b      *Browser
	watch  *supervisor.Watch
	denied uint64
	before *protocol.PageEvidence
	// refused is why the newest document of the main frame is the proxy's own
	// page; a site cannot send the header that says so.
	refused func() egressproxy.Reason
	prompts []supervisor.Prompt
	close   func()
}

func (b *Browser) begin(kind protocol.Kind) *evidence {
	if kind != protocol.KindDialog { // what an answer leads to is still the earlier action's
		b.supervised.BeginAction()
	}
	responses, unsubscribe := b.page.Subscribe("Network.responseReceived")
	return &evidence{
		b: b, watch: b.supervised.Watch(), denied: b.proxy.DenialMark(), before: b.shown(), close: unsubscribe,
		refused: func() egressproxy.Reason { return refusedDocument(responses, string(b.page.Snapshot().FrameID)) },
	}
}

func (e *evidence) refusedDocument() egressproxy.Reason { return e.refused() }

// refusedDocument looks through the responses that came, without waiting.
func refusedDocument[T ~[]byte](responses <-chan T, frame string) (reason egressproxy.Reason) {
	for {
		select {
		case raw, open := <-responses:
			if !open {
				return reason
			}
			var event struct {
				Type     string `json:"type"`
				FrameID  string `json:"frameId"`
				Response struct {
					Headers map[string]string `json:"headers"`
				} `json:"response"`
			}
			if json.Unmarshal(raw, &event) != nil || event.Type != "Document" || event.FrameID != frame {
				continue
			}
			reason = ""
			for name, value := range event.Response.Headers {
				if strings.EqualFold(name, egressproxy.DeniedHeader) {
					reason = egressproxy.Reason(value)
				}
			}
		default:
			return reason
		}
	}
}

// shown is the page as the agent was last shown it.
func (b *Browser) shown() *protocol.PageEvidence {
	last := b.observer.Last()
	if last == nil {
		return nil
	}
	e := &protocol.PageEvidence{ObservationID: last.ID, URL: last.URL}
	if last.Scope == nil { // the digest of a part says nothing of the page
		e.Digest = last.Digest
	}
	return e
}

// end is the transition of the action.
func (e *evidence) end(r *run) *protocol.Transition {
	e.watch.Close()
	happened := e.watch.Take()
	e.b.acted++
	t := &protocol.Transition{
		ID:     fmt.Sprintf("x-%d-%d", e.b.generation, e.b.acted),
		Before: e.before, After: e.b.shown(), Timing: r.timing,
	}
	for _, p := range happened.Popups {
		t.Popups = append(t.Popups, p.URL)
	}
	for _, d := range happened.Downloads {
		t.Downloads = append(t.Downloads, d.URL)
	}
	dialogEvidence(t, &happened)
	e.prompts = happened.Prompts
	for _, c := range happened.Console {
		t.Console = append(t.Console, logEntry(c))
	}
	t.Console, t.ConsoleOmitted = cutConsole(t.Console)
	t.ConsoleOmitted += happened.ConsoleCut
	for _, id := range happened.TabsOpened {
		t.TabsOpened = append(t.TabsOpened, protocol.PageID(id))
	}
	for _, id := range happened.TabsClosed {
		t.TabsClosed = append(t.TabsClosed, protocol.PageID(id))
	}
	for _, id := range happened.TabsCrashed {
		t.TabsCrashed = append(t.TabsCrashed, protocol.PageID(id))
	}
	for _, d := range e.b.proxy.Denials(e.denied).Denials {
		t.Denied = append(t.Denied, protocol.Denial{Host: d.Host, Port: int(d.Port), Reason: string(d.Reason), Count: d.Count})
	}
	return t
}

const (
	// consoleEntries and consoleText bound what of the console stands in a result:
	// distinct messages, and code points of each.
	consoleEntries = 20
	consoleText    = 400
)

func logEntry(c supervisor.ConsoleMessage) protocol.LogEntry {
	return protocol.LogEntry{
		Level: c.Level, Text: observation.Cut(c.Text, consoleText), Count: c.Count,
		URL: c.URL, Line: c.Line, Column: c.Column, Function: c.Function, FrameID: protocol.FrameID(c.FrameID),
	}
}

// cutConsole keeps the worst messages, and of those the newest, in the order in
// which they came; it counts the rest.
func cutConsole(all []protocol.LogEntry) (kept []protocol.LogEntry, omitted int) {
	room := consoleEntries
	keep := make([]bool, len(all))
	for _, level := range []string{supervisor.LevelException, supervisor.LevelError, supervisor.LevelWarning, supervisor.LevelLog} {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Level == level && room > 0 {
				keep[i] = true
				room--
			}
		}
	}
	for i, entry := range all {
		if keep[i] {
			kept = append(kept, entry)
		} else {
			omitted += entry.Count
		}
	}
	return kept, omitted
}
