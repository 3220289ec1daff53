package loadtest

import (
	"maps"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/browserfleet/browserfleet/loadtest/check"
	"github.com/browserfleet/browserfleet/protocol"
)

// Report is what a run came to: one JSON object.
type Report struct {
	Promises    check.Promises        `json:"promises"`
	LatencyMS   map[string]Latency    `json:"latency_ms"`
	ActionsPerS float64               `json:"actions_per_s"`
	Errors      map[protocol.Code]int `json:"errors"`
	// Provoked are the refusals that the mix asked for.
	Provoked map[protocol.Code]int `json:"provoked"`

	Owners int `json:"owners"`
	// Requests that the fleet stored, and answers within the measured time.
	Requests int `json:"requests"`
	Answers  int `json:"answers"`
	// Restored counts answers that told of a restored environment.
	Restored int `json:"restored"`
	// DurationMS is the measured time, without warm-up and grace.
	DurationMS int64   `json:"duration_ms"`
	Seed       uint64  `json:"seed"`
	Machine    Machine `json:"machine"`

	// Findings are the broken promises, at most maxFindings.
	Findings []check.Finding `json:"findings,omitempty"`
	Notes    []string        `json:"notes,omitempty"`
}

// maxFindings bounds what a report shows; Promises counts all.
const maxFindings = 50

// Latency of one kind of step, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Broken reports whether the fleet broke a promise.
func (r *Report) Broken() bool { return r.Promises.Broken() }

func (r *recorder) report(measured time.Duration) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep := &Report{
		LatencyMS: map[string]Latency{}, Errors: maps.Clone(r.errors), Provoked: maps.Clone(r.provoked),
		Answers: r.requests, Restored: r.restored, DurationMS: measured.Milliseconds(), Machine: ThisMachine(),
	}
	for row, h := range r.took {
		rep.LatencyMS[row] = latencyOf(h)
	}
	if s := measured.Seconds(); s > 0 {
		rep.ActionsPerS = round(float64(r.actions)/s, 10)
	}
	return rep
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	ms := func(us int64) float64 { return round(float64(us)/1000, 1000) }
	return Latency{
		P50: ms(h.ValueAtQuantile(50)), P95: ms(h.ValueAtQuantile(95)),
		P99: ms(h.ValueAtQuantile(99)), Max: ms(h.Max()),
	}
}

// round keeps as many digits as were measured.
func round(v, steps float64) float64 { return float64(int64(v*steps+0.5)) / steps }

// judged adds the verdict.
func (r *Report) judged(v check.Verdict) {
	r.Promises, r.Findings, r.Notes = v.Promises, v.Findings, v.Notes
	if len(r.Findings) > maxFindings {
		r.Findings = r.Findings[:maxFindings]
	}
}
