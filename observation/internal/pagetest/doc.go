// Package pagetest opens real pages, through the real supervisor, in a real
// headless Chromium, for the tests of package observation and those below it. It
// fails a test when Chromium is missing.
//
// A test binary keeps a few browsers and lends each to one test at a time, with
// empty cookies and an empty page. Main closes them all and then looks for
// goroutines that were left behind.
package pagetest
