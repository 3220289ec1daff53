package testkit

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv says, in a process that a test started from its own binary, which
// server that process is.
const childEnv = "BROWSERFLEET_TESTKIT_CHILD"

// children are the servers that a test binary can turn into. Each reads its
// configuration from stdin, writes its address to file descriptor 3, and ends
// when stdin does.
var children = map[string]func() error{
	"store": runStore,
}

// Main is the TestMain of a package that uses testkit: it makes the binary able
// to become a server of a test, and fails the run when goroutines leak.
func Main(m *testing.M, opts ...goleak.Option) {
	kind, isChild := os.LookupEnv(childEnv)
	if !isChild {
		goleak.VerifyTestMain(m, opts...)
		return
	}
	run, known := children[kind]
	if !known {
		fmt.Fprintln(os.Stderr, "testkit: no such child:", kind)
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", kind+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}
