package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteText renders the report for people. again is the command that plays the
// same faults.
func (r *Report) WriteText(w io.Writer, again string) error {
	for _, tenant := range slices.Sorted(maps.Keys(r.Tenants)) {
		if _, err := fmt.Fprintf(w, "tenant %s: ", tenant); err != nil {
			return err
		}
		if err := r.Tenants[tenant].WriteText(w); err != nil {
			return err
		}
	}
	fmt.Fprint(w, "faults:")
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(w, " %s %d", kind, r.Faults[kind])
	}
	fmt.Fprintf(w, " (network of %s)\n", r.Network)
	for _, f := range r.Findings {
		fmt.Fprintf(w, "BROKEN: %s\n", f)
	}
	verdict := "all promises were kept"
	if r.Broken() {
		verdict = "a promise was broken"
	}
	_, err := fmt.Fprintf(w, "chaos: %s; again: %s\n", verdict, again)
	return err
}
