package protocol_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserfleet/browserfleet/protocol"
)

func TestCodeRows(t *testing.T) {
	t.Parallel()
	snake := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[protocol.Code]bool{}
	for _, row := range protocol.Codes() {
		if seen[row.Code] {
			t.Errorf("%s has two rows", row.Code)
		}
		seen[row.Code] = true
		if !snake.MatchString(string(row.Code)) {
			t.Errorf("%s is not snake_case", row.Code)
		}
		if row.Class == "" || row.Dispatched == "" || row.Recommended == "" || row.Text == "" {
			t.Errorf("%s: something is missing: %+v", row.Code, row)
		}
		if strings.ContainsAny(row.Text+row.Recommended, "|\n") {
			t.Errorf("%s: would break the error page", row.Code)
		}
		if diff := cmp.Diff(row, row.Code.Info()); diff != "" {
			t.Errorf("Info of %s:\n%s", row.Code, diff)
		}
		// Retryable promises that the identical request is safe; what may have
		// reached the page is not. unavailable is an answer about a request, not of
		// one: its hint says to ask first.
		if row.Retryable && row.Dispatched != protocol.DispatchedNo && row.Code != protocol.CodeUnavailable {
			t.Errorf("%s is retryable although dispatched is %s", row.Code, row.Dispatched)
		}
	}
}

// TestEveryCodeConstantHasARow reads the source: Go cannot list constants.
func TestEveryCodeConstantHasARow(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[protocol.Code]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Code" {
			want[protocol.Code(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))] = true
		}
		return true
	})
	got := map[protocol.Code]bool{}
	for _, row := range protocol.Codes() {
		got[row.Code] = true
	}
	if len(want) < 40 {
		t.Fatalf("only %d constants found", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-constants +rows):\n%s", diff)
	}
}

func TestCodesIsACopy(t *testing.T) {
	t.Parallel()
	protocol.Codes()[0].Text = "changed"
	if protocol.Codes()[0].Text == "changed" {
		t.Error("a caller can change the table")
	}
}

func TestUnknownCodeIsInternal(t *testing.T) {
	t.Parallel()
	e := protocol.Errorf("no_such_code", "")
	if e.Dispatched != protocol.DispatchedUnknown || e.Retryable || e.RefsHold {
		t.Errorf("got %+v", e)
	}
}

func TestErrorf(t *testing.T) {
	t.Parallel()
	got := protocol.Errorf(protocol.CodeNoCapacity, "")
	want := &protocol.Error{
		Code: "no_capacity", Message: "no worker could take the environment in time", Dispatched: "no",
		Retryable: true, RecommendedAction: "try again later, or add workers", RefsHold: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := protocol.Errorf(protocol.CodeInternal, "%d of %d", 1, 2).Error(); s != "internal: 1 of 2" {
		t.Errorf("got %q", s)
	}
}

func TestWhatMayHaveReachedThePageIsNotRetryable(t *testing.T) {
	t.Parallel()
	e := protocol.Errorf(protocol.CodeNoCapacity, "")
	for d, want := range map[protocol.Dispatched]bool{"no": true, "yes": false, "unknown": false} {
		if got := e.WithDispatched(d); got.Retryable != want || got.Dispatched != d {
			t.Errorf("%s: %+v", d, got)
		}
	}
	if e.Dispatched != protocol.DispatchedNo || !e.Retryable {
		t.Error("WithDispatched changed its receiver")
	}
}
