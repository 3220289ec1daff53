package main

import (
	"bytes"
	"fmt"

	"github.com/browserfleet/browserfleet/protocol"
)

// classText says whose move it is.
var classText = []struct {
	class protocol.Class
	text  string
}{
	{protocol.ClassRequest, "The request itself is wrong: the sender's move."},
	{protocol.ClassTarget, "The element is not what the request needs: look again, choose another."},
	{protocol.ClassPage, "The page did not do it."},
	{protocol.ClassPolicy, "Refused on purpose: the operator's move, or go elsewhere."},
	{protocol.ClassEnvironment, "The environment changed or broke under the request."},
	{protocol.ClassFleet, "The fleet could not, now."},
}

const pageHead = `# Errors

Generated from ` + "`protocol.Codes()`" + ` by ` + "`make generate`" + `; do not edit.

Every error names its code, what happened, whether anything of the action can
have reached the page (` + "`dispatched`" + `), whether the identical request may be sent
again under a new id (` + "`retryable`" + `), what to do next, and whether the refs of the
newest observation still mean what they meant (` + "`refs_hold`" + `). The columns below
are a code's usual values; the error itself carries the true ones.

An unknown code is treated as ` + "`internal`" + `.
`

// errorPage is docs/errors.md.
func errorPage() []byte {
	var b bytes.Buffer
	b.WriteString(pageHead)
	for _, class := range classText {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", class.class, class.text)
		b.WriteString("| code | what it means | dispatched | retryable | refs hold | what to do |\n|---|---|---|---|---|---|\n")
		for _, row := range protocol.Codes() {
			if row.Class == class.class {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n",
					row.Code, row.Text, row.Dispatched, yesNo(row.Retryable), yesNo(row.RefsHold), row.Recommended)
			}
		}
	}
	return b.Bytes()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
