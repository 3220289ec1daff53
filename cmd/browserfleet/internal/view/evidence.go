package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/browserfleet/browserfleet/protocol"
)

// Evidence writes stored events, each with what happened beside it.
func Evidence(w io.Writer, r *protocol.EvidenceReply) {
	if len(r.Events) == 0 {
		fmt.Fprintln(w, "nothing is stored (events are kept for a day, 500 an owner)")
		return
	}
	for _, e := range r.Events {
		Event(w, e.Seq, &e.Event)
	}
	if r.More {
		fmt.Fprintf(w, "(there are more: --after %d)\n", r.Events[len(r.Events)-1].Seq)
	}
}

// Event writes one event; seq 0 is none.
func Event(w io.Writer, seq protocol.Seq, e *protocol.Event) {
	fields := []string{e.At.Local().Format("15:04:05.000"), fmt.Sprintf("g%d", e.Generation)}
	if seq > 0 {
		fields = append(fields, fmt.Sprintf("#%d", seq))
	}
	if e.Type == protocol.EventAction {
		fields = append(fields, string(e.Kind), string(e.Status))
	} else {
		fields = append(fields, e.Type)
	}
	for _, s := range []string{string(e.Code), string(e.Verdict), string(e.Tab), e.URL} {
		if s != "" {
			fields = append(fields, Line(s, maxURL))
		}
	}
	if d := e.Dialog; d != nil {
		fields = append(fields, string(d.ID), string(d.Type))
	}
	if e.Missed > 0 {
		fields = append(fields, fmt.Sprintf("(and %d more)", e.Missed))
	}
	if e.Request != "" {
		fields = append(fields, "request "+string(e.Request))
	}
	fmt.Fprintln(w, strings.Join(fields, "  "))
	if t := e.Transition; t != nil {
		pages(w, t)
		transition(w, t)
	}
}

// pages writes where an action began and ended, and what it took.
func pages(w io.Writer, t *protocol.Transition) {
	if t.After != nil {
		change := "the page is as it was"
		if t.Before == nil {
			change = "the first page"
		} else if t.Before.Digest != t.After.Digest {
			change = "the page changed"
		}
		fmt.Fprintf(w, "  %s: %s\n", change, Line(t.After.URL, maxURL))
	}
	timing := &t.Timing
	fmt.Fprintf(w, "  %.1f ms: queue %d, start %.1f, dispatch %.1f, settle %.1f, observe %.1f, save %.1f\n",
		timing.TotalMS, timing.QueueMS, timing.StartMS, timing.DispatchMS, timing.SettleMS, timing.ObserveMS, timing.SaveMS)
}
