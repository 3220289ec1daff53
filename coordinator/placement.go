package coordinator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/browserfleet/browserfleet/protocol"
)

// What a worker's points are made of, a thousand in all. Free slots are half:
// they say how many neighbours an owner gets. Being warm is worth as much as
// half of the slots: a nearly full worker does not get an owner for that alone.
const (
	slotPoints   = 500
	warmPoints   = 250
	memoryPoints = 125
	cpuPoints    = 125
	// plentyMB of free memory are all that an owner can profit from; below scarceMB
	// no environment fits (a Chromium process was measured at 98 MB, and pages
	// need theirs).
	plentyMB = 4096
	scarceMB = 256
)

// candidate is a worker as placement sees it.
type candidate struct {
	id           protocol.WorkerID
	free, slots  int
	memoryMB     int64 // 0 is unknown
	cpu          float64
	labels       map[string]string
	capabilities []protocol.Capability
	// ineligible is why it takes no owners at all; empty where it does.
	ineligible string
}

// need is what an owner asks of its worker.
type need struct {
	key          protocol.OwnerKey
	labels       map[string]string
	capabilities []protocol.Capability
	// warm is the worker that held the owner last and did not lose it: it may
	// still have what the owner needs at hand.
	warm protocol.WorkerID
	// refused are workers that refused the owner just now.
	refused []protocol.WorkerID
	// released is the worker that let go of it just now, if one did. It drains, or
	// its owners are too many; its heartbeats may not say so yet.
	released protocol.WorkerID
}

// choose is the placement: the candidate with the most points; among equals the
// one with more free slots, then by id, so that the choice can be explained. It
// is pure. The scores are ordered, the best first.
func choose(all []candidate, n need) (protocol.WorkerID, []protocol.Score) {
	sorted := slices.Clone(all)
	scores := make(map[protocol.WorkerID]protocol.Score, len(all))
	for _, c := range sorted {
		scores[c.id] = judge(c, n)
	}
	slices.SortFunc(sorted, func(a, b candidate) int {
		x, y := scores[a.id], scores[b.id]
		return cmp.Or(
			cmp.Compare(x.Excluded, "")-cmp.Compare(y.Excluded, ""), // those that can, first
			cmp.Compare(y.Points, x.Points), cmp.Compare(b.free, a.free), cmp.Compare(a.id, b.id),
		)
	})
	ordered := make([]protocol.Score, 0, len(all))
	for _, c := range sorted {
		ordered = append(ordered, scores[c.id])
	}
	if len(ordered) == 0 || ordered[0].Excluded != "" {
		return "", ordered
	}
	return ordered[0].Worker, ordered
}

// judge scores one worker for an owner.
func judge(c candidate, n need) protocol.Score {
	s := protocol.Score{Worker: c.id, Excluded: excluded(c, n)}
	if s.Excluded != "" {
		return s
	}
	s.Parts = map[string]int{
		"slots":  slotPoints * c.free / max(c.slots, c.free),
		"memory": memoryPoints / 2, // unknown
		"cpu":    int(cpuPoints * (1 - min(1, max(0, c.cpu)))),
	}
	if c.memoryMB > 0 {
		s.Parts["memory"] = int(memoryPoints * min(c.memoryMB, plentyMB) / plentyMB)
	}
	if c.id == n.warm {
		s.Parts["warm"] = warmPoints
	}
	for _, points := range s.Parts {
		s.Points += points
	}
	return s
}

// excluded is why the worker cannot take the owner; empty when it can.
func excluded(c candidate, n need) string {
	switch {
	case c.ineligible != "":
		return c.ineligible
	case slices.Contains(n.refused, c.id):
		return "refused it"
	case c.id == n.released:
		return "let go of it just now"
	case c.free <= 0:
		return "no free slot"
	case c.memoryMB > 0 && c.memoryMB < scarceMB:
		return fmt.Sprintf("%d MiB of memory left", c.memoryMB)
	}
	for name, want := range n.labels {
		if c.labels[name] != want {
			return fmt.Sprintf("label %s is not %s", name, want)
		}
	}
	for _, want := range n.capabilities {
		if !slices.Contains(c.capabilities, want) {
			return "lacks " + string(want)
		}
	}
	return ""
}
