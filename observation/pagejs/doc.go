// Package pagejs is the JavaScript that runs in pages, in an isolated world of
// each document. It owns the script and its order; it never talks to a browser.
//
// # Parts, in the order in which they are put together
//
//	00-builtins   built-ins captured at document start, against DOM clobbering
//	10-tree       the flat tree: shadow roots, slots; cutting text, hashing
//	20-identity   the table that makes a number mean one node; secret fields
//	30-role       roles by WAI-ARIA 1.2 and HTML-AAM
//	40-name       names by accname 1.2
//	50-state      values, states, visibility
//	60-records    landmarks, records, pagination runs, tiers
//	62-clickable  what can be clicked without a role
//	70-observe    the pass behind an observation
//	72-frames     where frames are, and a point of theirs
//	80-target     checks before an action: fingerprint, hit test, rest
//	81-guard      keeps a click that lands elsewhere from the page
//	82-fields     writing fields and reading them back
//	84-choices    options, checkboxes, focus
//	86-scroll     scrolling
//	88-settle     has the page reacted, is it at rest?
//	90-extract    tables and links
//	99-install    the one object on the world's global
//
// The parts share one function scope, so they are checked together
// (jsconfig.json: tsc --checkJs; eslint.config.js) and never minified.
//
// # Calling it
//
// Everything is called through Caller with a function's name and one argument
// object, by Runtime.callFunctionOn: nothing is ever pasted into source text.
// Each function returns a JSON string ("" when the script is not installed in
// this document), because a string is 20 to 40 % cheaper than an object by value.
//
// # What it trusts
//
// Nothing of the page. Prototypes are the world's own; names that a page can
// shadow (form.parentNode, document.body) are read through captured getters.
// Everything that a page can make long is cut here, at code points, and once
// more by the caller. Values of secret fields never leave the page: passwords,
// also after the page turned them into text, masked text, one-time codes, and
// whatever a credential was filled into.
//
// The pass is iterative (pages 1,500 levels deep), stops after two seconds and
// says so, and looks at each ancestor once.
package pagejs
