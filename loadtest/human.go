package loadtest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// WriteText renders the report for people.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	duration := time.Duration(r.DurationMS) * time.Millisecond
	fmt.Fprintf(t, "%d owners, %s, %d requests stored, %.1f actions a second (seed %d)\n", r.Owners, duration.Round(100*time.Millisecond), r.Requests, r.ActionsPerS, r.Seed)
	fmt.Fprintf(t, "%s\n\n", r.Machine)
	fmt.Fprintln(t, "latency, ms\tp50\tp95\tp99\tmax\t")
	for _, row := range slices.Sorted(maps.Keys(r.LatencyMS)) {
		l := r.LatencyMS[row]
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t\n", row, l.P50, l.P95, l.P99, l.Max)
	}
	fmt.Fprintln(t)
	if r.Restored > 0 {
		fmt.Fprintf(t, "restored environments: %d\n", r.Restored)
	}
	writeCodes(t, "errors", r.Errors)
	writeCodes(t, "provoked", r.Provoked)
	r.writePromises(t)
	return t.Flush()
}

func writeCodes(w io.Writer, title string, codes map[protocol.Code]int) {
	if len(codes) == 0 {
		fmt.Fprintf(w, "%s: none\n", title)
		return
	}
	fmt.Fprintf(w, "%s:", title)
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		fmt.Fprintf(w, " %s %d", code, codes[code])
	}
	fmt.Fprintln(w)
}

func (r *Report) writePromises(w io.Writer) {
	p := r.Promises
	fmt.Fprintf(w, "promises: %d lost, %d second results, %d reordered, %d double dispatched, %d orphan processes\n",
		p.Lost, p.SecondResults, p.Reordered, p.DoubleDispatched, p.OrphanProcesses)
	for _, f := range r.Findings {
		fmt.Fprintf(w, "  BROKEN %s: %s %s: %s\n", f.Promise, f.Owner, f.Request, f.Text)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	if r.Broken() {
		fmt.Fprintln(w, "A promise was broken.")
		return
	}
	fmt.Fprintln(w, "Every promise was kept.")
}
