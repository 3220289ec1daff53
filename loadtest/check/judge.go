package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/browserfleet/browserfleet/protocol"
)

// judge is the evidence, sorted for the rules, and the findings so far.
type judge struct {
	e          Evidence
	requests   map[ID]Request
	results    map[ID]Result
	dispatches map[ID][]Dispatch
	findings   []Finding
	notes      []string
	// broken keeps one request from counting twice for one promise.
	broken map[Promise]map[ID]bool
}

// Judge applies every rule of the package's documentation.
func Judge(e Evidence) Verdict {
	j := &judge{
		e: e, requests: map[ID]Request{}, results: map[ID]Result{}, dispatches: map[ID][]Dispatch{},
		notes: slices.Clone(e.Notes), broken: map[Promise]map[ID]bool{},
	}
	for _, r := range e.Requests {
		j.requests[r.ID] = r
	}
	for _, r := range e.Results {
		j.results[r.ID] = r
	}
	for _, d := range e.Dispatches {
		id := ID{d.Key, d.Request}
		j.dispatches[id] = append(j.dispatches[id], d)
	}
	j.lost()
	j.secondResults()
	j.reordered()
	j.doubleDispatched()
	j.orphans()
	j.unexplained()
	return j.verdict()
}

func (j *judge) find(p Promise, id ID, format string, args ...any) {
	if j.broken[p] == nil {
		j.broken[p] = map[ID]bool{}
	}
	if j.broken[p][id] {
		return
	}
	j.broken[p][id] = true
	f := Finding{Promise: p, Request: id.Request, Text: fmt.Sprintf(format, args...)}
	if id.Key != (protocol.OwnerKey{}) {
		f.Owner = id.Key.String()
	}
	j.findings = append(j.findings, f)
}

func (j *judge) verdict() Verdict {
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Promise, b.Promise), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Request, b.Request))
	})
	return Verdict{
		Promises: Promises{
			Lost: len(j.broken[Lost]), SecondResults: len(j.broken[SecondResults]), Reordered: len(j.broken[Reordered]),
			DoubleDispatched: len(j.broken[DoubleDispatched]), OrphanProcesses: j.e.Orphans,
		},
		Findings: j.findings, Notes: j.notes,
	}
}

// expiryMargin is how long before its retention ends a result may be missing:
// gathering takes time.
const expiryMargin = 5 * time.Minute

// lost: a stored request without a result. Results of a run that is longer than
// their retention are gone; then the push stands for them.
func (j *judge) lost() {
	for id, r := range j.requests {
		if _, answered := j.results[id]; answered {
			continue
		}
		pushed := j.e.Pushes[id]
		if pushed.First > 0 && j.e.Now.Sub(pushed.At) > protocol.ResultRetention-expiryMargin {
			continue
		}
		j.find(Lost, id, "%s, stored as %s %d, has no result; %s", kindOf(r), r.Lane, r.Seq, j.whereabouts(r))
	}
}

// whereabouts says how far the owner's record is.
func (j *judge) whereabouts(r Request) string {
	rec, ok := j.e.Records[r.Key]
	if !ok {
		return "the owner has no record"
	}
	cursor, state := rec.Cursor(r.Lane), rec.State
	switch in := rec.Inflight(r.Lane); {
	case in != nil && in.Request == r.Request:
		return fmt.Sprintf("it was begun (attempt %d); the record is %s by %s", in.Attempt, state, rec.Worker)
	case cursor >= r.Seq:
		return fmt.Sprintf("the cursor has passed it (%d)", cursor)
	default:
		return fmt.Sprintf("the cursor is at %d; the record is %s by %s", cursor, state, rec.Worker)
	}
}

func kindOf(r Request) string {
	if r.Kind == "" {
		return "a request that cannot be read"
	}
	return string(r.Kind)
}

func (j *judge) secondResults() {
	for id, r := range j.results {
		if r.Stored > 1 {
			j.find(SecondResults, id, "%d results are stored", r.Stored)
		}
	}
	for id, p := range j.e.Pushes {
		if p.First > 1 {
			j.find(SecondResults, id, "its result was pushed %d times without %s", p.First, protocol.HeaderRepeat)
		}
		bodies := maps.Clone(p.Bodies)
		if r, ok := j.results[id]; ok {
			if bodies == nil {
				bodies = map[Digest]int{}
			}
			bodies[r.Digest]++
		}
		if len(bodies) > 1 {
			j.find(SecondResults, id, "%d different results were pushed or stored", len(bodies))
		}
	}
	for id, told := range j.e.Told {
		for _, t := range told {
			if r, ok := j.results[id]; ok && r.Nonce != t.Nonce {
				j.find(SecondResults, id, "the agent was told %s, and another result (%s) is stored", t.Status, r.Status)
			}
		}
	}
	j.twoNames()
}

// twoNames: one stored request answered under two names.
func (j *judge) twoNames() {
	type place struct {
		key  protocol.OwnerKey
		lane protocol.Lane
		seq  protocol.Seq
	}
	names := map[place]Result{}
	for _, r := range j.e.Results {
		at := place{r.Key, r.Lane, r.Seq}
		if other, ok := names[at]; ok && other.Request != r.Request {
			j.find(SecondResults, r.ID, "request %s %d was answered as %s, too", r.Lane, r.Seq, other.Request)
			continue
		}
		names[at] = r
	}
}

func (j *judge) orphans() {
	if j.e.Orphans > 0 {
		j.findings = append(j.findings, Finding{
			Promise: OrphanProcesses, Text: fmt.Sprintf("%d processes outlived their owners", j.e.Orphans),
		})
	}
}

// unexplained counts what breaks nothing, and shows that evidence is missing.
func (j *judge) unexplained() {
	var results, dispatches, silent int
	for id := range j.results {
		if _, known := j.requests[id]; !known {
			results++
		}
	}
	for id := range j.dispatches {
		if _, known := j.requests[id]; !known {
			dispatches++
		}
	}
	for id, r := range j.results {
		if r.Dispatched == protocol.DispatchedYes && effect(r.Kind) == protocol.EffectWrite && r.Lane == protocol.LaneQueue && len(j.dispatches[id]) == 0 {
			silent++
		}
	}
	j.note(results, "results to requests that no publisher is known to have stored")
	j.note(dispatches, "dispatches of requests that no publisher is known to have stored")
	if len(j.e.Dispatches) > 0 {
		j.note(silent, "effects that no dispatch log has: a log is missing, so double_dispatched and reordered are not proven")
	}
}

func (j *judge) note(n int, what string) {
	if n > 0 {
		j.notes = append(j.notes, fmt.Sprintf("%d %s", n, what))
	}
}

// effect is the kind's; what is unknown is never dispatched.
func effect(k protocol.Kind) protocol.Effect {
	info, _ := k.Lookup()
	return info.Effect
}
