// Package realworld runs the real browser over pages that nobody wrote for this
// project: Git's manual pages (AsciiDoc, static) and Python's documentation
// (Sphinx, with scripts and a search of its own), as Debian's packages git-doc
// and python3.11-doc put them on disk. It has no code besides tests, under the
// build tag realworld, since it needs these packages: `make realworld` installs
// what is missing and runs it.
//
// # What is judged
//
// Everything goes through the worker's launcher and Browser.Run, as an agent's
// actions do. A second, independent client of the browser's protocol (eyes) asks
// the page itself, in the page's own world and by other means than the
// observation's script: what it says is the truth that answers are held against.
//
//	open          URL and title are the document's
//	observe       in each mode: within its budgets; well-formed text without
//	              control characters; the text is the start of what the page
//	              shows, with the heading in it; every link has the name and the
//	              address of a visible link; refs are unique, in at most one
//	              group, and the same when the page is looked at again; totals
//	              are the document's
//	click         leads where the link's href says; a fragment's target is in
//	              the viewport
//	back, forward, scroll
//	              where the browser is afterwards
//	extract       all links with text and address; a table has the document's
//	              shape and texts
//	screenshot    a JPEG of the viewport's size that shows something
//	search        typed into a field, sent by Enter, answered by a script
//
// # Pages
//
// Lists of the largest pages and of each kind (contents, index, glossary,
// tables, news, tutorials) are in pages_test.go. REALWORLD_SCREENSHOTS names a
// folder to which pictures are written, for a person to look at.
// REALWORLD_PAGES is a regular expression that narrows the lists.
//
// # Figures
//
// Nothing is asserted about time. The log has p50 and p95 of observations and
// clicks, by the size of the page's file, on whatever machine it was.
//
// # What it never does
//
// It reaches nothing but its two servers on loopback: other addresses are
// refused by the environment's proxy, and counted.
package realworld
