package archtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// room is a row: a part of the tree and which other parts it may import.
type room struct {
	dir    string
	may    []string // besides itself
	reason string
}

// rooms go from cmd down to protocol. The most exact row of a package counts.
var rooms = []room{
	{"protocol", nil, "the wire contract: clients of any kind use it without the rest"},

	{"supervisor", []string{"protocol"}, "it watches one browser and knows nothing of fleets"},
	{"observation", []string{"protocol", "supervisor"}, "it looks at a page through the supervisor's sessions"},
	{"egressproxy", []string{"protocol"}, "a policy and a proxy: they must be testable without a browser"},
	{"checkpoints", []string{"protocol", "internal/objectstore"}, "it keeps state in an object store; the session is an interface of its own"},
	{"telemetry", []string{"protocol"}, "labels come from the protocol's tables"},

	{"internal/natsx", []string{"protocol"}, "what NATS does with the contract's streams"},
	{"internal/objectstore", nil, "it stores bytes and knows no checkpoint"},
	{"internal/ownerlog", []string{"internal/natsx", "protocol"}, "the one write path of coordinator and worker to an owner's log"},
	{"internal", []string{"internal", "protocol"}, "what several rooms share stays below all of them"},
	{"internal/schemagen", []string{"protocol"}, "a generator over the contract's types"},
	{"internal/archtest", nil, "tests alone"},

	{"client", []string{"internal/natsx", "protocol", "telemetry"}, "an SDK: it brings neither browser nor server along"},
	{"deploy", []string{"internal/natsx", "protocol"}, "it writes configuration for servers"},
	{"coordinator", []string{"internal", "protocol", "telemetry"}, "it places owners; what runs them is on the other side of NATS"},
	{
		"worker",
		[]string{"checkpoints", "egressproxy", "internal", "observation", "protocol", "supervisor", "telemetry"},
		"it puts the rooms below together into an environment",
	},
	{"gateway", []string{"client", "internal", "protocol", "supervisor", "telemetry"}, "it speaks for people; a live view needs a browser's frames"},
	{"loadtest", []string{"client", "internal", "protocol", "telemetry"}, "it is an agent from outside: cmd hands it a URL"},
	{"loadtest/site", nil, "a web site: it knows nothing of who visits it"},

	{"cmd", []string{"*"}, "it wires everything"},
	{"examples", []string{"client", "protocol"}, "they show what a user may import"},
	{"tools", nil, "they stand beside the module"},
}

// separated are pairs that must not meet, however many packages lie between.
var separated = []struct{ from, to, reason string }{
	{"coordinator", "worker", "a coordinator only speaks with workers through NATS"},
	{"coordinator", "supervisor", "a coordinator never touches a browser"},
	{"client", "worker", "an SDK brings no worker along"},
	{"client", "supervisor", "an SDK brings no browser along"},
	{"client", "coordinator", "an SDK brings no coordinator along"},
	{"loadtest", "worker", "the harness may see only what an agent sees"},
	{"loadtest", "supervisor", "the harness may see only what an agent sees"},
	{"loadtest", "coordinator", "the harness may see only what an agent sees"},
	{"worker", "coordinator", "a worker obeys the record, not a coordinator"},
	{"observation", "worker", "rooms below do not know who uses them"},
	{"supervisor", "observation", "rooms below do not know who uses them"},
}

// roomOf is the most exact row of a package.
func roomOf(path string) (room, bool) {
	var best room
	for _, r := range rooms {
		if within(path, r.dir) && len(r.dir) > len(best.dir) {
			best = r
		}
	}
	return best, best.dir != ""
}

// roomViolations are imports that no row allows, by lines for people.
func roomViolations(list []pkg) []string {
	support := map[string]bool{}
	own := map[string]bool{}
	for _, p := range list {
		own[p.Path] = true
		support[p.Path] = p.testSupport()
	}
	var bad []string
	for _, p := range list {
		r, ok := roomOf(p.Path)
		if !ok {
			bad = append(bad, p.Path+" has no row in rooms: add one with a reason")
			continue
		}
		if support[p.Path] {
			continue
		}
		for _, i := range p.Imports {
			switch {
			case !own[i]:
			case support[i]:
				bad = append(bad, fmt.Sprintf("%s imports %s, which is for tests", p.Path, i))
			case within(i, r.dir), withinAny(i, r.may), len(r.may) == 1 && r.may[0] == "*":
			default:
				bad = append(bad, fmt.Sprintf("%s imports %s: %s may import %s (%s)",
					p.Path, i, r.dir, strings.Join(r.may, ", "), r.reason))
			}
		}
	}
	return bad
}

func separationViolations(list []pkg) []string {
	var bad []string
	for _, p := range list {
		if p.testSupport() {
			continue
		}
		for _, s := range separated {
			if !within(p.Path, s.from) {
				continue
			}
			for _, d := range p.Deps {
				if within(d, s.to) {
					bad = append(bad, fmt.Sprintf("%s reaches %s: %s", p.Path, d, s.reason))
				}
			}
		}
	}
	return bad
}

// foreignDeps are what a package needs besides the standard library, whose paths
// have no dot in their first element, and itself.
func foreignDeps(p pkg) []string {
	var foreign []string
	for _, d := range p.Deps {
		first, _, _ := strings.Cut(d, "/")
		if strings.Contains(first, ".") || within(d, "internal/natsx") {
			foreign = append(foreign, d)
		}
	}
	return foreign
}

func TestRoomsImportWhatTheirRowsAllow(t *testing.T) {
	t.Parallel()
	report(t, roomViolations(all(t)))
}

func TestRoomsThatMustNotMeet(t *testing.T) {
	t.Parallel()
	report(t, separationViolations(all(t)))
}

func TestProtocolNeedsTheStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, p := range all(t) {
		if !within(p.Path, "protocol") {
			continue
		}
		// golang.org/x packages that the standard library vendors begin with vendor/.
		report(t, foreignDeps(p))
	}
}

func TestRoomRulesBite(t *testing.T) {
	t.Parallel()
	got := roomViolations([]pkg{
		{Path: "protocol", Imports: []string{"fmt"}},
		{Path: "supervisor", Imports: []string{"protocol", "worker"}},
		{Path: "worker", Imports: []string{"worker/environment", "supervisor", "internal/testkit"}},
		{Path: "worker/environment", Imports: []string{"internal/natsx"}},
		{Path: "internal/natsx"},
		{Path: "internal/testkit", Imports: []string{"testing", "worker"}},
		{Path: "loadtest/site", Imports: []string{"protocol"}},
		{Path: "cmd/browserfleet", Imports: []string{"worker"}},
		{Path: "stray"},
	})
	want := []string{
		"supervisor imports worker: supervisor may import protocol (it watches one browser and knows nothing of fleets)",
		"worker imports internal/testkit, which is for tests",
		"loadtest/site imports protocol: loadtest/site may import  (a web site: it knows nothing of who visits it)",
		"stray has no row in rooms: add one with a reason",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = separationViolations([]pkg{
		{Path: "coordinator", Deps: []string{"fmt", "internal/x", "worker/environment"}},
		{Path: "worker", Deps: []string{"supervisor"}},
	})
	want = []string{"coordinator reaches worker/environment: a coordinator only speaks with workers through NATS"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = foreignDeps(pkg{Path: "protocol", Deps: []string{"fmt", "vendor/golang.org/x/net", "github.com/a/b"}})
	if diff := cmp.Diff([]string{"github.com/a/b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func report(t *testing.T, violations []string) {
	t.Helper()
	for _, v := range violations {
		t.Error(v)
	}
}
