package view

import (
	"fmt"
	"io"

	"github.com/browserfleet/browserfleet/protocol"
)

// maxConsole is how many console messages are printed; JSON has all of them.
const maxConsole = 5

// transition writes what happened beside the action, a line each.
func transition(w io.Writer, t *protocol.Transition) {
	for _, d := range t.Denied {
		fmt.Fprintf(w, "  the page tried %s:%d, refused: %s\n", Line(d.Host, maxName), d.Port, d.Reason)
	}
	for _, d := range t.Dialogs {
		fmt.Fprintf(w, "  the page opened a dialog: %s %q\n", d.Type, Line(d.Message, maxName))
	}
	for _, d := range t.DialogsClosed {
		fmt.Fprintf(w, "  a dialog was closed: %s %q, %s by %s\n", d.Type, Line(d.Message, maxName), outcome(d), d.ClosedBy)
	}
	if s := t.DialogStorm; s != nil {
		fmt.Fprintf(w, "  the page opened %d dialogs; %d were dismissed unseen\n", s.Opened, s.Dismissed)
	}
	for range t.Prints {
		fmt.Fprintln(w, "  the page wanted to be printed")
	}
	for _, p := range t.Prompts {
		fmt.Fprintf(w, "  the page asked for %s, refused: %s\n", Line(p.Type, maxName), Line(p.URL+" "+p.Detail, maxURL))
	}
	for _, d := range t.Downloads {
		fmt.Fprintf(w, "  the page began a download, refused: %s\n", Line(d, maxURL))
	}
	for _, p := range t.Popups {
		fmt.Fprintf(w, "  the page opened a window, which was closed: %s\n", Line(p, maxURL))
	}
	for _, id := range t.TabsOpened {
		fmt.Fprintf(w, "  tab %s opened\n", id)
	}
	for _, id := range t.TabsClosed {
		fmt.Fprintf(w, "  tab %s closed\n", id)
	}
	console(w, t)
}

func outcome(d protocol.Dialog) string {
	if d.Accepted != nil && *d.Accepted {
		return "accepted"
	}
	return "dismissed"
}

// console writes errors and warnings: what else a page logs is for those who ask
// for JSON.
func console(w io.Writer, t *protocol.Transition) {
	shown, more := 0, t.ConsoleOmitted
	for _, e := range t.Console {
		switch {
		case e.Level != "exception" && e.Level != "error" && e.Level != "warning":
		case shown == maxConsole:
			more++
		default:
			shown++
			times := ""
			if e.Count > 1 {
				times = fmt.Sprintf(" (%d times)", e.Count)
			}
			fmt.Fprintf(w, "  console %s: %s%s\n", e.Level, Line(e.Text, maxURL), times)
		}
	}
	if more > 0 {
		fmt.Fprintf(w, "  console: %d more\n", more)
	}
}
