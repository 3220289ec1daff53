package figures

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/browserfleet/browserfleet/loadtest"
)

// Report is what a run measured.
type Report struct {
	Machine loadtest.Machine `json:"machine"`
	// LoadAtStart is the machine's load average over a minute: over about a
	// quarter of its CPUs, the figures say more about the neighbours.
	LoadAtStart float64 `json:"load_at_start"`
	Rows        []Row   `json:"rows"`
	// Failures name the figures that could not be measured, with the reason.
	Failures []string `json:"failures,omitempty"`
}

// Row is one quantity.
type Row struct {
	Figure  string  `json:"figure"`
	What    string  `json:"what"`
	Unit    string  `json:"unit"`
	Median  float64 `json:"median"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Repeats int     `json:"repeats"`
	// Samples is how many measurements all repeats have together.
	Samples int `json:"samples"`
	// Bar is what the value may be at most, or, AtLeast, at least; 0: there is none.
	Bar     float64 `json:"bar,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"`
}

// Met reports whether the median keeps the bar.
func (r Row) Met() bool {
	switch {
	case r.Bar == 0:
		return true
	case r.AtLeast:
		return r.Median >= r.Bar
	}
	return r.Median <= r.Bar
}

// Met reports whether everything was measured and every bar kept.
func (r *Report) Met() bool {
	for _, row := range r.Rows {
		if !row.Met() {
			return false
		}
	}
	return len(r.Failures) == 0
}

// WriteMarkdown prints the table.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine: %s; load average at the start %.2f.\n\n", r.Machine, r.LoadAtStart)
	b.WriteString("| figure | quantity | median | spread | repeats (samples) | bar | kept |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s to %s | %d (%d) | %s | %s |\n", row.Figure, row.What,
			row.value(row.Median), row.value(row.Low), row.value(row.High), row.Repeats, row.Samples, row.bar(), row.kept())
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "\nNot measured: %s\n", strings.ReplaceAll(f, "\n", " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// value has three digits: more were not measured.
func (r Row) value(v float64) string {
	digits := 0
	if a := math.Abs(v); a > 0 {
		digits = min(max(2-int(math.Floor(math.Log10(a))), 0), 3)
	}
	return strings.TrimSpace(fmt.Sprintf("%.*f %s", digits, v, r.Unit))
}

func (r Row) bar() string {
	switch {
	case r.Bar == 0:
		return "none"
	case r.AtLeast:
		return "at least " + r.value(r.Bar)
	}
	return "at most " + r.value(r.Bar)
}

func (r Row) kept() string {
	switch {
	case r.Bar == 0:
		return ""
	case r.Met():
		return "yes"
	}
	return "NO"
}
