package view

import (
	"fmt"
	"io"

	"github.com/browserfleet/browserfleet/protocol"
	"github.com/browserfleet/browserfleet/protocol/compact"
)

// Limits of what one line shows, in characters.
const (
	maxName  = 100
	maxURL   = 200
	maxValue = 60
)

// Observation writes what an agent is shown, in the compact form; of the text at
// most so many characters.
func Observation(w io.Writer, o *protocol.Observation, maxText int) {
	if maxText == 0 {
		maxText = -1
	}
	fmt.Fprint(w, compact.Observation(o, compact.Options{MaxText: maxText, Next: "observe --next"}))
}

// Tabs are one line each.
func Tabs(w io.Writer, o *protocol.Observation) {
	if len(o.Tabs) == 0 {
		fmt.Fprintln(w, "no tabs yet: open a page first")
	}
	fmt.Fprint(w, compact.Tabs(o.Tabs))
}
