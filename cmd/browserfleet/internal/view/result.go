package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// Result writes the line about what became of a request, and what the agent has
// to know besides. The observation is not in it.
func Result(w io.Writer, r *protocol.Result, took time.Duration, trace string) {
	fields := []string{string(r.Status), string(r.Kind)}
	if r.Verdict != "" && r.Verdict != protocol.VerdictRefused {
		fields = append(fields, string(r.Verdict))
	}
	fields = append(fields, Took(took))
	if r.Worker != "" {
		fields = append(fields, fmt.Sprintf("on %s, generation %d", r.Worker, r.Generation))
	}
	if trace != "" {
		fields = append(fields, "trace "+trace)
	}
	fmt.Fprintln(w, strings.Join(fields, "  "))
	if r.Restored != nil {
		Restored(w, r.Restored)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "  warning %s: %s\n", warning.Code, Line(warning.Message, maxURL))
	}
	for i, step := range r.Steps {
		fmt.Fprintf(w, "  %d. %s  %s  %s\n", i+1, step.Status, step.Kind, step.Verdict)
	}
	if r.Transition != nil {
		transition(w, r.Transition)
	}
}

// Restored writes the fidelity report.
func Restored(w io.Writer, r *protocol.Restored) {
	from := r.From
	if r.CheckpointAt != nil {
		from = fmt.Sprintf("%s of %s before", from, Took(time.Duration(r.AgeMS)*time.Millisecond))
	}
	fmt.Fprintf(w, "  restored (%s) from %s in %s; generation %d\n", r.Reason, from, Took(time.Duration(r.TookMS)*time.Millisecond), r.Generation)
	var kept []string
	for what, n := range r.Survived {
		kept = append(kept, fmt.Sprintf("%s %d", Line(what, maxName), n))
	}
	slices.Sort(kept)
	if len(kept) > 0 {
		fmt.Fprintf(w, "    survived: %s\n", strings.Join(kept, ", "))
	}
	for _, l := range r.Lost {
		fmt.Fprintf(w, "    lost: %s (%s)\n", Line(l.What, maxName), Line(l.Reason, maxName))
	}
	for _, l := range r.Skipped {
		fmt.Fprintf(w, "    skipped: %s (%s)\n", Line(l.What, maxName), Line(l.Reason, maxName))
	}
	for _, id := range r.StateLost {
		fmt.Fprintf(w, "    not in the restored state: what request %s did\n", id)
	}
	if r.LastURL != "" {
		fmt.Fprintf(w, "    at that checkpoint it was at %s; nothing is open now\n", Line(r.LastURL, maxURL))
	}
}

// Extraction writes records as a table, and an article as its text.
func Extraction(w io.Writer, x *protocol.Extraction) {
	if x.Kind == protocol.KindExtractArticle {
		article(w, x)
		return
	}
	if x.Name != "" {
		fmt.Fprintln(w, Line(x.Name, maxName))
	}
	widths := make([]int, len(x.Columns))
	rows := [][]string{x.Columns}
	for _, r := range x.Rows {
		row := make([]string, len(x.Columns))
		for i, c := range x.Columns {
			row[i] = r[c]
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Line(cell, maxValue)
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	if len(x.Cut) > 0 {
		fmt.Fprintf(w, "(%d values are longer; --chars shows more)\n", len(x.Cut))
	}
	if x.NextOffset > 0 {
		fmt.Fprintf(w, "(%d of %d rows; --offset %d goes on)\n", len(x.Rows), x.Total, x.NextOffset)
	}
	for _, f := range x.Found {
		if f.Index != x.Index {
			fmt.Fprintf(w, "(--index %d: %s, %d rows)\n", f.Index, Line(cmp.Or(f.Name, "without a name"), maxName), f.Rows)
		}
	}
}

func article(w io.Writer, x *protocol.Extraction) {
	for _, row := range x.Rows {
		for _, c := range x.Columns {
			if row[c] != "" {
				fmt.Fprintln(w, Text(row[c]))
			}
		}
	}
	if x.NextOffset > 0 {
		fmt.Fprintf(w, "(%d of %d characters; --offset %d goes on)\n", x.NextOffset-x.Offset, x.Total, x.NextOffset)
	}
}

// Took is a duration with two or three digits.
func Took(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
