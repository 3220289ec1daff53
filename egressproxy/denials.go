package egressproxy

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// ringSize is how many denials are kept apart in time. A page that makes more
// between two looks only hides when, not how often: totals are counted apart.
const ringSize = 512

// Denial is evidence: one destination refused for one reason, Count times.
type Denial struct {
	Host   string    `json:"host"`
	Port   uint16    `json:"port"`
	Reason Reason    `json:"reason"`
	Count  int       `json:"count"`
	Last   time.Time `json:"last"`
}

// DenialReport is what was refused after a mark.
type DenialReport struct {
	Denials []Denial // most frequent first
	Missed  uint64   // denials that the ring no longer held
	Next    uint64   // the mark for the next report
}

// denialLog is a bounded ring. mu protects every field.
type denialLog struct {
	mu     sync.Mutex
	ring   []Denial // Count is 1 in each
	next   uint64   // sequence number of the next denial; ring[n%ringSize] holds n
	totals map[Reason]uint64
}

func (l *denialLog) add(host string, port uint16, reason Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	denial := Denial{Host: host, Port: port, Reason: reason, Count: 1, Last: time.Now()}
	if len(l.ring) < ringSize {
		l.ring = append(l.ring, denial)
	} else {
		l.ring[l.next%ringSize] = denial
	}
	l.next++
	l.count(reason)
}

// tally counts a refusal that has no destination and is no evidence against a
// page: the browser's first, unauthenticated request for instance.
func (l *denialLog) tally(reason Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(reason)
}

func (l *denialLog) count(reason Reason) {
	if l.totals == nil {
		l.totals = map[Reason]uint64{}
	}
	l.totals[reason]++
}

func (l *denialLog) since(mark uint64) DenialReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	report := DenialReport{Next: l.next}
	oldest := l.next - uint64(len(l.ring))
	if mark < oldest {
		report.Missed = oldest - mark
		mark = oldest
	}
	type key struct {
		host   string
		port   uint16
		reason Reason
	}
	places := map[key]int{}
	for ; mark < l.next; mark++ {
		denial := l.ring[mark%ringSize]
		k := key{denial.Host, denial.Port, denial.Reason}
		if i, seen := places[k]; seen {
			report.Denials[i].Count++
			report.Denials[i].Last = denial.Last
			continue
		}
		places[k] = len(report.Denials)
		report.Denials = append(report.Denials, denial)
	}
	slices.SortStableFunc(report.Denials, func(a, b Denial) int { return cmp.Compare(b.Count, a.Count) })
	return report
}

func (l *denialLog) counts() map[Reason]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make(map[Reason]uint64, len(l.totals))
	for reason, n := range l.totals {
		counts[reason] = n
	}
	return counts
}
