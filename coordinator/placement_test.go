package coordinator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	zone := func(z string) map[string]string { return map[string]string{"zone": z} }
	type workers = []protocol.WorkerID
	for name, tc := range map[string]struct {
		all  []candidate
		need need
		want protocol.WorkerID
		// why the first one that cannot take it cannot
		why string
	}{
		"nobody":                  {},
		"the only one":            {all: []candidate{{id: "a", free: 1}}, want: "a"},
		"most free slots":         {all: []candidate{{id: "a", free: 1, slots: 4}, {id: "b", free: 3, slots: 4}}, want: "b"},
		"the share decides":       {all: []candidate{{id: "a", free: 4, slots: 100}, {id: "b", free: 3, slots: 4}}, want: "b"},
		"equal shares by slots":   {all: []candidate{{id: "a", free: 2}, {id: "b", free: 3}}, want: "b"},
		"equal ones by id":        {all: []candidate{{id: "c", free: 2}, {id: "b", free: 2}}, want: "b"},
		"full ones are left out":  {all: []candidate{{id: "a"}, {id: "b", free: -1}}, why: "no free slot"},
		"a refused one":           {all: []candidate{{id: "a", free: 9}, {id: "b", free: 1}}, need: need{refused: workers{"a"}}, want: "b", why: "refused it"},
		"who let go of it":        {all: []candidate{{id: "a", free: 9}, {id: "b", free: 1}}, need: need{released: "a"}, want: "b", why: "let go of it just now"},
		"all refused":             {all: []candidate{{id: "a", free: 9}}, need: need{refused: workers{"b", "a"}}, why: "refused it"},
		"an ineligible one":       {all: []candidate{{id: "a", free: 9, ineligible: "draining"}, {id: "b", free: 1}}, want: "b", why: "draining"},
		"more memory":             {all: []candidate{{id: "a", free: 2, memoryMB: 512}, {id: "b", free: 2, memoryMB: 4096}}, want: "b"},
		"known beats unknown":     {all: []candidate{{id: "a", free: 2}, {id: "b", free: 2, memoryMB: 4096}}, want: "b"},
		"scarce memory":           {all: []candidate{{id: "a", free: 2, memoryMB: 200}}, why: "200 MiB of memory left"},
		"less load":               {all: []candidate{{id: "a", free: 2, cpu: 0.9}, {id: "b", free: 2, cpu: 0.1}}, want: "b"},
		"overload is no credit":   {all: []candidate{{id: "a", free: 2, cpu: 7}, {id: "b", free: 2, cpu: 1}}, want: "a"},
		"warm":                    {all: []candidate{{id: "a", free: 4, slots: 4}, {id: "b", free: 3, slots: 4}}, need: need{warm: "b"}, want: "b"},
		"warm but nearly full":    {all: []candidate{{id: "a", free: 8, slots: 8}, {id: "b", free: 1, slots: 8}}, need: need{warm: "b"}, want: "a"},
		"a label that fits":       {all: []candidate{{id: "a", free: 9, labels: zone("us")}, {id: "b", free: 1, labels: zone("eu")}}, need: need{labels: zone("eu")}, want: "b", why: "label zone is not eu"},
		"no label, and asked for": {all: []candidate{{id: "a", free: 9}}, need: need{labels: zone("eu")}, why: "label zone is not eu"},
		"labels, none asked for":  {all: []candidate{{id: "a", free: 1, labels: zone("us")}}, want: "a"},
		"a capability": {
			all:  []candidate{{id: "a", free: 9}, {id: "b", free: 1, capabilities: []protocol.Capability{"checkpoint", "extract"}}},
			need: need{capabilities: []protocol.Capability{"extract"}}, want: "b", why: "lacks extract",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, scores := choose(tc.all, tc.need)
			if got != tc.want {
				t.Errorf("got %q, want %q: %+v", got, tc.want, scores)
			}
			why := ""
			for _, s := range scores {
				if s.Excluded != "" && why == "" {
					why = s.Excluded
				}
			}
			if why != tc.why || len(scores) != len(tc.all) {
				t.Errorf("excluded for %q, want %q: %+v", why, tc.why, scores)
			}
		})
	}
}

func TestScoresCanBeAddedUp(t *testing.T) {
	t.Parallel()
	_, scores := choose([]candidate{{id: "a", free: 1, slots: 2, cpu: 0.5, memoryMB: 1024}}, need{warm: "a"})
	want := []protocol.Score{{Worker: "a", Points: 593, Parts: map[string]int{"slots": 250, "memory": 31, "cpu": 62, "warm": 250}}}
	if diff := cmp.Diff(want, scores); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChooseLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	all := []candidate{{id: "a"}, {id: "c", free: 2}, {id: "b", free: 1}}
	choose(all, need{refused: []protocol.WorkerID{"c"}})
	if all[0].id != "a" || all[1].id != "c" || all[2].id != "b" {
		t.Fatalf("%v", all)
	}
}
