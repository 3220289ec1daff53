// Package doctor checks what a fleet on this machine needs: versions, the browser
// and its sandbox, the data folder with its secrets and keys, NATS, the store, and
// whether an environment can be opened, by opening one.
//
// Each check is one line: ok, warn or FAIL, what was found, and for the last two
// the mend. A warning is something that works and that its reader should know of;
// a failure is something that does not work. Any failure makes the exit status
// non-zero.
//
// If a fleet runs on the data folder, that one is asked. If none does, a small one
// is started in a temporary folder on free ports, tried, and removed: whether the
// parts work together is known by no other way.
//
// With Fix it also removes what dead workers left behind. It changes nothing else.
//
// It starts no goroutine of its own.
package doctor
