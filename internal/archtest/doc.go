// Package archtest holds the rules of the source tree that a compiler does not
// check, as tests over `go list` and the syntax trees. It has no code of its own
// besides tests; nothing imports it.
//
// # The rules
//
//   - Who may import whom: rooms_test.go has one row a room, external_test.go one
//     row a library. Each row has its reason; a change of the table is a change
//     of the design and is made there, on purpose.
//   - Package protocol needs the standard library only, through all of its
//     dependencies: any client can vendor it.
//   - coordinator, client and loadtest do not reach worker or supervisor, also
//     not through others: a coordinator that could start a browser would.
//   - Every package has a doc.go with a package comment.
//   - No Go or JavaScript file is longer than 800 lines, no test longer
//     than 1,000.
//   - Tests neither sleep nor skip. A test that lacks something fails; one that
//     waits for time uses testing/synctest, where time.Sleep is virtual.
//   - A goroutine begins only in functions named Run, Start, run... or start..., so that
//     its owner's Close is known to wait for it. Tests are free.
//   - A context is the first parameter and no struct's field.
//   - No names that mean nothing: manager, helper, util, common, base, models.
//   - No unfinished marks, and no words of the place where this was written.
//
// # How it works
//
// [go list -e -json ./...] gives packages with their direct imports, test imports
// and all dependencies. A package that imports "testing" outside of its tests is
// test support: it may import anything, and only tests and other test support may
// import it. Folders that .gitignore names are left out. Packages that a row
// names and that do not exist do not matter: the table describes the tree as it
// is meant to be.
//
// setup_test.go runs tools/setup.sh on made-up machines: it has no Go package of
// its own to be tested in.
//
// Each rule is a function over plain data with a test of its own, which shows
// that the rule bites.
package archtest
