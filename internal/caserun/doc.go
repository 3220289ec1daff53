// Package caserun drives cases, small local pages that rebuild a fault which
// people reported against a browser tool, through a real environment, as an agent
// does: every step is a request of the protocol, parsed as a worker parses it, run
// by the worker's browser (package chrome) behind the egress proxy. It is for
// tests; it decides nothing about what a case should give.
//
// # A case
//
// A folder with case.json and pages (testdata/cases). Steps count from 0. A
// target is role + accessible name; from names an older observation whose ref is
// used. In pages {{MAIN}}, {{ALT}} and {{THIRD}} stand for three different sites
// that show the same folder: http://127.0.0.1:PORT/ID, http://alt.localhost:PORT/ID
// and http://third.localhost:PORT/ID. A server's routes answer before files do.
//
// # What is checked
//
// Run returns one line for each expectation that does not hold, and none when the
// case passes: so a test can also hold that a case does not pass yet. within_ms
// is not checked (no test asserts on time), verdict only where the rule is known
// here. The kinds of errors have names of their own in the cases; kinds.go says
// which codes of the protocol they are.
//
// # Which cases pass
//
// caserun_test.go has the table: those that wait for something have the reason,
// and the test fails when one of them passes, too. Cases that are lists of inputs
// for a rule are run by the packages that own the rule; the table names the test.
//
// # Goroutines
//
// None of its own: the server's and the browser's, both ended by Run.
package caserun
