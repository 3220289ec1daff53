package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestASeedGivesItsScheduleAgain(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(Plan(7, time.Minute), Plan(7, time.Minute)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(Plan(7, time.Minute), Plan(8, time.Minute)) {
		t.Error("two seeds have the same schedule")
	}
}

func TestEveryKindOfFaultComesUp(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range Plan(1, time.Hour) {
		seen[string(f.Kind)+" "+strings.Split(f.Target, leaderOf)[0]] = true
	}
	for _, c := range choices {
		for _, target := range c.targets {
			if !seen[string(c.kind)+" "+strings.Split(target, leaderOf)[0]] {
				t.Errorf("%s %s never comes up", c.kind, target)
			}
		}
	}
}

func TestSchedulesLeaveAFleetThatCanWork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.IntRange(10, 1200).Draw(t, "seconds")) * time.Second
		plan := Plan(rapid.Uint64().Draw(t, "seed"), length)
		for n, f := range plan {
			if f.At < length/calm || f.end() > length-length/calm+time.Millisecond || f.For <= 0 {
				t.Fatalf("%v at %s: outside of the run of %s", f, f.At, length)
			}
			if f.Kind == Part && (f.Other == "" || f.Other == f.Target) {
				t.Fatalf("%v has no other host", f)
			}
			running := 0
			for _, before := range plan[:n] {
				if before.end() <= f.At {
					continue
				}
				running++
				if common := intersect(parts(before), parts(f)); common != "" {
					t.Fatalf("%v begins while %v lasts: both take %s", f, before, common)
				}
			}
			if running >= atOnce {
				t.Fatalf("%v is the fourth at once", f)
			}
		}
	})
}

func intersect(a, b []string) string {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return x
			}
		}
	}
	return ""
}

func TestEventsOfAPlan(t *testing.T) {
	t.Parallel()
	plan := []Fault{{At: 1, For: 5}, {At: 2, For: 1}}
	want := []event{{1, 0, false}, {2, 1, false}, {3, 1, true}, {6, 0, true}}
	if diff := cmp.Diff(want, events(plan), cmp.AllowUnexported(event{})); diff != "" {
		t.Error(diff)
	}
}

func TestPartsOfAFault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault Fault
		want  []string
	}{
		{Fault{Kind: Kill, Target: "worker-1"}, []string{"worker-1"}},
		{Fault{Kind: Kill, Target: leaderOf + "BF_ACT_0"}, []string{"servers"}},
		{Fault{Kind: Cut, Target: "n1"}, []string{"servers", "worker-1"}},
		{Fault{Kind: Cut, Target: "n3"}, []string{"servers"}},
		{Fault{Kind: Part, Target: "n1", Other: "n2"}, []string{"servers", "worker-1", "worker-2"}},
		{Fault{Kind: Part, Target: "w3", Other: "c1"}, []string{"coordinator-1", "worker-3"}},
	} {
		if diff := cmp.Diff(tc.want, parts(tc.fault)); diff != "" {
			t.Errorf("%v: %s", tc.fault, diff)
		}
	}
}
