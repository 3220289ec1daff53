package doctor

import (
	"fmt"
	"io"

	"github.com/browserfleet/browserfleet/cmd/browserfleet/internal/view"
)

// Status of a check.
type Status string

// The statuses.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Finding is what a check came to.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	// Mend is what to do; empty for ok.
	Mend string `json:"mend,omitempty"`
}

// Report is all findings.
type Report struct {
	Findings []Finding `json:"findings"`
	// tell is called with each finding as it is made.
	tell func(Finding)
}

// Failed reports whether anything does not work.
func (r *Report) Failed() bool {
	for _, f := range r.Findings {
		if f.Status == Fail {
			return true
		}
	}
	return false
}

func (r *Report) add(f Finding) {
	r.Findings = append(r.Findings, f)
	if r.tell != nil {
		r.tell(f)
	}
}

func (r *Report) ok(check, format string, args ...any) {
	r.add(Finding{check, OK, fmt.Sprintf(format, args...), ""})
}

func (r *Report) warn(check, mend, format string, args ...any) {
	r.add(Finding{check, Warn, fmt.Sprintf(format, args...), mend})
}

// fail returns false, for callers that go on only if all is well.
func (r *Report) fail(check, mend string, err error) bool {
	r.add(Finding{check, Fail, err.Error(), mend})
	return false
}

// Write writes a finding for people.
func Write(w io.Writer, f Finding) {
	mark := map[Status]string{OK: "ok  ", Warn: "warn", Fail: "FAIL"}[f.Status]
	fmt.Fprintf(w, "%s  %-12s %s\n", mark, f.Check, view.Line(f.Found, 1000))
	if f.Mend != "" {
		fmt.Fprintf(w, "      %-12s mend: %s\n", "", view.Line(f.Mend, 300))
	}
}
