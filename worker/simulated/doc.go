// Package simulated is a browser without Chromium: the second implementation of
// environment.Browser, for the load harness and for tests of the fleet. It keeps
// a URL, counts effects, takes a configurable time for each action, and has a
// state that checkpoints carry: the localStorage of one made-up origin, changed
// by fill only, so that most actions save nothing, as with real pages.
//
// It renders nothing and parses nothing. What an agent is shown is a page with a
// search field and two links; refs are honoured and refused as by a real
// browser. Some values have a meaning, so that tests can make things happen:
//
//	open  http://simulated.invalid/slow?ms=500   the page takes that long
//	open  http://simulated.invalid/crash         the browser dies
//	open  http://simulated.invalid/hang          nothing happens until ctx ends
//
// One goroutine calls it, but for Suspend, Resume, Lost and Close, as the
// interface says. It starts none.
package simulated
