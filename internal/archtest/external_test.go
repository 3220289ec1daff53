package archtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// library is a row: a foreign package, with what is below it, and who may import
// it. Tests are free.
type library struct {
	path   string
	only   []string
	reason string
}

var libraries = []library{
	{
		"github.com/nats-io/nats.go",
		[]string{"internal/natsx", "internal/ownerlog", "client", "worker", "coordinator", "loadtest/check"},
		"headers that a publisher can forge, and reads of stale replicas, are handled in one place",
	},
	{"github.com/nats-io/nats-server", []string{"cmd", "internal/dev*"}, "the server is embedded for dev and demo only"},
	{"github.com/versity/versitygw", []string{"cmd", "internal/dev*"}, "the object store is embedded for dev and demo only"},
	{"github.com/chromedp/cdproto", []string{"supervisor", "observation"}, "Chromium's protocol ends where a page becomes an observation"},
	{"github.com/gorilla/websocket", []string{"supervisor", "gateway"}, "foreign CDP endpoints, and people's browsers"},
	{"github.com/minio/minio-go", []string{"internal/objectstore"}, "conditional writes and their error codes differ by store; one package knows how"},
	{"go.opentelemetry.io/otel/sdk", []string{"telemetry"}, "others use the API packages, which do nothing until telemetry is set up"},
	{"go.opentelemetry.io/otel/exporters", []string{"telemetry"}, "as the SDK"},
	{"github.com/prometheus", []string{"telemetry"}, "as the SDK"},
	{"google.golang.org/grpc", []string{"telemetry"}, "OTLP alone speaks gRPC"},
	{"github.com/kelseyhightower/envconfig", []string{"cmd"}, "a service's configuration is one struct in cmd; packages take parameters"},
	{"github.com/alecthomas/kong", []string{"cmd"}, "flags belong to the command line"},
	{"github.com/HdrHistogram/hdrhistogram-go", []string{"loadtest"}, "only the harness measures quantiles itself"},
	{"github.com/klauspost/compress", []string{"checkpoints"}, "a checkpoint's format fixes its compression"},
	{"github.com/invopop/jsonschema", []string{"internal/schemagen", "gateway"}, "schemas are generated and committed, not made at run time; MCP tools need theirs"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"gateway", "cmd"}, "one surface of several"},
	{"os/exec", []string{"supervisor/chromium", "cmd", "internal/dev*", "internal/schemagen"}, "who starts a process must end it, also after a crash"},
	{"plugin", nil, "nothing is loaded at run time"},

	{"testing", nil, "test support is found by it; see doc.go"},
	{"go.uber.org/goleak", nil, "for tests"},
	{"github.com/google/go-cmp", nil, "for tests; it may panic"},
	{"pgregory.net/rapid", nil, "for tests"},
	{"github.com/santhosh-tekuri/jsonschema", nil, "for tests"},
}

func libraryViolations(list []pkg) []string {
	var bad []string
	for _, p := range list {
		if p.testSupport() {
			continue
		}
		for _, i := range p.Imports {
			for _, lib := range libraries {
				if within(i, lib.path) && !withinAny(p.Path, lib.only) {
					bad = append(bad, fmt.Sprintf("%s imports %s, which is for %s: %s",
						p.Path, i, strings.Join(lib.only, ", "), lib.reason))
				}
			}
		}
	}
	return bad
}

func TestLibrariesStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	report(t, libraryViolations(all(t)))
}

func TestEveryRowHasAReason(t *testing.T) {
	t.Parallel()
	for _, l := range libraries {
		if l.reason == "" {
			t.Errorf("%s", l.path)
		}
	}
	for _, r := range rooms {
		if r.reason == "" {
			t.Errorf("%s", r.dir)
		}
	}
}

func TestLibraryRulesBite(t *testing.T) {
	t.Parallel()
	got := libraryViolations([]pkg{
		{Path: "coordinator", Imports: []string{"github.com/nats-io/nats.go/jetstream", "github.com/chromedp/cdproto/page"}},
		{Path: "worker/environment", Imports: []string{"go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/sdk/trace"}},
		{Path: "internal/testkit", Imports: []string{"testing", "github.com/nats-io/nats-server/v2/server"}},
		{Path: "checkpoints", Imports: []string{"github.com/minio/minio-go/v7"}},
		{Path: "internal/devnats", Imports: []string{"github.com/nats-io/nats-server/v2/server"}},
	})
	var short []string
	for _, line := range got {
		head, _, _ := strings.Cut(line, ",")
		short = append(short, head)
	}
	want := []string{
		"coordinator imports github.com/chromedp/cdproto/page",
		"worker/environment imports go.opentelemetry.io/otel/sdk/trace",
		"checkpoints imports github.com/minio/minio-go/v7",
	}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
